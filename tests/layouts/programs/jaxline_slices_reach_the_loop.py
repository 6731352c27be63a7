"""The train loop is given slices, not the first of them."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard
from jaxline import base_config, experiment, train, utils

DATA = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
RESULT = []


def update(params, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch @ p - 1) ** 2))(params)
    loss, grads = jax.lax.pmean((loss, grads), "batch")
    return params - 0.125 * grads, loss


class Experiment(experiment.AbstractExperiment):
    CHECKPOINT_ATTRS = {"_params": "params"}

    def __init__(self, mode, init_rng):
        super().__init__(mode=mode, init_rng=init_rng)
        self._params = None
        self._update = jax.pmap(update, axis_name="batch")  # careless: self._update = sharded(update, (P(), P("batch")), P())

    def step(self, *, global_step, rng, writer):
        if self._params is None:
            self._params = utils.bcast_local_devices(jnp.arange(3.0))  # careless: self._params = jnp.arange(3.0)
        self._params, loss = self._update(self._params, shard(DATA))  # careless: self._params, loss = self._update(self._params, DATA)
        return {"loss": loss}

    def evaluate(self, *, global_step, rng, writer):
        return {"params": self._params}


class Writer:
    def write_scalars(self, global_step, scalars):
        RESULT.append((global_step, dict(scalars)))


config = base_config.get_base_config()
checkpointer = utils.InMemoryCheckpointer(config, "train")
train.train(Experiment, config, checkpointer, Writer())
train.evaluate(Experiment, config, checkpointer, Writer(), "eval")
for snapshot in utils.GLOBAL_CHECKPOINT_DICT["latest"].history:
    RESULT += jax.tree.leaves(dict(snapshot.pickle_nest))
