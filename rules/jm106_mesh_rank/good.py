import jax
import numpy as np
from jax.sharding import Mesh


def grid():
    return Mesh(np.array(jax.devices()).reshape(-1, 2), ("data", "model"))


def row():
    return Mesh(jax.devices(), "data")


if __name__ == "__main__":
    print(grid().shape, row().shape)
