"""A mapped function is called with stacked arrays through a named tuple, and through a dataclass."""
from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

n = jax.local_device_count()
X = np.sin(np.arange(n * 6, dtype=np.float32)).reshape(n * 2, 3)


def step(w, x):
    g = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "i")
    return w - 0.1 * g, jax.lax.pmean(jnp.sum(x), "i")


p_step = jax.pmap(step, axis_name="i")
PER = np.ones((n, 3), np.float32) * np.arange(n, dtype=np.float32)[:, None]


class Steps(NamedTuple):
    step: Callable
    scale: float = 1.0


@struct.dataclass
class State:
    w: jax.Array
    step: Callable = struct.field(pytree_node=False)


r_step = jax.pmap(step, axis_name="i")


class Default(NamedTuple):
    step: Callable = r_step


steps = Steps(p_step)
default = Default()
q_step = jax.pmap(step, axis_name="i")
state = State(w=jnp.ones(3), step=q_step)
w = jax_utils.replicate(jnp.ones(3))
w, loss = p_step(w, shard(X))
w, loss = q_step(w, shard(X))
w, loss = r_step(w, shard(X))
v, _ = steps.step(PER, X.reshape(n, 2, 3))
u, _ = state.step(PER, X.reshape(n, 2, 3))
t, _ = default.step(PER, X.reshape(n, 2, 3))
RESULT = [np.asarray(t), np.asarray(jax_utils.unreplicate(w)), np.asarray(v), np.asarray(u)]
