"""An experiment binds its step to a key, then to a scan, and maps that, each time under the same attribute."""
import functools
from abc import ABC, abstractmethod

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


@flax.struct.dataclass
class State:
    step: jax.Array
    params: jax.Array


class Experiment(ABC):
    def __init__(self, seed):
        self.rng, self.scale = jax.random.PRNGKey(seed), 0.1
        self.rate = self.get_rate()
        self.state = State(jnp.zeros((), int), self.get_params())
        self.rng, train_rng = jax.random.split(self.rng)
        self.p_train_step = functools.partial(self.train_step, train_rng)
        self.p_train_step = functools.partial(jax.lax.scan, self.p_train_step)
        self.p_train_step = jax.pmap(self.p_train_step, "batch")  # expect: replicated, split -> replicated, replicated
        self.p_eval_step = functools.partial(self.eval_step, scale=2.0)
        self.p_eval_step = jax.pmap(self.p_eval_step, "batch")  # expect: replicated, split -> replicated

    def get_rate(self):
        first = self.scale
        return lambda step: first / (1.0 + step)

    @abstractmethod
    def get_params(self): ...

    @abstractmethod
    def loss_fn(self, params, batch, rng): ...

    def train_step(self, base_rng, state, batch):
        rng = jax.random.fold_in(base_rng, jax.lax.axis_index("batch"))
        rng = jax.random.fold_in(rng, state.step)
        loss, grads = jax.value_and_grad(self.loss_fn)(state.params, batch, rng)
        grads = jax.lax.pmean(grads, "batch")
        state = state.replace(step=state.step + 1, params=state.params - self.rate(state.step) * grads)
        return state, {"scalars": jax.lax.pmean({"loss": loss}, "batch")}

    def eval_step(self, params, batch, scale):
        return jax.lax.pmean({"mean": jnp.mean(batch @ params) * scale}, axis_name="batch")

    def train(self, batches):
        state, found = jax_utils.replicate(self.state), []
        for batch in batches:
            state, metrics = self.p_train_step(state, shard(batch))
            scalars = jax_utils.unreplicate(metrics["scalars"])
            found.append((int(state.step[0]), jax.tree.map(lambda x: float(x.mean()), scalars)))
            found.append(float(self.p_eval_step(state.params, shard(batch[:, 0]))["mean"][0]))
        return found, np.asarray(jax_utils.unreplicate(state).params)


class Linear(Experiment):
    def get_params(self):
        return jnp.sin(jnp.arange(3.0))

    def loss_fn(self, params, batch, rng):
        return jnp.mean((batch @ params - jax.random.normal(rng, batch.shape[:1])) ** 2)


def batches():
    for i in range(3):
        yield jnp.sin(jnp.arange(16 * 2 * 3.0) + i).reshape(16, 2, 3)


RESULT = Linear(0).train(batches())
