"""Arrays are split by the sizes of another one, from a variable: in one row of features, or in none."""
import jax
import jax.numpy as jnp
import numpy as np

ORIGINS = np.arange(192, dtype=np.float32).reshape(64, 3) / 7
DIRECTIONS = np.cos(ORIGINS)


def render(rays, w):
    origins, directions = rays
    points = origins + 0.5 * directions
    return points @ w, jnp.float32(points.shape[0]), points.sum(-1)


p_render = jax.pmap(render, in_axes=(0, None))  # expect: split, broadcast -> stacked, stacked, stacked
p_sum = jax.pmap(lambda x: (jax.lax.psum(x, "i"), jnp.array(x.shape)), axis_name="i")  # expect: split -> replicated, replicated


def render_all(rays, w):
    shape = rays[0].shape
    rays = [x.reshape((jax.local_device_count(), -1,) + shape[1:]) for x in rays]
    colors, rows, sums = p_render(rays, w)
    return np.reshape(np.array(colors), shape[:-1] + (-1,)), rows, sums


n = jax.local_device_count()
colors, rows, sums = render_all([ORIGINS, DIRECTIONS], jnp.arange(12.0).reshape(3, 4) / 5)
flat = ORIGINS.shape[2:]
total, sizes = p_sum(ORIGINS.reshape((n, -1) + flat))
RESULT = {"colors": colors, "rows": rows, "sums": sums, "total": total[0], "sizes": sizes[0]}
