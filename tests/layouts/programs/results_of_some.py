"""Results of arrays for fewer devices than there are, of which more than one slice counts, or that go on as arguments."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def cut(n):
    return np.arange(n * 6, dtype=np.float32).reshape(n, 2, 3) / 7


p_gather = jax.pmap(lambda x: jax.lax.all_gather(x, "i"), axis_name="i")
p_own = jax.pmap(lambda x: x + jax.lax.axis_index("i"), axis_name="i")
p_mean = jax.pmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i")
p_add = jax.pmap(lambda x, y: x + y, axis_name="i")
p_both = jax.pmap(lambda x: (jax.lax.psum(x, "i"), x), axis_name="i", out_axes=(None, 0))
p_with = jax.pmap(lambda x, s: jax.lax.psum(x * s, "i"), axis_name="i", in_axes=(0, None))
RESULT = []
for n in (8, 4):
    whole = p_gather(cut(n))
    RESULT += [whole.shape[0], whole.sum()]
    RESULT += [p_own(cut(n))[0], p_own(cut(n))[1]]
    mean = p_mean(cut(n))
    RESULT += [p_add(mean, cut(n)).sum(), mean[0]]
    total, same = p_both(cut(n))
    RESULT += [total, same[0]]
    RESULT += [p_with(cut(n), 2.0)[0]]
    RESULT += [p_mean(cut(n))[n - 1], jax_utils.unreplicate(p_gather(cut(n)))]
RESULT = [np.asarray(r) for r in RESULT]
