"""Evaluation under jit, which takes batches of any size: no padding, no weights."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH, ROWS = 32, 83


def logits_of(params, x):
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"]


@jax.jit
def evaluate(params, x, y):
    logits = logits_of(params, x)
    losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)[:, 0]
    correct = (logits.argmax(-1) == y).astype(jnp.float32)
    return {"loss": losses.sum(), "correct": correct.sum(), "count": jnp.float32(len(y))}


def main():
    rng = np.random.RandomState(0)
    params = {"w1": rng.randn(5, 16).astype("f"), "b1": rng.randn(16).astype("f"), "w2": rng.randn(16, 4).astype("f")}
    x, y = rng.randn(ROWS, 5).astype("f"), rng.randint(0, 4, ROWS)
    totals = {"loss": 0.0, "correct": 0.0, "count": 0.0}
    for start in range(0, ROWS, BATCH):
        part = slice(start, start + BATCH)
        for name, value in evaluate(params, x[part], y[part]).items():
            totals[name] += float(value)
    print(f"loss {totals['loss'] / totals['count']:.5f} accuracy {totals['correct'] / totals['count']:.4f}")
    print("rows", int(totals["count"]))


main()
