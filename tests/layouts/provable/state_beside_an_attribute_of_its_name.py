"""A module's variable holds parameters, then their copies, and a class has an attribute of the same name."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


class Log:
    def __init__(self):
        self.state = 0.0

    def note(self, loss):
        self.state += loss


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
log = Log()
state = jnp.ones(3)
state = jax_utils.replicate(state)
for _ in range(3):
    state, loss = p_step(state, shard(X))
    log.note(float(loss[0]))
state = jax_utils.unreplicate(state)
RESULT = [np.asarray(state), log.state]
