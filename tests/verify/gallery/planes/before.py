from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

n = jax.local_device_count()
ROWS = [[0, 1, 2, 3], [4, 5, 6, 7]]
COLUMNS = [[0, 4], [1, 5], [2, 6], [3, 7]]
rng = np.random.default_rng(1)


@partial(jax.pmap, axis_name="d")
def layer(w, x):
    def loss(w):
        part = jax.lax.stop_gradient(x) @ w
        out = jax.lax.psum(part, "d", axis_index_groups=ROWS)
        return jnp.sum(jnp.tanh(out)), out

    (value, out), grad = jax.value_and_grad(loss, has_aux=True)(w)
    grad = jax.lax.psum(grad, "d", axis_index_groups=COLUMNS)
    return w - 0.01 * grad, out, jax.lax.pmean(value, "d")


@partial(jax.pmap, axis_name="d")
def rotate(x):
    row = jax.lax.axis_index("d") // 4
    moved = jax.lax.all_gather(x, "d", axis_index_groups=COLUMNS)
    return moved[1 - row] * (1.0 + row)


w = rng.normal(size=(4, 3, 2)).astype("f")
w = np.concatenate([w, w])
for step in range(3):
    x = rng.normal(size=(8, 5, 3)).astype("f")
    w, out, value = layer(w, x)
    print(step, float(value[0]), float(jnp.sum(jnp.abs(out))))
y = rotate(out)
print("rotated", float(jnp.sum(y[0] * jnp.arange(10.0).reshape(5, 2))), float(jnp.sum(y[4])))
