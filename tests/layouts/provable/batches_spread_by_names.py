"""Batches that are spread by their names: a dictionary in sight, and a tree that shard makes of what is not."""
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


def load(i):
    return {name: value + i for name, value in (("y", Y), ("x", X))}


batch = {"y": shard(Y), "x": shard(X)}
for i in range(2):
    w, loss = p_step(w, **batch)
    w, loss = p_step(w, **shard(load(i)))
RESULT = [np.asarray(jax_utils.unreplicate(w)), float(loss[0])]
