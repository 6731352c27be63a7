"""Trees whose truth the host asks for: an average that there may not be, a state of a network that may have none."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(params, state, x):
    grads = jax.grad(lambda p: jnp.mean((x @ p["w"] - 1) ** 2))(params)
    grads = jax.lax.pmean(grads, "batch")
    state = jax.tree.map(lambda s: s + 1, state)
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, grads), state


def average(params, other):
    return jax.tree.map(lambda p, q: (p + q) / 2, params, other)


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, split -> replicated, replicated
p_average = jax.pmap(average, axis_name="batch")  # expect: replicated, replicated -> replicated
params = jax_utils.replicate({"w": jnp.ones(3)})
averaged = jax_utils.replicate({})
state = jax_utils.replicate({"count": jnp.zeros(())})
for number in range(3):
    params, state = p_step(params, state, shard(BATCH))
    averaged = p_average(averaged, params) if averaged else params
    if not state:
        raise ValueError("no state")
chosen = averaged or params
while state and number < 5:
    number += 1
RESULT = [jax_utils.unreplicate(chosen)["w"], jax_utils.unreplicate(state)["count"], number]
