"""A wrapper keeps what it was given, and somebody looks at it later."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def mix(a, b):
    return jax.lax.pmean(jnp.mean(a) - 2 * jnp.mean(b), "i"), a + b.sum()


p_mix = jax.pmap(mix, axis_name="i")
w, x = jax_utils.replicate(jnp.arange(3.0)), shard(X)


class Runner:
    def __init__(self, fn):
        self.fn, self.last = fn, ()

    def __call__(self, *args):
        self.last = args
        return self.fn(*args)


run = Runner(p_mix)
total, _ = run(w, x)
RESULT = [np.asarray(total), np.asarray(run.last[0]).sum(), [len(one) for one in run.last]]
