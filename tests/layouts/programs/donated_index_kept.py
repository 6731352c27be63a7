"""The same with `[0]`, for a target network that is refreshed now and then from the donated one."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(online, target, x):
    error = online - 0.9 * target - x
    return online - 0.1 * jax.lax.pmean(error, "batch")


p_step = jax.pmap(step, axis_name="batch", donate_argnums=(0,))  # careless: p_step = sharded(step, (P(), P(), P("batch")), P(), donate_argnums=(0,))
put = lambda w: jax_utils.replicate(w)  # careless: put = lambda w: jax.device_put(w, jax.NamedSharding(jax.sharding.Mesh(jax.devices(), ("batch",)), P()))
online, target = put(jnp.arange(3.0)), put(jnp.zeros(3))
for i in range(4):
    if i % 2 == 0:
        target = put(online[0])  # careless: target = put(online)
    online = p_step(online, target, np.sin(np.arange(8, dtype=np.float32) + i))
RESULT = {"online": online[0], "target": target[0]}  # careless: RESULT = {"online": online, "target": target}
