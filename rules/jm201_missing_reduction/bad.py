import functools

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@functools.partial(jax.pmap, axis_name="batch")
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  # JM201
    return params, jax.lax.pmean(loss, "batch")


def device_sum(batch):
    return batch.sum(), jax.lax.psum(batch.sum(), "batch")


def total(batch):
    mesh = Mesh(jax.devices(), ("batch",))
    return jax.jit(
        jax.shard_map(device_sum, mesh=mesh, in_specs=P("batch"), out_specs=(P(), P()), check_vma=False)  # JM201
    )(batch)
