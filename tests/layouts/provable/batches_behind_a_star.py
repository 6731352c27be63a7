"""Batches that a star spreads: tuples of a generator, lists, and what a map gives."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x, y):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - y.sum(1)) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split, split -> replicated, replicated
w = jax_utils.replicate(jnp.ones(3))


def batches():
    for i in range(2):
        yield shard((X + i, Y - i))


for batch in batches():
    w, loss = p_step(w, *batch)
inputs = [shard(X), shard(Y)]
w, loss = p_step(w, *inputs)
w, loss = p_step(w, *map(shard, (X, Y)))
w, *losses = p_step(w, *{"x": shard(X), "y": shard(Y)}.values())
RESULT = [np.asarray(jax_utils.unreplicate(w)), float(losses[0][0])]
