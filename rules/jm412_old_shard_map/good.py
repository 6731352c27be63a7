import jax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map


def main():
    mesh = Mesh(jax.devices(), ("i",))
    return jax.jit(shard_map(lambda x: 2 * x, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
