import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def layer(x, w_in, w_out):
    h = jax.nn.relu(x @ w_in)
    return jax.lax.psum(h @ w_out, "model")


@jax.jit
def run(x, w_in, w_out):
    mesh = jax.sharding.Mesh(jax.devices(), ("model",))
    specs = (P(None, None), P("model", None), P("model", None))  # JM111
    return jax.shard_map(layer, mesh=mesh, in_specs=specs, out_specs=P())(x, w_in, w_out)


if __name__ == "__main__":
    print(run(jnp.ones((4, 16)), jnp.ones((16, 32)), jnp.ones((32, 16))))
