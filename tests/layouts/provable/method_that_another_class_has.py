"""A method of a model that a library's base has, and a trainer's of the same name that is made of what it gives."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, linen, struct
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@struct.dataclass
class State:
    step: int
    params: dict


class Model(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(1)(x)


class Trainer:
    def __init__(self):
        self.model = Model()
        self.p_step = jax.pmap(self.step, axis_name="batch")  # expect: replicated, split -> replicated, replicated

    def init(self):
        params = self.model.init(jax.random.PRNGKey(0), jnp.zeros((1, 3)))["params"]
        return jax_utils.replicate(State(step=0, params=params))

    def step(self, state, x):
        loss, grads = jax.value_and_grad(lambda p: (self.model.apply({"params": p}, x) ** 2).mean())(state.params)
        grads = jax.lax.pmean(grads, "batch")
        params = jax.tree.map(lambda p, g: p - 0.125 * g, state.params, grads)
        return state.replace(step=state.step + 1, params=params), jax.lax.pmean(loss, "batch")

    def fit(self):
        state = self.init()
        for _ in range(2):
            state, loss = self.p_step(state, shard(BATCH))
        return jax_utils.unreplicate(state.params), loss[0]


RESULT = [np.asarray(x) for x in jax.tree.leaves(Trainer().fit())]
