# mypy: ignore-errors
"""A trainer that runs in several processes, each with its part of the batch; see processes_after.py."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from jax import lax


def loss_fn(params, x, y):
    return ((x @ params["w"] - y) ** 2).mean()


def train_step(params, batch, key):
    key, next_key = jax.random.split(key)
    x = batch["x"] + jax.random.normal(key, batch["x"].shape)
    loss, grads = jax.value_and_grad(loss_fn)(params, x, batch["y"])
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, lax.pmean(grads, "batch"))
    return params, {"loss": lax.pmean(loss, "batch"), "own": loss}, next_key


def main():
    jax.distributed.initialize("nowhere:1", 2, 0)
    n = jax.local_device_count()
    rng = np.random.RandomState(jax.process_index())
    params = jax_utils.replicate({"w": jnp.ones((6, 4))})
    keys = jax.random.split(jax.random.fold_in(jax.random.PRNGKey(0), jax.process_index()), n)
    p_train_step = jax.pmap(train_step, axis_name="batch")
    for _ in range(3):
        batch = {"x": rng.randn(n, 4, 6).astype("f"), "y": rng.randn(n, 4, 4).astype("f")}
        params, metrics, keys = p_train_step(params, batch, keys)
    if jax.process_index() == 0:
        print(metrics["loss"][0])


main()
