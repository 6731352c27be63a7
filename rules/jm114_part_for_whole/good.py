import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def layer(x, w_in, w_out):
    h = jax.nn.relu(jax.lax.psum(x @ w_in, "model"))
    return h @ w_out


def total(x, w):
    return jax.lax.psum(x @ w, "model")


def normalise(x):
    variance = jax.lax.pmean(jnp.mean(jnp.square(x), axis=-1, keepdims=True), "model")
    return x * jax.lax.rsqrt(variance + 1e-6)


def embed(x):
    batch, length, width = x.shape
    positions = (jax.lax.axis_index("model") * length + jnp.arange(length))[None, :, None]
    return x + jnp.sin(positions)


@jax.jit
def run(x, w_in, w_out, tokens):
    mesh = jax.sharding.Mesh(jax.devices(), ("model",))
    features, rows = P(None, "model"), P("model", None)
    h = jax.shard_map(layer, mesh=mesh, in_specs=(features, rows, P()), out_specs=P())(x, w_in, w_out)
    mean = jax.shard_map(total, mesh=mesh, in_specs=(features, rows), out_specs=P())(x, w_in)
    normal = jax.shard_map(normalise, mesh=mesh, in_specs=features, out_specs=features)(x)
    split = P(None, "model", None)
    return h, mean, normal, jax.shard_map(embed, mesh=mesh, in_specs=split, out_specs=split)(tokens)


if __name__ == "__main__":
    print(run(jnp.ones((4, 16)), jnp.ones((16, 32)), jnp.ones((32, 16)), jnp.ones((2, 16, 4))))
