"""A function has a variable called mesh of its own, used after the map."""
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

def render():
    mesh = [1, 2, 3]
    w = jax_utils.replicate(jnp.ones(3))
    w = p_step(w, shard(BATCH))
    mesh.append(4)
    return w[0], mesh, sum(mesh)


class Scene:
    mesh = "cube"

    def render(self):
        w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
        return w[0], self.mesh


RESULT = [render(), Scene().render()]
