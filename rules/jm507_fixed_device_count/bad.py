import jax
import numpy as np
from jax.sharding import Mesh


def row():
    return jax.make_mesh((16,), ("data",))  # JM507


def grid():
    return Mesh(np.array(jax.devices()).reshape(8, 2), ("data", "model"))  # JM507


if __name__ == "__main__":
    for broken in (row, grid):
        try:
            broken()
        except ValueError as error:
            print(f"ValueError: {error}")
