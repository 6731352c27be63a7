import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def step(x, key):
    noisy = x + jax.random.normal(key, x.shape)  # JM205
    return noisy, jax.lax.pmean(noisy.sum(), "i")


def main():
    mesh = Mesh(jax.devices(), ("i",))
    noisy, _ = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(P("i"), P()), out_specs=(P("i"), P())))(
        jnp.zeros(8), jax.random.PRNGKey(0)
    )
    print("different numbers on 8 devices:", len(set(noisy.tolist())))


if __name__ == "__main__":
    main()
