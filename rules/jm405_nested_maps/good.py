import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P


def total(x):
    return jax.lax.psum(x, ("data", "model"))


def sums(x):
    mesh = Mesh(np.reshape(jax.devices(), x.shape[:2]), ("data", "model"))
    spec = P("data", "model")
    return jax.jit(jax.shard_map(total, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))(x)
