"""Sizes of batches and of copies are those of the global arrays in other words."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(96, dtype=np.float32)).reshape(16, 3, 2)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, batch):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((batch["x"] @ w) ** 2) + batch["y"].mean())(w)
    return w - 0.125 * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
w = jax_utils.replicate(jnp.ones(2))
batch = shard({"x": X, "y": Y})
seen = []
for _ in range(2):
    count = batch["x"].shape[0] * batch["x"].shape[1]
    seen += [count, batch["x"].shape[0], batch["x"].shape[1], batch["x"].shape[2:], batch["y"].shape[2]]
    w, loss = p_step(w, batch)
    seen += [batch["y"].shape, batch["y"].ndim, batch["x"].shape[1:], batch["x"].shape[-1], w.shape, loss.shape, w.shape[1]]
devices, rows, *rest = batch["x"].shape
x = batch["x"]
assert x.shape[0] == jax.local_device_count(), x.shape
sizes = jax.tree.map(lambda x: x.shape[0] * x.shape[1], batch)
print(f"batches of {x.shape}", len(loss))
RESULT = [seen, devices, rows, rest, sizes, w.shape[:2], w.shape[0], w.ndim, np.asarray(jax_utils.unreplicate(w))]
