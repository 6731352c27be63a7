"""Several things taken from device 0 before the state is donated."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard, shard_prng_key

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
KEY = jax.random.PRNGKey(0)


def noisy(w, x, key):
    x = x + jax.random.normal(key, x.shape)
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")

def body(w, x):
    return {"a": noisy(w["a"], x, KEY), "b": w["b"] + 1}


p_body = jax.pmap(body, axis_name="batch", donate_argnums=0)
w = jax_utils.replicate({"a": jnp.ones(3), "b": jnp.zeros(())})
taken = []
for i in range(3):
    taken.append((w["a"][0], jax.tree.map(lambda x: x[0], w)["b"], jax_utils.unreplicate(w["a"])))
    best = jax.device_get(jax.tree.map(lambda x: x[0], w))
    w = p_body(w, shard(BATCH + i))
RESULT = [taken, best, w["b"][0]]
