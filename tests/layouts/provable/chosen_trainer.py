"""The trainer is chosen by name, among them one that no file of the program has."""
import os
import typing
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Trainer:
    def __init__(self):
        self.p_step = jax.pmap(self.step, axis_name="batch")  # expect: replicated, split -> replicated

    def step(self, params, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(params)
        return params - 0.1 * jax.lax.pmean(grad, "batch")

    def train(self, batches):
        params = jax_utils.replicate(jnp.zeros(3))
        for x in batches:
            params = self.p_step(params, shard(x))
        return jax_utils.unreplicate(params)


Steps = typing.TypeVar("Steps")


class Named(typing.Generic[Steps]):
    name = "train"


MakeTrainer = typing.Callable[[str, list[np.ndarray]], Trainer]  # types are no uses of the class
NamedTrainer = typing.Union[Named[Trainer], Trainer, None]


def train(batches):
    return Trainer().train(batches)


def choose(name: str):
    chosen = train
    if name == "environment":
        chosen = os.environ["TRAINER"]
    return chosen


RESULT = choose("train")([np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3) for i in range(3)])
