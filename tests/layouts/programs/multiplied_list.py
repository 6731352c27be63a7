"""`[x] * n` with an n that is a batch size, and one that is the number of devices by chance only."""
import jax
import jax.numpy as jnp
import numpy as np

batch = 8
x = jnp.stack([jnp.arange(3.0)] * batch)
y = jnp.stack([jnp.arange(3.0) + i for i in range(batch)])
p_step = jax.pmap(lambda x, y: x * y + jax.lax.axis_index("i"), axis_name="i")
rows = p_step(x, y)
RESULT = {"rows": rows, "predicted": (x @ jnp.ones(3)).shape}
