"""A trainer holds its maps as attributes and in a dictionary; of its state the statistics are each device's own."""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard
from flax.training.train_state import TrainState


class State(TrainState):
    stats: Any


p_mean = jax.pmap(lambda s: jax.lax.pmean(s, "batch"), axis_name="batch")  # expect: stacked -> stacked


class Trainer:
    def __init__(self):
        state = State.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.sgd(0.1), stats=jnp.zeros(3))
        self.state = jax_utils.replicate(state)
        self.p_train_step = jax.pmap(self.train_step, axis_name="batch")  # expect: replicated, stacked, split -> replicated, stacked, replicated
        self.steps = {"eval": jax.pmap(self.eval_step, axis_name="batch")}  # expect: replicated, stacked, split -> replicated

    def train_step(self, state, batch):
        grads = jax.grad(lambda p: jnp.mean((batch @ p["w"] - state.stats.sum()) ** 2))(state.params)
        grads = jax.lax.pmean(grads, "batch")
        stats = 0.9 * state.stats + 0.1 * batch.mean(0)
        return state.apply_gradients(grads=grads).replace(stats=stats), jax.lax.pmean(grads["w"].sum(), "batch")

    def eval_step(self, state, batch):
        return jax.lax.pmean(jnp.mean(batch @ state.params["w"] + state.stats.sum()), "batch")

    def run(self):
        seen = []
        for i in range(3):
            x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
            self.state, total = self.p_train_step(self.state, shard(x))
            seen.append(float(jax_utils.unreplicate(total)))
            self.state = self.state.replace(stats=p_mean(self.state.stats))
            seen.append(float(jax_utils.unreplicate(self.steps["eval"](self.state, shard(x)))))
        return seen


trainer = Trainer()
RESULT = [trainer.run(), np.asarray(jax_utils.unreplicate(trainer.state.params)["w"])]
