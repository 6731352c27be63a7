import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def layer(x, w_in, w_out):
    h = jax.nn.relu(x @ w_in)  # JM114
    return jax.lax.psum(h @ w_out, "model")


def average(x, w):
    return jax.lax.pmean(x @ w, "model")  # JM114


def normalise(x):
    variance = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
    return x * jax.lax.rsqrt(variance + 1e-6)  # JM114


def embed(x):
    batch, length, width = x.shape
    positions = jnp.arange(length)[None, :, None]  # JM114
    return x + jnp.sin(positions)


@jax.jit
def run(x, w_in, w_out, tokens):
    mesh = jax.sharding.Mesh(jax.devices(), ("model",))
    features, rows = P(None, "model"), P("model", None)
    h = jax.shard_map(layer, mesh=mesh, in_specs=(features, rows, P()), out_specs=P())(x, w_in, w_out)
    mean = jax.shard_map(average, mesh=mesh, in_specs=(features, rows), out_specs=P())(x, w_in)
    normal = jax.shard_map(normalise, mesh=mesh, in_specs=features, out_specs=features)(x)
    split = P(None, "model", None)
    return h, mean, normal, jax.shard_map(embed, mesh=mesh, in_specs=split, out_specs=split)(tokens)


if __name__ == "__main__":
    keys = jax.random.split(jax.random.key(0), 3)
    x, w_in, w_out = (jax.random.normal(key, shape) for key, shape in zip(keys, ((4, 16), (16, 32), (32, 16))))
    h, mean, normal, embedded = run(x, w_in, w_out, jnp.zeros((2, 16, 4)))
    print(f"relu of sums: {(jax.nn.relu(x @ w_in) @ w_out)[0, 0]:.2f}, of parts: {h[0, 0]:.2f}")
    print(f"sum: {(x @ w_in)[0, 0]:.3f}, mean of the parts: {mean[0, 0]:.3f}")
    print(f"variance of the features: {jnp.var(x[0]):.2f}, as the norm has it: {jnp.var(normal[0]):.2f}")
    print("positions:", jnp.arcsin(embedded[0, :6, 0]).round(1))
