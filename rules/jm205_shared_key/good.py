import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def step(x, key):
    key = jax.random.fold_in(key, jax.lax.axis_index("i"))
    noisy = x + jax.random.normal(key, x.shape)
    return noisy, jax.lax.pmean(noisy.sum(), "i")


def evaluate(x):
    """The same noise every time, on purpose."""
    noisy = x + jax.random.normal(jax.random.PRNGKey(1), x.shape)
    return jax.lax.pmean(noisy.sum(), "i")


def main():
    mesh = Mesh(jax.devices(), ("i",))
    noisy, _ = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(P("i"), P()), out_specs=(P("i"), P())))(
        jnp.zeros(8), jax.random.PRNGKey(0)
    )
    print(len(set(noisy.tolist())), jax.pmap(evaluate, axis_name="i")(noisy)[0])


if __name__ == "__main__":
    main()
