"""Dictionaries copied, updated, merged and popped."""
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

import collections

one = {"w": jax_utils.replicate(jnp.ones(3))}
two = {**one, "v": p_step(one["w"], shard(BATCH))}
three = two | dict(u=two["v"])
table = collections.defaultdict(dict)
table["run"].update(three)
last = table["run"].pop("u")
RESULT = [np.asarray(last).sum(), {k: v.shape for k, v in sorted(table["run"].items())}, three.setdefault("w", None)[0]]
