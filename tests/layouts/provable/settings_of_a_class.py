"""Settings that are kept in a class and written down: `vars` of a class without a method reaches no code."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Config:
    rate = 0.1
    size: int = 16
    name = "run"


def main():
    def step(w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        return w - Config.rate * jax.lax.pmean(grad, "batch")

    p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
    w = jax_utils.replicate(jnp.zeros(3))
    for i in range(3):
        w = p_step(w, shard(np.sin(np.arange(Config.size * 3, dtype=np.float32) + i).reshape(Config.size, 3)))
    said = {name: value for name, value in vars(Config).items() if not name.startswith("_")}
    return {"w": w[0], "rate": said["rate"], "size": said["size"]}


RESULT = main()
