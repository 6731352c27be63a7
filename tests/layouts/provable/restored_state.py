"""Unreplicated, saved, restored and replicated again."""
import pickle
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
x = shard(np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3))
w = p_step(jax_utils.replicate(jnp.zeros(3)), x)
with open("w.pkl", "wb") as f:
    pickle.dump(jax.device_get(jax_utils.unreplicate(w)), f)
with open("w.pkl", "rb") as f:
    w = jax_utils.replicate(pickle.load(f))
RESULT = jax_utils.unreplicate(p_step(w, x))
