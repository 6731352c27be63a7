"""The base of experiments."""

import abc
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxline import utils


class AbstractExperiment(abc.ABC):
    """An experiment: attributes in the first table hold one slice for each device, those in the second do not."""

    CHECKPOINT_ATTRS: Mapping[str, str] = {}
    NON_BROADCAST_CHECKPOINT_ATTRS: Mapping[str, str] = {}

    @abc.abstractmethod
    def __init__(self, mode: str, init_rng: jax.Array | None = None) -> None:
        pass

    def initialize_train_step_rng(self, rng: jax.Array) -> Any:
        """The first key of the train loop, on all devices."""
        return utils.bcast_local_devices(rng)

    @abc.abstractmethod
    def step(self, *, global_step: Any, rng: Any, writer: Any) -> Any:
        """One step of training."""

    @abc.abstractmethod
    def evaluate(self, *, global_step: Any, rng: Any, writer: Any) -> Any:
        """The whole evaluation."""

    def should_run_step(self, global_step: int, config: Any) -> bool:
        """Whether training goes on."""
        return bool(global_step < config.training_steps)

    def train_loop(self, config: Any, state: Any, periodic_actions: Sequence[Any], writer: Any = None) -> None:
        """Steps, each with its number and a key on every device."""

        @functools.partial(jax.pmap, axis_name="i")
        def next_device_state(global_step: Any, rng: Any, host_id: Any) -> Any:
            step_rng, state_rng = tuple(jax.random.split(rng))
            mode = config.random_mode_train
            return global_step + 1, (utils.specialize_rng_host_device(step_rng, host_id, "i", mode), state_rng)

        on_devices = np.broadcast_to(state.global_step - 1, [jax.local_device_count()])
        host_id = utils.host_id_devices_for_rng(config.random_mode_train)
        while self.should_run_step(state.global_step, config):
            on_devices, (key, state.train_step_rng) = next_device_state(on_devices, state.train_step_rng, host_id)
            scalars = self.step(global_step=on_devices, rng=key, writer=writer)
            state.global_step += 1
            for action in periodic_actions:
                action(state.global_step, scalars)

    def snapshot_state(self) -> Mapping[str, Any]:
        """What a checkpoint holds."""
        first = {name: utils.get_first(getattr(self, attr)) for attr, name in self.CHECKPOINT_ATTRS.items()}
        return first | {name: getattr(self, attr) for attr, name in self.NON_BROADCAST_CHECKPOINT_ATTRS.items()}

    def restore_from_snapshot(self, snapshot_state: Mapping[str, Any]) -> None:
        """Goes back to what a checkpoint holds."""
        for attr in (*self.CHECKPOINT_ATTRS, *self.NON_BROADCAST_CHECKPOINT_ATTRS):
            if hasattr(self, attr):
                delattr(self, attr)
        for attr, name in self.CHECKPOINT_ATTRS.items():
            setattr(self, attr, utils.bcast_local_devices(snapshot_state[name]))
        for attr, name in self.NON_BROADCAST_CHECKPOINT_ATTRS.items():
            setattr(self, attr, snapshot_state[name])
