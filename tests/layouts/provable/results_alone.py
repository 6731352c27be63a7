"""What is the same on all devices, of arrays that somebody else has cut up, for all devices or for some."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def gathered(x):
    return jax_utils.unreplicate(jax.pmap(lambda x: jax.lax.all_gather(x, "i"), axis_name="i")(x))  # expect: stacked -> replicated


def mean_of(batches):
    p_mean = jax.pmap(lambda x: (jax.lax.pmean(x.mean(), "i"), x * 2), axis_name="i")  # expect: stacked -> replicated, stacked
    total = 0.0
    for batch in batches:
        mean, doubled = p_mean(batch)
        total += float(mean[0]) + float(doubled.sum())
    return total


def total_of(tree, count):
    summed = jax.pmap(lambda t: jax.tree.map(lambda x: jax.lax.psum(x, "i"), t), axis_name="i")(tree)  # expect: stacked -> replicated
    return jax.tree.map(lambda x: x[0] / count, summed)


def cut(n):
    return np.arange(n * 6, dtype=np.float32).reshape(n, 2, 3) / 7


RESULT = [
    np.asarray(gathered(cut(8))),
    np.asarray(gathered(cut(4))),
    mean_of([cut(8), cut(8)]),
    mean_of([cut(2)]),
    total_of({"a": cut(8), "b": np.ones(8)}, 8)["a"],
    total_of({"a": cut(3), "b": np.ones(3)}, 3)["a"],
]
