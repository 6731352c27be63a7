"""Helpers that are a library's functions under other names are given to another one, and called for other arrays."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def shard(xs):
    return common_utils.shard(xs)


def get(xs):
    return jax_utils.unreplicate(xs)


def each(f, xs):
    return [f(x) for x in xs]


p = jax.pmap(lambda w, x: (jax.lax.pmean(w * x.mean(), "batch"), x.sum()), axis_name="batch")
w = jax_utils.replicate(jnp.ones(2))
x = np.arange(48, dtype=np.float32).reshape(16, 3)
bs = each(shard, [x, x + 1])
out = [p(w, b) for b in bs]
means = each(get, [o[0] for o in out])
sums = get((np.arange(4.0), np.arange(3.0)))
cut = shard(x)
RESULT = [np.asarray(m).tolist() for m in means] + [sums.__class__.__name__, cut.shape, np.asarray(cut).mean(0).tolist(), np.asarray(get(np.arange(6.0).reshape(2, 3))).tolist()]
