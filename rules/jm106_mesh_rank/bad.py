import jax
import numpy as np
from jax.sharding import Mesh


def grid():
    return Mesh(np.array(jax.devices()).reshape(-1, 2), ("data",))  # JM106


def row():
    return Mesh(jax.devices(), ("data", "model"))  # JM106


if __name__ == "__main__":
    for broken in (grid, row):
        try:
            broken()
        except ValueError as error:
            print(f"ValueError: {error}")
