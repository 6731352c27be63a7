"""Data that was sharded once is shuffled in place before each epoch."""
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

data = BATCH.copy()
batch = shard(data)
rng = np.random.RandomState(0)
p_rows = jax.pmap(lambda w, x: (step(w, x), x[0]), axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
found = []
for epoch in range(2):
    rng.shuffle(data)
    w, rows = p_rows(w, batch)
    found.append(np.asarray(rows))
RESULT = [w[0], found]
