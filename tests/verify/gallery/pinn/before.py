"""A network that solves u'' = -u in double precision, on points that each device has its share of."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils

jax.config.update("jax_enable_x64", True)
N = jax.device_count()
tx = optax.adam(1e-2)


def network(params, x):
    hidden = jnp.tanh(params["w1"] * x + params["b1"])
    return (jnp.tanh(hidden @ params["w2"] + params["b2"]) @ params["w3"])[0]


def residual(params, x):
    return jax.grad(jax.grad(network, 1), 1)(params, x) + network(params, x)


def loss_fn(params, points):
    inside = (jax.vmap(residual, (None, 0))(params, points) ** 2).mean()
    start = network(params, 0.0) ** 2 + (jax.grad(network, 1)(params, 0.0) - 1.0) ** 2
    return inside + start


@functools.partial(jax.pmap, axis_name="points")
def train_step(params, opt_state, points):
    loss, grads = jax.value_and_grad(loss_fn)(params, points)
    grads = jax.lax.pmean(grads, "points")
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, jax.lax.pmean(loss, "points")


@functools.partial(jax.pmap, axis_name="points")
def error(params, points):
    apart = jax.vmap(network, (None, 0))(params, points) - jnp.sin(points)
    return jax.lax.pmean((apart**2).mean(), "points"), apart


def main():
    rng = np.random.RandomState(0)
    params = {"w1": rng.randn(12), "b1": rng.randn(12), "w2": 0.3 * rng.randn(12, 12), "b2": np.zeros(12)}
    params["w3"] = 0.3 * rng.randn(12, 1)
    params, opt_state = jax_utils.replicate((params, tx.init(params)))
    for step in range(8):
        points = rng.uniform(0, 6, (N, 12))
        params, opt_state, loss = train_step(params, opt_state, points)
        print(f"step {step} loss {float(loss[0]):.10f}")
    grid = np.linspace(0, 6, N * 6).reshape(N, 6)
    mean, _ = error(params, grid)
    print(f"error {float(mean[0]):.10f}")


main()
