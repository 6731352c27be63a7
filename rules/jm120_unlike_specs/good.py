import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def predict(w, x):
    return jax.nn.softmax(x @ w)


def main():
    mesh = Mesh(jax.devices(), ("data",))
    specs = (P(None, None), P("data", None))
    out = P("data", None)
    run = jax.jit(jax.shard_map(predict, mesh=mesh, in_specs=specs, out_specs=out))
    print("shape of the result:", run(jnp.ones((3, 4)), jnp.ones((16, 3))).shape)


if __name__ == "__main__":
    main()
