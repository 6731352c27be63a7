"""Transformations of gradients that the program makes of functions, some of which tell the devices apart."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def noisy(scale):
    def init(params):
        return jnp.zeros(())

    def update(updates, state, params=None):
        return jax.tree.map(lambda g: -0.125 * g - scale * jax.lax.axis_index("i"), updates), state + 1

    return optax.GradientTransformation(init, update)


def counting():
    def update(updates, state, params=None):
        return jax.tree.map(lambda g: -0.125 * g, updates), state + jax.lax.axis_index("i")

    return optax.GradientTransformation(init=lambda params: jnp.zeros(()), update=update)


def take(tx, w, state, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    updates, state = tx.update(jax.lax.pmean(grad, "i"), state)
    w = optax.apply_updates(w, updates)
    return w, state, jax.lax.pmean(loss, "i"), jax.lax.pmean(state, "i")


NOISY, COUNTING = noisy(0.25), counting()
p_noisy = jax.pmap(lambda w, state, x: take(NOISY, w, state, x), axis_name="i")
p_counting = jax.pmap(lambda w, state, x: take(COUNTING, w, state, x), axis_name="i")
RESULT = []
w, state = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(NOISY.init(jnp.ones(3)))
for _ in range(3):
    w, state, value, count = p_noisy(w, state, shard(BATCH))
    RESULT.append((float(value[0]), float(count[0])))
v, v_state = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(COUNTING.init(jnp.ones(3)))
for _ in range(3):
    v, v_state, value, count = p_counting(v, v_state, shard(BATCH))
    RESULT.append((float(value[0]), float(count[0])))
