import jax
import numpy as np
from jax.sharding import Mesh


def row():
    return Mesh(jax.devices(), ("data",))


def grid():
    return Mesh(np.array(jax.devices()).reshape(-1, 2), ("data", "model"))


if __name__ == "__main__":
    print(row().shape, grid().shape)
