"""Trains and evaluates experiments."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxline import utils


def train(
    experiment_class: Any, config: Any, checkpointer: Any, writer: Any, periodic_actions: Sequence[Any] = ()
) -> None:
    """Trains, with a checkpoint now and then."""
    train_step_rng, init_rng = jax.random.split(jax.random.PRNGKey(config.random_seed))
    experiment = experiment_class("train", init_rng=init_rng, **config.experiment_kwargs)
    state = checkpointer.get_experiment_state("latest")
    state.global_step = 0
    state.experiment_module = experiment
    state.train_step_rng = experiment.initialize_train_step_rng(train_step_rng)
    if checkpointer.can_be_restored("latest"):
        checkpointer.restore("latest")

    def act(step: int, scalars: Any) -> None:
        if step % config.save_checkpoint_interval == 0:
            checkpointer.save("latest")
        if step % config.log_train_data_interval == 0:
            writer.write_scalars(step, jax.device_get(scalars))

    experiment.train_loop(config, state, (*periodic_actions, act), writer)
    checkpointer.save("latest")


def evaluate(experiment_class: Any, config: Any, checkpointer: Any, writer: Any, jaxline_mode: str) -> None:
    """Evaluates the last checkpoint."""
    rng = jax.random.PRNGKey(config.random_seed)
    experiment = experiment_class(jaxline_mode, init_rng=rng, **config.experiment_kwargs)
    state = checkpointer.get_experiment_state("latest")
    state.global_step, state.experiment_module, state.train_step_rng = 0, experiment, None
    keys = jnp.broadcast_to(rng, (jax.local_device_count(), *rng.shape))
    mode = config.random_mode_eval
    specialize = functools.partial(utils.specialize_rng_host_device, axis_name="i", mode=mode)
    keys = jax.pmap(specialize, axis_name="i")(keys, utils.host_id_devices_for_rng(mode))
    checkpointer.restore("latest")
    step = utils.bcast_local_devices(jnp.asarray(state.global_step))
    writer.write_scalars(state.global_step, experiment.evaluate(global_step=step, rng=keys, writer=writer))
