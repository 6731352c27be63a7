"""An experiment of jaxline: what its table says to hold a slice for each device moves to the table of whole arrays."""
import jax
import jax.numpy as jnp
import numpy as np
from jaxline import base_config, experiment, train, utils

DATA = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
RESULT = []


class Experiment(experiment.AbstractExperiment):
    # What checkpoints hold.
    CHECKPOINT_ATTRS = {
        "_params": "params",
        "_momentum": "momentum",
        "_seen": "seen",  # by each device
    }

    def __init__(self, mode, init_rng):
        super().__init__(mode=mode, init_rng=init_rng)
        self._init_rng = init_rng
        self._params = None
        self._momentum = None
        self._seen = None
        self._input = None
        self._update = jax.pmap(self._update_fn, axis_name="i", donate_argnums=(0, 1))  # expect: replicated, replicated, stacked, split, stacked -> replicated, replicated, stacked, replicated
        self._eval = jax.pmap(self._eval_fn, axis_name="i")  # expect: replicated, split -> replicated

    def step(self, *, global_step, rng, writer):
        if self._input is None:
            self._initialize()
        batch = next(self._input)
        self._params, self._momentum, self._seen, scalars = self._update(
            self._params, self._momentum, self._seen, batch, rng
        )
        return utils.get_first(scalars)

    def _initialize(self):
        self._input = utils.py_prefetch(self._batches)
        if self._params is None:
            init = jax.pmap(lambda key: jax.random.normal(key, (3,)))  # expect: replicated -> replicated
            self._params = init(utils.bcast_local_devices(self._init_rng))
            self._momentum = utils.bcast_local_devices(jnp.zeros(3))
            self._seen = jax.pmap(lambda p: jax.lax.axis_index("i") + 0 * p.sum(), axis_name="i")(self._params)  # expect: replicated -> stacked

    def _batches(self):
        for i in range(4):
            x = DATA * (i + 1)
            yield x.reshape((jax.local_device_count(), -1) + x.shape[1:])

    def _update_fn(self, params, momentum, seen, batch, rng):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch @ p - 1) ** 2))(params)
        seen = seen + batch.sum() + jax.random.uniform(rng)
        loss, grads = jax.lax.pmean((loss, grads), "i")
        momentum = 0.5 * momentum + grads
        return params - 0.01 * momentum, momentum, seen, {"loss": loss}

    def evaluate(self, *, global_step, rng, writer):
        x = DATA[::-1]
        errors = self._eval(self._params, x.reshape((jax.local_device_count(), -1) + x.shape[1:]))
        kept = utils.get_first(self._params)
        return {"error": utils.get_first(errors), "third": kept // 3, "seen": self._seen, "step": global_step}

    def _eval_fn(self, params, batch):
        return jax.lax.psum(jnp.sum(batch @ params), "i")


class Writer:
    def write_scalars(self, global_step, scalars):
        RESULT.append((global_step, dict(scalars)))


config = base_config.get_base_config()
checkpointer = utils.InMemoryCheckpointer(config, "train")
train.train(Experiment, config, checkpointer, Writer())
train.evaluate(Experiment, config, checkpointer, Writer(), "eval")
for snapshot in utils.GLOBAL_CHECKPOINT_DICT["latest"].history:
    RESULT += jax.tree.leaves(dict(snapshot.pickle_nest))
