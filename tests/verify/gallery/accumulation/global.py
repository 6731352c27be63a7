"""Micro batches along the first axis, the rows of each split over the devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

N, MICRO = jax.device_count(), 3
mesh = Mesh(np.array(jax.devices()), ("i",))


def loss_fn(params, x, y):
    return jnp.abs(x @ params["w"] + params["b"] - y).mean()


def train_step(params, xs, ys):
    def add(total, batch):
        loss, grads = jax.value_and_grad(loss_fn)(params, *batch)
        return jax.tree.map(jnp.add, total, grads), loss

    total, losses = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), (xs, ys))
    grads = jax.lax.pmean(jax.tree.map(lambda g: g / MICRO, total), "i")
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, 0.5 / norm)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, {"losses": jax.lax.pmean(losses, "i"), "norm": norm}


SPECS = (P(), P(None, "i"), P(None, "i"))
p_train_step = jax.jit(jax.shard_map(train_step, mesh=mesh, in_specs=SPECS, out_specs=P(), check_vma=False))


def rows(stacked):
    return np.concatenate(list(stacked), axis=1)


def main():
    rng = np.random.RandomState(0)
    params = {"w": rng.randn(4, 3).astype("f"), "b": rng.randn(3).astype("f")}
    history = []
    for _ in range(4):
        xs, ys = rng.randn(N, MICRO, 2, 4).astype("f"), rng.randn(N, MICRO, 2, 3).astype("f")
        params, metrics = p_train_step(params, rows(xs), rows(ys))
        history.append(float(metrics["losses"].mean()))
    print(f"loss {np.mean(history):.5f} last {history[-1]:.5f} norm {float(metrics['norm']):.5f}")


main()
