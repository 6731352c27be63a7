"""An optimizer of one's own calls a function that has a name in common with one for the host."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard
from flax.training.train_state import TrainState

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def replicate(x):
    return jnp.stack([x, x])


def raised(grads):
    return jax.tree.map(lambda g: replicate(g).mean(0) * (1 + jax.lax.axis_index("batch")), grads)


def rising():
    return optax.GradientTransformation(lambda params: (), lambda grads, state, params=None: (raised(grads), state))


def step(state, x):
    grads = jax.grad(lambda params: jnp.mean((x @ params["w"] - 1) ** 2))(state.params)
    return state.apply_gradients(grads=jax.lax.pmean(grads, "batch"))


p_step = jax.pmap(step, axis_name="batch")
p_total = jax.pmap(lambda params: jax.lax.psum(params, "batch"), axis_name="batch")
state = jax_utils.replicate(TrainState.create(apply_fn=None, params={"w": jnp.linspace(0.1, 1.0, 3)}, tx=rising()))
for _ in range(2):
    state = p_step(state, shard(BATCH))
again = jax_utils.replicate(jax_utils.unreplicate(state.params))
RESULT = [jax_utils.unreplicate(p_total(again))]
