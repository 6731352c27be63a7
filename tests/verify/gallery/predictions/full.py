"""Under shard_map; the last batch is padded to a full one, so that one program serves all."""

import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
mesh = Mesh(jax.devices(), ("i",))
BATCH, ROWS = 32, 83

def logits_of(params, x):
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"]

@jax.jit
@functools.partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("i"), P("i"), P("i")), out_specs=P())
def evaluate(params, x, y, weight):
    logits = logits_of(params, x)
    losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)[:, 0]
    sums = {"loss": (losses * weight).sum(), "count": weight.sum()}
    return jax.lax.psum(sums, "i")

@jax.jit
@functools.partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("i")), out_specs=P("i"))
def predict(params, x):
    return jax.nn.softmax(logits_of(params, x))

def padded(array):
    return np.concatenate([array, np.zeros((BATCH - len(array), *array.shape[1:]), array.dtype)])

def main():
    rng = np.random.RandomState(0)
    params = {"w1": rng.randn(5, 16).astype("f"), "b1": rng.randn(16).astype("f"), "w2": rng.randn(16, 4).astype("f")}
    x, y = rng.randn(ROWS, 5).astype("f"), rng.randint(0, 4, ROWS)
    loss = count = 0.0
    confidence = []
    for start in range(0, ROWS, BATCH):
        part = slice(start, start + BATCH)
        weight = np.ones(len(y[part]), np.float32)
        sums = evaluate(params, padded(x[part]), padded(y[part]), padded(weight))
        loss += float(sums["loss"])
        count += float(sums["count"])
        probs = np.asarray(predict(params, padded(x[part])))[: len(y[part])]
        confidence.append(probs.max(-1))
    print(f"loss {loss / count:.5f} rows {int(count)} confidence {np.concatenate(confidence).mean():.5f}")
main()
