"""Functions of libraries call what they are given, which tells the devices apart."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
SGD = optax.sgd(0.125, momentum=0.5)


def step(spread, w, state, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    updates, state = SGD.update(jax.lax.pmean(grad, "i"), spread(state))
    return optax.apply_updates(w, updates), state, jax.lax.pmean(loss, "i")


def by_index(w, state, x):
    def spread(state):
        return optax.tree_map_params(SGD, lambda v: v + jax.lax.axis_index("i"), state)

    return step(spread, w, state, x)


def by_name(w, state, x):
    where = jax.lax.axis_index
    return step(lambda state: optax.tree_map_params(SGD, lambda v: v - 0.5 * where("i"), state), w, state, x)


def by_sent(w, state, x):
    own = jax.lax.pmean(x.mean(), "i")

    def sent(v):
        return v * jax.lax.ppermute(x.sum(), "i", [(n, (n + 1) % 8) for n in range(8)]) * own

    return step(lambda state: optax.tree_map_params(SGD, sent, state), w, state, x)


p_by_index = jax.pmap(by_index, axis_name="i")
p_by_name = jax.pmap(by_name, axis_name="i")
p_by_sent = jax.pmap(by_sent, axis_name="i")
RESULT = []
w, state = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(SGD.init(jnp.ones(3)))
for _ in range(3):
    w, state, value = p_by_index(w, state, shard(BATCH))
    RESULT.append(float(value[0]))
v, v_state = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(SGD.init(jnp.ones(3)))
for _ in range(3):
    v, v_state, value = p_by_name(v, v_state, shard(BATCH))
    RESULT.append(float(value[0]))
u, u_state = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(SGD.init(jnp.ones(3)))
for _ in range(3):
    u, u_state, value = p_by_sent(u, u_state, shard(BATCH))
    RESULT.append(float(value[0]))
