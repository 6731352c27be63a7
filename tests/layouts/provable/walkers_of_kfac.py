"""Walkers that each device moves by itself, the width of their steps, and the energy, reduced by functions of kfac_jax's.

The parameters come from a checkpoint, so that nobody knows how they lie; of the energy one device's is taken.
"""

import functools

import jax
import jax.numpy as jnp
import kfac_jax
import numpy as np

AXIS = "walkers"
pmap = functools.partial(jax.pmap, axis_name=AXIS)
pmean = functools.partial(kfac_jax.utils.pmean_if_pmap, axis_name=AXIS)


def restored():
    return {"w": np.tile(np.linspace(0.1, 1.0, 3, dtype=np.float32), (8, 1))}


def energy(params, x):
    return jnp.sum((x * params["w"]) ** 2, -1)


def moved(params, x, key, width):
    move_key, accept_key = jax.random.split(key)
    there = x + width * jax.random.normal(move_key, x.shape)
    accepted = energy(params, there) - energy(params, x) < jax.random.exponential(accept_key, x.shape[:1])
    return jnp.where(accepted[:, None], there, x), pmean(jnp.mean(accepted))


def make_step(rate):
    @functools.partial(pmap, donate_argnums=(0, 1, 2))  # expect: stacked, stacked, stacked, stacked, replicated -> stacked, stacked, stacked, stacked, replicated
    def step(x, params, state, key, width):
        x, accepted = moved(params, x, key, width)
        loss, grads = jax.value_and_grad(lambda params: jnp.mean(energy(params, x)))(params)
        grads = pmean(grads)
        if state is not None:
            state = jax.tree.map(lambda s, g: 0.9 * s + g, state, grads)
            params = jax.tree.map(lambda p, s: p - rate * s, params, state)
        return x, params, state, pmean(loss), accepted

    return step


key, start = jax.random.split(jax.random.PRNGKey(0))
x = jax.random.normal(start, (8, 5, 3))
params = jax.tree.map(jnp.asarray, restored())
state = jax.tree.map(jnp.zeros_like, params)
keys = kfac_jax.utils.make_different_rng_key_on_all_devices(key)
width = kfac_jax.utils.replicate_all_local_devices(jnp.asarray(0.3), axis_name=AXIS)
burn_in, step = make_step(0.0), make_step(0.1)
rates, losses = [], []
for _ in range(2):
    keys, now = kfac_jax.utils.p_split(keys)
    x, params, *_, accepted = burn_in(x, params, state=None, key=now, width=width)
    rates.append(float(accepted[0]))
for _ in range(3):
    keys, now = kfac_jax.utils.p_split(keys)
    x, params, state, loss, accepted = step(x, params, state, now, width)
    losses.append(float(loss[0]))
    rates.append(float(accepted[0]))
    width = kfac_jax.utils.replicate_all_local_devices(jnp.asarray(0.3 if accepted[0] > 0.5 else 0.2), axis_name=AXIS)
RESULT = (losses, rates, np.asarray(params["w"]).mean())
