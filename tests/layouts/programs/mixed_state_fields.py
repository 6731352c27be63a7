"""A state of which one field drifts, read field by field."""
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

def body(state, x):
    w = noisy(state["w"], x, state["key"])
    stats = 0.5 * state["stats"] + 0.5 * x.mean(0)
    return {"w": w, "stats": stats, "key": jax.random.split(state["key"])[0], "step": state["step"] + 1}


state = jax_utils.replicate({"w": jnp.ones(3), "stats": jnp.zeros(3), "step": 0})
state["key"] = shard_prng_key(KEY)
p_body = jax.pmap(body, axis_name="batch")
for i in range(2):
    state = p_body(state, shard(BATCH + i))
sync = jax.pmap(lambda s: jax.lax.pmean(s, "b"), "b")
state["stats"] = sync(state["stats"])
state = p_body(state, shard(BATCH))
RESULT = [state["w"][0], np.asarray(state["stats"]).std(0), int(state["step"][0]), state["key"]]
