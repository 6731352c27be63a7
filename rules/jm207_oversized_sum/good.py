import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0), out_axes=None)
def step(params, batch):
    grads = jax.grad(loss_fn)(params, batch)
    grads = jax.lax.pmean(grads, "batch")
    return params - 0.1 * grads


def total(x):
    return jax.lax.psum(x.sum(), "data")


def main():
    n = jax.device_count()
    params = step(jnp.ones(1), jnp.ones((n, 2, 1)))
    print("one step from 1.0:", params[0])
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 2), ("data", "model"))
    f = jax.jit(jax.shard_map(total, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False))
    print("sum of ones:", f(jnp.ones(16)), "of", 16)


if __name__ == "__main__":
    main()
