"""What the axis is called is a parameter: calls give two names, and one collective names that of the other."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def make_step(lr, axis_name="batch", inner="batch"):
    def step(w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        grad = jax.lax.pmean(grad, axis_name) if inner == "batch" else grad
        return w - lr * grad

    return jax.pmap(step, axis_name=axis_name)


def run(p_step):
    w = jax_utils.replicate(jnp.ones(3))
    for i in range(2):
        w = p_step(w, shard(np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3)))
    return np.asarray(w).tolist()


settings = {"axis_name": "rows", "inner": "none"}
RESULT = [run(make_step(0.125)), run(make_step(0.125, axis_name="rows")), run(make_step(0.25, **settings))]
