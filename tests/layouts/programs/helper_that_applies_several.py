"""A helper applies what it is given to each of some values: one call takes the first slices, others do other things."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def first(x):
    return x[0]


def double(x):
    return x * 2


def each(f, xs):
    return [f(x) for x in xs]


def leaves(f, tree):
    return jax.tree.map(f, tree)


def mapped(f, xs):
    return list(map(f, xs))


p = jax.pmap(lambda w: jax.lax.pmean(w + 1, "batch"), axis_name="batch")
p_sum = jax.pmap(lambda x: jax.lax.psum(x.sum(), "batch"), axis_name="batch")
w = jax_utils.replicate(jnp.arange(3.0))
a, b, c, d = p(w), p(p(w)), p(p(p(w))), p(p(p(p(w))))
x = np.arange(48, dtype=np.float32).reshape(16, 3)
batch, rows = mapped(common_utils.shard, [x])[0], mapped(double, [x])[0]
cut, scaled = leaves(common_utils.shard, {"x": x}), leaves(double, {"x": x})
RESULT = [
    np.asarray(each(first, [a])[0]).tolist(),
    np.asarray(each(double, [b])[0]).tolist(),
    np.asarray(each(first, [np.arange(6.0).reshape(2, 3)])[0]).tolist(),
    np.asarray(leaves(first, {"c": c})["c"]).tolist(),
    np.asarray(leaves(double, {"d": d})["d"]).tolist(),
    float(p_sum(batch)[0]),
    rows.shape,
    float(p_sum(cut["x"])[0]),
    scaled["x"].shape,
]
