"""A helper puts copies on the devices that it is given, over a mesh of an array of these."""

import jax
import jax.numpy as jnp
import numpy as np


def copies(tree, devices):
    mesh = jax.sharding.Mesh(np.array(devices), ("batch",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    return jax.tree_util.tree_map(
        lambda x: jax.device_put(jnp.broadcast_to(x, (len(devices),) + x.shape), sharding),
        tree,
    )


def step(w, key, images):
    picked = images[jax.random.randint(key, (2,), 0, images.shape[0])]
    return w - 0.1 * jax.lax.pmean(jnp.sin(picked @ w).mean() * w, "i")


def main():
    devices = jax.devices()
    w = copies(jnp.arange(3.0), devices)
    images = copies(jnp.cos(jnp.arange(12.0)).reshape(4, 3), devices)
    keys = jax.random.split(jax.random.PRNGKey(0), len(devices))
    p_step = jax.pmap(step, axis_name="i")  # expect: replicated, stacked, replicated -> replicated
    for _ in range(3):
        w = p_step(w, keys, images)
    return jax.tree_util.tree_map(lambda x: x[0], w)


RESULT = main()
