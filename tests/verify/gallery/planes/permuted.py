from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

n = jax.local_device_count()
mesh = Mesh(np.asarray(jax.devices()).reshape(2, 4), ("row", "column"))
BOTH = ("row", "column")
rng = np.random.default_rng(1)


@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P("column"), P(BOTH)), out_specs=(P("column"), P(BOTH), P()), check_vma=False)
def layer(w, x):
    w, x = w[0], x[0]

    def loss(w):
        part = jax.lax.stop_gradient(x) @ w
        out = jax.lax.psum(part, "column")
        return jnp.sum(jnp.tanh(out)), out

    (value, out), grad = jax.value_and_grad(loss, has_aux=True)(w)
    grad = jax.lax.psum(grad, "row")
    return (w - 0.01 * grad)[None], out[None], jax.lax.pmean(value, "row")


@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=P(BOTH), out_specs=P(BOTH), check_vma=False)
def rotate(x):
    row = jax.lax.axis_index("row")
    return jax.lax.ppermute(x, "row", [(0, 1), (1, 0)]) * (1.0 + row)


w = rng.normal(size=(4, 3, 2)).astype("f")
for step in range(3):
    x = rng.normal(size=(8, 5, 3)).astype("f")
    w, out, value = layer(w, x)
    print(step, float(value), float(jnp.sum(jnp.abs(out))))
y = rotate(out)
print("rotated", float(jnp.sum(y[0] * jnp.arange(10.0).reshape(5, 2))), float(jnp.sum(y[4])))
