"""One number for each device: the body sees a scalar, not an array of one number."""
import jax
import jax.numpy as jnp
import numpy as np


def body(lr, temperature):
    grid = jnp.full((3,), lr)
    return jnp.stack([grid * temperature, grid]), lr.ndim, jnp.outer(grid, grid)


p_body = jax.pmap(body)  # careless: p_body = sharded(body, (P("batch"), P("batch")), P("batch"))
lrs = jnp.linspace(0.1, 0.8, jax.device_count())
grids, ranks, outer = p_body(lrs, np.logspace(-1, 1, 8, dtype=np.float32))
RESULT = {"grids": grids, "ranks": ranks, "outer": outer[3]}
