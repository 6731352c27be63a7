import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def main():
    auto = Mesh(jax.devices(), ("i",))
    double = jax.jit(jax.shard_map(lambda x: 2 * x, mesh=auto, in_specs=P("i"), out_specs=P("i")))
    print(double(np.arange(8.0)))
    explicit = jax.make_mesh((jax.device_count(),), ("i",))
    triple = jax.jit(jax.shard_map(lambda x: 3 * x, mesh=explicit, in_specs=P("i"), out_specs=P("i")))
    print(triple(jax.device_put(np.arange(8.0), NamedSharding(explicit, P("i")))))


if __name__ == "__main__":
    main()
