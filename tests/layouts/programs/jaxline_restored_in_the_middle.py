"""Every second step goes back to what was kept before the next step took the buffers."""
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
    CHECKPOINT_ATTRS = {"_params": "params", "_count": "count"}

    def __init__(self, mode, init_rng):
        super().__init__(mode=mode, init_rng=init_rng)
        self._params = None
        self._count = utils.bcast_local_devices(np.int32(7))
        self._kept = None
        self._update = jax.pmap(update, axis_name="batch", donate_argnums=(0,))

    def step(self, *, global_step, rng, writer):
        if self._params is None:
            self._params = utils.bcast_local_devices(jnp.arange(3.0))
        if self._kept is not None:
            self.restore_from_snapshot(self._kept)
            self._kept = None
        else:
            self._kept = self.snapshot_state()
        self._params, loss = self._update(self._params, shard(DATA))
        self._count = jax.pmap(lambda n: n + 1)(self._count)
        return {"loss": utils.get_first(loss), "third": utils.get_first(self._count) / 3}

    def evaluate(self, *, global_step, rng, writer):
        return {"third": utils.get_first(self._count) / 3, "dtype": str((utils.get_first(self._count) / 3).dtype), "params": utils.get_first(self._params)}


class Writer:
    def write_scalars(self, global_step, scalars):
        RESULT.append((global_step, dict(scalars)))


config = base_config.get_base_config()
checkpointer = utils.InMemoryCheckpointer(config, "train")
train.train(Experiment, config, checkpointer, Writer())
train.evaluate(Experiment, config, checkpointer, Writer(), "eval")
for snapshot in utils.GLOBAL_CHECKPOINT_DICT["latest"].history:
    RESULT += jax.tree.leaves(dict(snapshot.pickle_nest))
