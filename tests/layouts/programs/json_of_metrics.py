"""Metrics as JSON, whole."""
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

import json

metrics = jax.pmap(lambda x: {"mean": jax.lax.pmean(x.mean(), "i")}, axis_name="i")(shard(BATCH))
text = json.dumps(jax.tree.map(lambda x: np.asarray(x).tolist(), metrics))
RESULT = [len(json.loads(text)["mean"]), float(metrics["mean"][0])]
