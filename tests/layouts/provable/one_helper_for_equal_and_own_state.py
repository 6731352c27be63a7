"""One helper puts the data, which is the same everywhere, and a state that each device goes on with by itself."""

import jax
import jax.numpy as jnp


def copies(tree, devices):
    mesh = jax.sharding.Mesh(devices, ("batch",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    return jax.tree_util.tree_map(
        lambda x: jax.device_put(jnp.broadcast_to(x, (len(devices),) + x.shape), sharding),
        tree,
    )


def walk(state, key, images):
    state = state + jax.random.normal(key, state.shape) * jnp.sin(images).mean(0)
    return state, jax.lax.pmean((state**2).mean(), "i")


def main():
    devices = jax.devices()
    state = copies(jnp.arange(3.0), devices)
    images = copies(jnp.cos(jnp.arange(12.0)).reshape(4, 3), devices)
    keys = jax.random.split(jax.random.PRNGKey(0), len(devices))
    p_walk = jax.pmap(walk, axis_name="i")  # expect: stacked, stacked, replicated -> stacked, replicated
    for _ in range(3):
        state, size = p_walk(state, keys, images)
    return state, size[0]


if __name__ == "__main__":
    print(main())

RESULT = main()
