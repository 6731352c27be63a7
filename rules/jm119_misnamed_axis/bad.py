import jax
import numpy as np
from jax.sharding import PartitionSpec as P


def positions():
    x_index = jax.lax.axis_index("x")
    y_index = jax.lax.axis_index("x")  # JM119
    size = jax.lax.axis_size("y")
    return (x_index * size + y_index)[None, None]


def main():
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(-1, 2), ("x", "y"))
    index = jax.shard_map(positions, mesh=mesh, in_specs=(), out_specs=P("x", "y"), check_vma=False)
    print(jax.jit(index)().ravel())


if __name__ == "__main__":
    main()
