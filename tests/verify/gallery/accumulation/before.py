"""Gradients of several micro batches before one step, and losses that the host averages over an epoch."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

N, MICRO = jax.device_count(), 3


def loss_fn(params, x, y):
    return jnp.abs(x @ params["w"] + params["b"] - y).mean()


@functools.partial(jax.pmap, axis_name="i")
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


def main():
    rng = np.random.RandomState(0)
    params = {"w": rng.randn(4, 3).astype("f"), "b": rng.randn(3).astype("f")}
    params = jax.tree.map(lambda x: np.stack([x] * N), params)
    history = []
    for _ in range(4):
        xs, ys = rng.randn(N, MICRO, 2, 4).astype("f"), rng.randn(N, MICRO, 2, 3).astype("f")
        params, metrics = train_step(params, xs, ys)
        history.append(float(metrics["losses"][0].mean()))
    print(f"loss {np.mean(history):.5f} last {history[-1]:.5f} norm {float(metrics['norm'][0]):.5f}")


main()
