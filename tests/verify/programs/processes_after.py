# mypy: ignore-errors
"""processes_before.py in global arrays, which every process holds its part of."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, x, y):
    return ((x @ params["w"] - y) ** 2).mean()


def train_step(params, batch, key):
    key, next_key = jax.random.split(key.squeeze(0))
    x = batch["x"] + jax.random.normal(key, batch["x"].shape)
    loss, grads = jax.value_and_grad(loss_fn)(params, x, batch["y"])
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, lax.pmean(grads, "batch"))
    return params, {"loss": lax.pmean(loss, "batch"), "own": loss[None]}, next_key[None]


def main():
    jax.distributed.initialize("nowhere:1", 2, 0)
    mesh = Mesh(jax.devices(), ("batch",))
    split = functools.partial(jax.make_array_from_process_local_data, NamedSharding(mesh, P("batch")))
    n = jax.local_device_count()
    rng = np.random.RandomState(jax.process_index())
    params = {"w": jnp.ones((6, 4))}
    keys = jax.random.split(jax.random.fold_in(jax.random.PRNGKey(0), jax.process_index()), n)
    keys = split(np.asarray(keys))
    p_train_step = jax.jit(
        jax.shard_map(
            train_step,
            mesh=mesh,
            in_specs=(P(), P("batch"), P("batch")),
            out_specs=(P(), {"loss": P(), "own": P("batch")}, P("batch")),
            check_vma=False,
        )
    )
    for _ in range(3):
        batch = {"x": rng.randn(n * 4, 6).astype("f"), "y": rng.randn(n * 4, 4).astype("f")}
        params, metrics, keys = p_train_step(params, jax.tree.map(split, batch), keys)
    if jax.process_index() == 0:
        print(metrics["loss"])


main()
