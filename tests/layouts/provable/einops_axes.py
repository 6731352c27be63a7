"""`einops.rearrange` puts an axis of the devices in front, as reshape does, of one array and of each of a tree."""
import einops
import jax
import jax.numpy as jnp
import numpy as np
from einops import rearrange
from flax import jax_utils

n = jax.local_device_count()
X = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)


def step(w, x, y):
    grad = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "i")


def grid_step(w, x):
    return w - 0.1 * jax.lax.pmean((x.mean((0, 1)) - w), "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split, split -> replicated
g_step = jax.pmap(grid_step, axis_name="i")  # expect: replicated, split -> replicated
m_step = jax.pmap(grid_step, axis_name="i")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3))
for i in range(2):
    batch = {"x": X + i, "y": jnp.asarray(X[:, 0])}
    batch = jax.tree.map(lambda x: rearrange(x, "(d b) ... -> d b ...", d=n), batch)
    w = p_step(w, batch["x"], batch["y"])
    w = g_step(w, einops.rearrange(X, "(d h k) c -> d h k c", d=n, k=2))
    w = m_step(w, einops.rearrange(jnp.asarray(X), "(b d c) k -> d  b c k", d=jax.local_device_count(), c=2))
RESULT = np.asarray(jax_utils.unreplicate(w)).tolist()
