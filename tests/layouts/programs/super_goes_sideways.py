"""`super()` in a class gives the method of a class that it does not derive from, where a third has both as bases."""
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


class Base:
    def report(self, w):
        return w[0]


class Twice(Base):
    def report(self, w):
        return 2 * super().report(w)


class Whole(Base):
    def report(self, w):
        return np.asarray(w).sum()


class Both(Twice, Whole):
    pass


w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))  # careless: w = sharded(step, (P(), P("batch")), P())(jnp.ones(3), BATCH)
RESULT = [Twice().report(w), Both().report(w)]
