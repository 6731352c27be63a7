import functools

import jax
from jax.sharding import Mesh


@functools.cache
def mesh():
    return Mesh(jax.devices(), ("data",))


if __name__ == "__main__":
    SCRIPT_MESH = Mesh(jax.devices(), ("data",))
    print(mesh() == SCRIPT_MESH)
