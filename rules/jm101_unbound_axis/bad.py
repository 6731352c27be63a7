import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def mean_loss(x):
    return jax.lax.pmean(jnp.mean(x), axis_name="bacth")  # JM101


def step(x):
    return mean_loss(x) + jax.lax.psum(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")


@jax.pmap
def count(x):
    return jax.lax.psum(x.size, "i")  # JM101


def total(x):
    mesh = Mesh(jax.devices(), ("data",))
    add = jax.shard_map(lambda y: jax.lax.psum(y, "data"), mesh=mesh, in_specs=P("date"), out_specs=P())  # JM101
    return jax.jit(add)(x)
