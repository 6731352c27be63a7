"""Evaluation of a classifier on as many rows as there are: the last batch is padded, and weights leave the rest out."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.device_count()
BATCH, ROWS = 32, 83


def logits_of(params, x):
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"]


@functools.partial(jax.pmap, axis_name="i")
def evaluate(params, x, y, weight):
    logits = logits_of(params, x)
    losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)[:, 0]
    correct = (logits.argmax(-1) == y).astype(jnp.float32)
    sums = {"loss": (losses * weight).sum(), "correct": (correct * weight).sum(), "count": weight.sum()}
    return jax.lax.psum(sums, "i")


def padded(array, rows):
    array = np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])
    return array.reshape(N, rows // N, *array.shape[1:])


def main():
    rng = np.random.RandomState(0)
    params = {"w1": rng.randn(5, 16).astype("f"), "b1": rng.randn(16).astype("f"), "w2": rng.randn(16, 4).astype("f")}
    params = jax_utils.replicate(params)
    x, y = rng.randn(ROWS, 5).astype("f"), rng.randint(0, 4, ROWS)
    totals = {"loss": 0.0, "correct": 0.0, "count": 0.0}
    for start in range(0, ROWS, BATCH):
        part = slice(start, start + BATCH)
        weight = np.ones(len(y[part]), np.float32)
        sums = evaluate(params, padded(x[part], BATCH), padded(y[part], BATCH), padded(weight, BATCH))
        for name, value in jax_utils.unreplicate(sums).items():
            totals[name] += float(value)
    print(f"loss {totals['loss'] / totals['count']:.5f} accuracy {totals['correct'] / totals['count']:.4f}")
    print("rows", int(totals["count"]))


main()
