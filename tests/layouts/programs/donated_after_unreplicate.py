"""What unreplicate took is a copy: donating the state afterwards does not touch it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    return w * jax.lax.pmean(x, "batch")


p_step = jax.pmap(step, axis_name="batch", donate_argnums=(0,))  # careless: p_step = sharded(step, (P(), P("batch")), P(), donate_argnums=(0,))
w = jax_utils.replicate(jnp.arange(1.0, 4.0))  # careless: w = jax.device_put(jnp.arange(1.0, 4.0), jax.NamedSharding(jax.sharding.Mesh(jax.devices(), ("batch",)), P()))
best = None
for i in range(3):
    if i == 1:
        best = jax_utils.unreplicate(w)  # careless: best = w
    w = p_step(w, np.full(8, 2.0, np.float32))
RESULT = {"best": best, "last": w[0]}  # careless: RESULT = {"best": best, "last": w}
