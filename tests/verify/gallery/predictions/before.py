"""Evaluation in sums and row by row; the last batch is padded to a multiple of the devices."""

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
    sums = {"loss": (losses * weight).sum(), "count": weight.sum()}
    return jax.lax.psum(sums, "i")

@functools.partial(jax.pmap, axis_name="i")
def predict(params, x):
    return jax.nn.softmax(logits_of(params, x))

def padded(array):
    rows = -(-len(array) // N) * N
    array = np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])
    return array.reshape(N, rows // N, *array.shape[1:])

def main():
    rng = np.random.RandomState(0)
    params = {"w1": rng.randn(5, 16).astype("f"), "b1": rng.randn(16).astype("f"), "w2": rng.randn(16, 4).astype("f")}
    params = jax_utils.replicate(params)
    x, y = rng.randn(ROWS, 5).astype("f"), rng.randint(0, 4, ROWS)
    loss = count = 0.0
    confidence = []
    for start in range(0, ROWS, BATCH):
        part = slice(start, start + BATCH)
        weight = np.ones(len(y[part]), np.float32)
        sums = jax_utils.unreplicate(evaluate(params, padded(x[part]), padded(y[part]), padded(weight)))
        loss += float(sums["loss"])
        count += float(sums["count"])
        probs = np.asarray(predict(params, padded(x[part]))).reshape(-1, 4)[: len(y[part])]
        confidence.append(probs.max(-1))
    print(f"loss {loss / count:.5f} rows {int(count)} confidence {np.concatenate(confidence).mean():.5f}")
main()
