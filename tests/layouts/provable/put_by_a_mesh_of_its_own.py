"""Helpers lay stacked arrays out over a mesh that they make of the devices chosen, as `device_put_replicated` did."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def replicate(tree, devices):
    sharding = NamedSharding(Mesh(np.array(devices), ("data",)), P("data"))
    return jax.tree_util.tree_map(lambda x: jax.device_put(jnp.stack([x] * len(devices)), sharding), tree)


def spread(batch, n):
    def one(x):
        if x.shape[0] % n != 0:
            raise ValueError(f"{x.shape[0]} rows for {n} devices")
        return x.reshape((n, x.shape[0] // n, *x.shape[1:]))

    return {name: one(x) for name, x in batch.items()}


def step(w, batch):
    x = batch["x"]
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


def main(num_devices):
    available = jax.local_devices()
    devices = available[:num_devices]
    p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
    w = replicate(jnp.ones(3), devices)
    for _ in range(3):
        w, loss = p_step(w, spread({"x": BATCH}, num_devices))
    return jax.tree_util.tree_map(lambda x: x[0], w), loss[0]


RESULT = main(4)
