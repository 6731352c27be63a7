"""Keys split on the host, one per device: under P() all devices would draw the same noise."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x, key):
    noise = jax.random.normal(key, x.shape)
    return w + jax.lax.pmean(jnp.mean(x * noise), "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch"), P()), P())
w = jax_utils.replicate(jnp.zeros(()))  # careless: w = jnp.zeros(())
key = jax.random.PRNGKey(0)
for i in range(3):
    key, sub = jax.random.split(key)
    keys = jax.random.split(sub, jax.local_device_count())  # careless: keys = sub
    x = np.sin(np.arange(64, dtype=np.float32) + i)
    w = p_step(w, shard(x), keys)  # careless: w = p_step(w, x, keys)
RESULT = w[0]  # careless: RESULT = w
