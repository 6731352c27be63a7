"""The GAN with a state for each network."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from jax.sharding import Mesh, PartitionSpec as P

N = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("batch",))
tx = optax.adam(1e-3, b1=0.5)


@struct.dataclass
class State:
    params: dict
    opt: optax.OptState


def generate(params, z):
    return jnp.tanh(jax.nn.relu(z @ params["w1"]) @ params["w2"])


def discriminate(params, x):
    return jax.nn.leaky_relu(x @ params["w1"]) @ params["w2"]


def generator_loss(generator, discriminator, z):
    return jax.nn.softplus(-discriminate(discriminator, generate(generator, z))).mean()


def discriminator_loss(discriminator, generator, x, z):
    fake = discriminate(discriminator, generate(generator, z))
    return (jax.nn.softplus(-discriminate(discriminator, x)) + jax.nn.softplus(fake)).mean()


def applied(state, grads):
    updates, opt = tx.update(jax.lax.pmean(grads, "batch"), state.opt)
    return State(optax.apply_updates(state.params, updates), opt)


@jax.jit
@functools.partial(
    jax.shard_map, mesh=mesh, in_specs=(P(), P(), P("batch"), P("batch")), out_specs=P(), check_vma=False
)
def train_step(g_state, d_state, x, z):
    d_loss, grads = jax.value_and_grad(discriminator_loss)(d_state.params, g_state.params, x, z)
    d_state = applied(d_state, grads)
    g_loss, grads = jax.value_and_grad(generator_loss)(g_state.params, d_state.params, z)
    g_state = applied(g_state, grads)
    return g_state, d_state, jax.lax.pmean({"d_loss": d_loss, "g_loss": g_loss}, "batch")


def networks(rng):
    generator = {"w1": 0.5 * rng.randn(4, 16).astype("f"), "w2": 0.5 * rng.randn(16, 6).astype("f")}
    discriminator = {"w1": 0.5 * rng.randn(6, 16).astype("f"), "w2": 0.5 * rng.randn(16, 1).astype("f")}
    return generator, discriminator


def main():
    rng = np.random.RandomState(0)
    generator, discriminator = networks(rng)
    g_state, d_state = State(generator, tx.init(generator)), State(discriminator, tx.init(discriminator))
    for step in range(6):
        x, z = rng.randn(N * 4, 6).astype("f"), rng.randn(N * 4, 4).astype("f")
        g_state, d_state, losses = train_step(g_state, d_state, x, z)
        print(f"step {step} d {losses['d_loss']:.5f} g {losses['g_loss']:.5f}")


main()
