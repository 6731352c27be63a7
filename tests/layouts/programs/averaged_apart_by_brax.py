"""Brax's functions where they average nothing, or not what all devices have: no axis, another one, other optimizers."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from brax.training import acting, gradients
from brax.training.acme import running_statistics, specs
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def loss(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def own_noise(updates, state, params=None):
    return jax.tree.map(lambda g: -0.125 * g - 0.25 * jax.lax.axis_index("i"), updates), state


sgd = optax.sgd(0.125)
noisy = optax.GradientTransformation(lambda params: (), own_noise)
apart = gradients.gradient_update_fn(loss, sgd, pmap_axis_name=None)
along_rows = gradients.gradient_update_fn(loss, sgd, "rows")
with_noise = gradients.gradient_update_fn(loss, noisy, "i")
together = gradients.gradient_update_fn(loss, sgd, "i")
gradient_apart = gradients.loss_and_pgrad(loss, None)
start = running_statistics.init_state(specs.Array((3,), jnp.float32))


def step(update, w, x):
    value, w, _ = update(w, x, optimizer_state=sgd.init(w))
    return w


def over_rows(w, x):
    return jax.vmap(functools.partial(step, along_rows), axis_name="rows", in_axes=(0, None))(w[None], x)[0]


def of_noise(w, x):
    return with_noise(w, x, optimizer_state=())[1]


def by_gradient(w, x):
    return w - 0.125 * gradient_apart(w, x)[1]


def of_own_start(w, x):
    return step(together, w + jax.lax.axis_index("i"), x)


def observed(statistics, x):
    return running_statistics.update(statistics, x)


def weighted(statistics, x):
    own = statistics.replace(mean=statistics.mean + x[0])
    return running_statistics.update(own, x, weights=x[:, 0], pmap_axis_name="i")


class Env:
    def step(self, state, action):
        return 0.5 * state + action


class OwnEnv:
    def step(self, state, action):
        return 0.5 * state + action + jax.lax.axis_index("i")


def moved(w, x):
    def policy(state, key):
        return jax.random.normal(key, state.shape) + jax.lax.axis_index("i"), {}

    return acting.generate_unroll(Env(), w, policy, jax.random.PRNGKey(0), 2)[0]


def moved_by_env(w, x):
    return acting.actor_step(OwnEnv(), w, lambda state, key: (state, {}), jax.random.PRNGKey(0))[0]


def told(w, x):
    return w, jax.lax.pmean(loss(w, x), "i")


RESULT = []
p_apart = jax.pmap(lambda w, x: told(step(apart, w, x), x), axis_name="i")
w_apart = jax_utils.replicate(jnp.ones(3))
for _ in range(3):
    w_apart, value = p_apart(w_apart, shard(BATCH))
    RESULT.append(float(value[0]))
p_rows = jax.pmap(lambda w, x: told(over_rows(w, x), x), axis_name="i")
w_rows = jax_utils.replicate(jnp.ones(3))
for _ in range(3):
    w_rows, value = p_rows(w_rows, shard(BATCH))
    RESULT.append(float(value[0]))
p_noise = jax.pmap(lambda w, x: told(of_noise(w, x), x), axis_name="i")
w_noise = jax_utils.replicate(jnp.ones(3))
for _ in range(3):
    w_noise, value = p_noise(w_noise, shard(BATCH))
    RESULT.append(float(value[0]))
p_gradient = jax.pmap(lambda w, x: told(by_gradient(w, x), x), axis_name="i")
w_gradient = jax_utils.replicate(jnp.ones(3))
for _ in range(3):
    w_gradient, value = p_gradient(w_gradient, shard(BATCH))
    RESULT.append(float(value[0]))
p_start = jax.pmap(lambda w, x: told(of_own_start(w, x), x), axis_name="i")
w_start = jax_utils.replicate(jnp.ones(3))
for _ in range(3):
    w_start, value = p_start(w_start, shard(BATCH))
    RESULT.append(float(value[0]))
p_moved = jax.pmap(lambda w, x: told(moved(w, x), x), axis_name="i")
w_moved = jax_utils.replicate(jnp.ones(3))
for _ in range(3):
    w_moved, value = p_moved(w_moved, shard(BATCH))
    RESULT.append(float(value[0]))
p_env = jax.pmap(lambda w, x: told(moved_by_env(w, x), x), axis_name="i")
w_env = jax_utils.replicate(jnp.ones(3))
for _ in range(3):
    w_env, value = p_env(w_env, shard(BATCH))
    RESULT.append(float(value[0]))
p_observed = jax.pmap(lambda s, x: (observed(s, x), jax.lax.pmean(s.mean, "i")), axis_name="i")
s_observed = jax_utils.replicate(start)
for _ in range(3):
    s_observed, value = p_observed(s_observed, shard(BATCH))
    RESULT.append(np.asarray(jax_utils.unreplicate(value)).tolist())
p_weighted = jax.pmap(lambda s, x: (weighted(s, x), jax.lax.pmean(s.mean, "i")), axis_name="i")
s_weighted = jax_utils.replicate(start)
for _ in range(3):
    s_weighted, value = p_weighted(s_weighted, shard(BATCH))
    RESULT.append(np.asarray(jax_utils.unreplicate(value)).tolist())
