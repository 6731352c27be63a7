"""Patterns of einops whose result is a view of a buffer, of a list, of other counts, or has its axes in another order."""
import einops
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

n = jax.local_device_count()
X = np.sin(np.arange(192, dtype=np.float32)).reshape(64, 3)


def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.reshape(-1, 3).sum(0) * jnp.arange(x.shape[0]).sum() - w, "i")


def split(x):
    return einops.rearrange(x, "(d b) c -> d b c", d=n)


p_step = jax.pmap(step, axis_name="i")
q_step = jax.pmap(step, axis_name="i")
r_step = jax.pmap(step, axis_name="i")
s_step = jax.pmap(step, axis_name="i")
t_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
kept = []
buffer = X.copy()
view = einops.rearrange(buffer, "(d b) c -> d b c", d=n)
buffer[:] = buffer[::-1].copy()
w = p_step(w, view)
kept.append(w[0])
w = q_step(w, einops.rearrange([row for row in X], "(d b) c -> d b c", d=n))
kept.append(w[0])
w = q_step(w, split([row * 2 for row in X]))
kept.append(w[0])
half = n // 2
kept.append(r_step(np.ones((half, 3), np.float32), einops.rearrange(X, "(d b) c -> d b c", d=half))[0])
w = s_step(w, einops.rearrange(X, "(b d) c -> d b c", d=n))
kept.append(w[0])
w = s_step(w, einops.rearrange(X, "(d b) c -> d (c b)", d=n).reshape(n, -1, 3))
kept.append(w[0])
moved = einops.rearrange(X.reshape(n, 8, 3), "d b c -> b d c", d=n)
w = t_step(w, moved)
w = t_step(w, einops.rearrange(moved, "b d c -> d b c", d=n))
kept.append(w[0])
RESULT = [np.asarray(one).tolist() for one in kept] + [np.asarray(view).tolist()]
