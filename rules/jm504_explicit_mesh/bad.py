import jax
import numpy as np
from jax.sharding import PartitionSpec as P


def main():
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    double = jax.jit(jax.shard_map(lambda x: 2 * x, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
    x = np.arange(8.0)
    print(double(x))  # JM504


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        print(f"ValueError: {error}")
