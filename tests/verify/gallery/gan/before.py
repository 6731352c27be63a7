"""A small GAN: one state of two networks with their optimizers, one step for both."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils, struct

N = jax.device_count()
tx = optax.adam(1e-3, b1=0.5)


@struct.dataclass
class State:
    generator: dict
    discriminator: dict
    generator_opt: optax.OptState
    discriminator_opt: optax.OptState
    step: int


def generate(params, z):
    return jnp.tanh(jax.nn.relu(z @ params["w1"]) @ params["w2"])


def discriminate(params, x):
    return jax.nn.leaky_relu(x @ params["w1"]) @ params["w2"]


def generator_loss(generator, discriminator, z):
    return jax.nn.softplus(-discriminate(discriminator, generate(generator, z))).mean()


def discriminator_loss(discriminator, generator, x, z):
    fake = discriminate(discriminator, generate(generator, z))
    return (jax.nn.softplus(-discriminate(discriminator, x)) + jax.nn.softplus(fake)).mean()


@functools.partial(jax.pmap, axis_name="batch")
def train_step(state, x, z):
    d_loss, grads = jax.value_and_grad(discriminator_loss)(state.discriminator, state.generator, x, z)
    grads = jax.lax.pmean(grads, "batch")
    updates, discriminator_opt = tx.update(grads, state.discriminator_opt)
    discriminator = optax.apply_updates(state.discriminator, updates)
    g_loss, grads = jax.value_and_grad(generator_loss)(state.generator, discriminator, z)
    grads = jax.lax.pmean(grads, "batch")
    updates, generator_opt = tx.update(grads, state.generator_opt)
    generator = optax.apply_updates(state.generator, updates)
    state = State(generator, discriminator, generator_opt, discriminator_opt, state.step + 1)
    return state, jax.lax.pmean({"d_loss": d_loss, "g_loss": g_loss}, "batch")


def networks(rng):
    generator = {"w1": 0.5 * rng.randn(4, 16).astype("f"), "w2": 0.5 * rng.randn(16, 6).astype("f")}
    discriminator = {"w1": 0.5 * rng.randn(6, 16).astype("f"), "w2": 0.5 * rng.randn(16, 1).astype("f")}
    return generator, discriminator


def main():
    rng = np.random.RandomState(0)
    generator, discriminator = networks(rng)
    state = State(generator, discriminator, tx.init(generator), tx.init(discriminator), 0)
    state = jax_utils.replicate(state)
    for step in range(6):
        x, z = rng.randn(N, 4, 6).astype("f"), rng.randn(N, 4, 4).astype("f")
        state, metrics = train_step(state, x, z)
        losses = jax_utils.unreplicate(metrics)
        print(f"step {step} d {losses['d_loss']:.5f} g {losses['g_loss']:.5f}")


main()
