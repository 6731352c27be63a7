"""`super()` in the old way passes over the class in between, whose method would take the first slice."""
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
        return np.asarray(w).sum()


class First(Base):
    def report(self, w):
        return w[0]


class Trainer(First):
    def run(self):
        self.w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))  # careless: self.w = sharded(step, (P(), P("batch")), P())(jnp.ones(3), BATCH)
        return super().report(self.w), super(First, self).report(self.w)  # careless: return self.w, super(First, self).report(self.w)


RESULT = Trainer().run()
