"""Checkpoints of attributes by their names."""
from types import SimpleNamespace

import numpy as np
from jaxline import utils


class Keeper:
    def __init__(self):
        self.state = SimpleNamespace()
        self.kept = []

    def get_experiment_state(self, ckpt_series):
        return self.state

    def save(self, ckpt_series):
        held = self.state.experiment_module
        names = held.CHECKPOINT_ATTRS.items()
        self.kept.append({name: np.array(utils.get_first(getattr(held, attribute))) for attribute, name in names})

    def can_be_restored(self, ckpt_series):
        return bool(self.kept)

    def restore(self, ckpt_series):
        for attribute, name in self.state.experiment_module.CHECKPOINT_ATTRS.items():
            setattr(self.state.experiment_module, attribute, utils.bcast_local_devices(self.kept[-1][name]))
