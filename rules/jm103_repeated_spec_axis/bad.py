import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

SPEC = P("data", "data")  # JM103


def place(x):
    mesh = Mesh(jax.devices(), ("data",))
    return jax.device_put(x, NamedSharding(mesh, SPEC))


if __name__ == "__main__":
    try:
        place(jnp.ones((8, 8)))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
