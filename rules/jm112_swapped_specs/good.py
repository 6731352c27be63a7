import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def loss(params, batch):
    return jax.lax.pmean(jnp.mean((batch @ params["w"] + params["b"]) ** 2), "data")


@jax.jit
def run(params, batch):
    mesh = Mesh(jax.devices(), ("data",))
    params_spec = {"w": P(), "b": P()}
    batch_spec = P("data", None)
    return jax.shard_map(loss, mesh=mesh, in_specs=(params_spec, batch_spec), out_specs=P())(params, batch)


if __name__ == "__main__":
    print(run({"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}, jnp.ones((16, 4))))
