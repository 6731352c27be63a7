import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

mesh = Mesh(jax.devices(), ("batch",))
double = jax.jit(jax.shard_map(lambda x: 2 * x, mesh=mesh, in_specs=P("batch"), out_specs=P("batch")))

print(double(jnp.arange(float(jax.device_count()))))
