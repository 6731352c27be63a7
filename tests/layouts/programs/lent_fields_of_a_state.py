"""The parameters of a state are logged with their device axis; the statistics stay stacked."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


from flax import struct


@struct.dataclass
class State:
    params: dict
    stats: jax.Array
    step: int


def step(state, x):
    def loss(p):
        return jnp.mean((x @ p["w"] + p["b"] - 1) ** 2)
    grads = jax.lax.pmean(jax.grad(loss)(state.params), "batch")
    params = jax.tree.map(lambda p, g: p - 0.125 * g, state.params, grads)
    return state.replace(params=params, stats=state.stats * 0.5 + x.mean(0), step=state.step + 1)


p_step = jax.pmap(step, axis_name="batch", donate_argnums=0)


def sizes(tree):
    return [(x.shape, str(x.dtype), x.weak_type) for x in jax.tree.leaves(tree)]


def norms(state):
    return [float(jnp.linalg.norm(state.params["w"])), state.step.shape, float(np.sum(state.stats))]


print(sizes({"w": jnp.ones(3)}), norms(State({"w": jnp.ones(3)}, jnp.ones(3), np.zeros(()))))
state = jax_utils.replicate(State({"w": jnp.ones(3), "b": jnp.zeros(())}, jnp.zeros(3), 0))
for i in range(3):
    state = p_step(state, shard(BATCH + i))
RESULT = [sizes(state.params), norms(state), np.asarray(state.stats), jax_utils.unreplicate(state).params]
