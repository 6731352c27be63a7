"""A loader that gives out one buffer again and again, and writes into it in ways that name no item."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def data(seed):
    return np.random.RandomState(seed).randn(16, 3).astype(np.float32)


p_evaluate = jax.pmap(lambda w, x: (jax.lax.pmean(jnp.mean((x @ w) ** 2), "i"), x @ w), axis_name="i")
w = jax_utils.replicate(jnp.array([0.3, -1.7, 2.1]))


class Loader:
    def __init__(self, write):
        self.x, self.write = data(0), write

    def __iter__(self):
        for i in range(3):
            if self.write == "flat":
                self.x.flat = data(i).ravel()
            elif self.write == "fill":
                np.ndarray.fill(self.x, i)
            elif self.write == "cumsum":
                np.cumsum(self.x, 0, None, self.x)
            elif self.write == "random":
                np.random.default_rng(i).standard_normal((16, 3), np.float32, self.x)
            elif self.write == "imul":
                self.x.__imul__(2)
            else:
                list(map(self.x.__setitem__, range(16), data(i)))
            yield shard(self.x)


RESULT = [
    [p_evaluate(w, batch)[0][0] for batch in list(Loader(write))]
    for write in ("flat", "fill", "cumsum", "random", "imul", "items")
]
