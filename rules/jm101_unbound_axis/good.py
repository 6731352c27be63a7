import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def mean_loss(x, axis_name=None):
    loss = jnp.mean(x)
    return loss if axis_name is None else jax.lax.pmean(loss, axis_name)


def step(x):
    return mean_loss(x, axis_name="batch") + jax.lax.psum(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")
one_device = jax.jit(mean_loss)


def total(x):
    mesh = Mesh(jax.devices(), ("data",))
    add = jax.shard_map(lambda y: jax.lax.psum(y, "data"), mesh=mesh, in_specs=P("data"), out_specs=P())
    return jax.jit(add)(x)
