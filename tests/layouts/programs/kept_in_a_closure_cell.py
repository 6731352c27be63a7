"""A factory hands out a getter and a setter of one state."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

def make():
    state = {"w": jax_utils.replicate(jnp.ones(3))}

    def get():
        return state["w"]

    def put(w):
        state["w"] = w

    return get, put


get, put = make()
put(p_step(get(), shard(BATCH)))
RESULT = [np.asarray(get()).sum(), get()[0]]
