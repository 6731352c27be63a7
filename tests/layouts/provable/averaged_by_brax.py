"""A training loop of brax's: its functions average the gradients and sum up the statistics over the axis they are told."""
import functools
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from brax.training import acting, gradients, pmap
from brax.training.acme import running_statistics, specs
from flax import jax_utils

AXIS = "i"


@flax.struct.dataclass
class TrainingState:
    optimizer_state: Any
    params: Any
    statistics: Any
    steps: jnp.ndarray


def first_of(tree):
    return jax.tree_util.tree_map(lambda x: x[0], tree)


def without_weak_types(tree):
    def strong(leaf):
        leaf = jnp.asarray(leaf)
        return leaf.astype(leaf.dtype)

    return jax.tree_util.tree_map(strong, tree)


class Env:
    def step(self, position, action):
        return 0.5 * position + action


def loss(params, statistics, data, key, scale):
    x = running_statistics.normalize(data, statistics) + 0.25 * jax.random.normal(key, data.shape)
    value = scale * jnp.mean((x @ params["w"]) ** 2)
    return value, {"loss": value}


def train(rounds, max_devices_per_host=None):
    devices = jax.local_device_count()
    if max_devices_per_host:
        devices = min(devices, max_devices_per_host)
    keys = jax.random.split(jax.random.PRNGKey(3), devices)
    optimizer = optax.sgd(0.25, momentum=0.5)
    update = gradients.gradient_update_fn(
        functools.partial(loss, scale=0.5), optimizer, pmap_axis_name=AXIS, has_aux=True
    )
    gradient = gradients.loss_and_pgrad(functools.partial(loss, scale=2.0), AXIS, has_aux=True)

    def one(carry, data, statistics):
        optimizer_state, params, key = carry
        key, key_loss = jax.random.split(key)
        (_, metrics), params, optimizer_state = update(
            params, statistics, data, key_loss, optimizer_state=optimizer_state
        )
        return (optimizer_state, params, key), metrics

    def epoch(state, position, key):
        key, own = jax.random.split(key)

        def policy(observed, key):
            return observed @ state.params["w"] @ jnp.ones((2, 3)) / 8 + jax.random.normal(key, observed.shape), {}

        position, data = acting.generate_unroll(Env(), position, policy, own, 4)
        statistics = running_statistics.update(state.statistics, data.reshape(-1, 3), pmap_axis_name=AXIS)
        (optimizer_state, params, _), metrics = jax.lax.scan(
            functools.partial(one, statistics=statistics), (state.optimizer_state, state.params, key), data
        )
        _, more = gradient(params, statistics, position, key)
        params = jax.tree.map(lambda w, g: w - 0.125 * g, params, more)
        state = TrainingState(
            optimizer_state=optimizer_state, params=params, statistics=statistics, steps=state.steps + 8
        )
        return state, position, jax.tree_util.tree_map(jnp.mean, metrics)

    epoch = jax.pmap(epoch, axis_name=AXIS)  # expect: replicated, stacked, stacked -> replicated, stacked, stacked
    params = {"w": jnp.linspace(-1.0, 1.0, 6).reshape(3, 2)}
    state = TrainingState(
        optimizer_state=optimizer.init(params),
        params=params,
        statistics=running_statistics.init_state(specs.Array((3,), jnp.dtype("float32"))),
        steps=0,
    )
    state = jax_utils.replicate(state, jax.local_devices()[:devices])
    position = jax.vmap(lambda key: jax.random.normal(key, (2, 3)))(keys)
    told = []
    for i in range(rounds):
        state, position = without_weak_types((state, position))
        state, position, metrics = epoch(state, position, jax.random.split(jax.random.PRNGKey(i), devices))
        told.append([int(first_of(state.steps)), np.asarray(metrics["loss"]).tolist()])
    pmap.assert_is_replicated(state)
    return first_of((state.statistics, state.params)), told, np.asarray(position)


RESULT = jax.tree.leaves(train(2))
