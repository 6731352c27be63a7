"""Slots, class variables and super()."""
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

class Base:
    shared = None

    def keep(self, w):
        Base.shared = w
        return w[0]


class Derived(Base):
    __slots__ = ("w",)

    def keep(self, w):
        self.w = w
        return super().keep(w)


derived = Derived()
first = derived.keep(p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH)))
RESULT = [first, np.asarray(Derived.shared).sum(), type(derived).shared.shape, derived.w[0]]
