"""in_axes says nothing of keywords, which are mapped all the same; a state of unlike fields goes by keyword."""
import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@flax.struct.dataclass
class State:
    w: jax.Array
    seen: jax.Array


def step(x, rate, state, key):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(state.w), "batch")
    noise = jax.random.normal(key, state.seen.shape)
    return state.replace(w=state.w - rate * grad, seen=state.seen + x.sum() + noise)


p_step = jax.pmap(step, axis_name="batch", in_axes=(0, None))

state = jax_utils.replicate(State(jnp.ones(3), jnp.zeros(2)))
keys = jax.random.split(jax.random.PRNGKey(1), 8)
for rate in (0.125, 0.25):
    state = p_step(shard(BATCH), rate, state=state, key=keys)
RESULT = [jax_utils.unreplicate(state.w), state.seen]
