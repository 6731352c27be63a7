"""A function lists the devices that a configuration asks for; others are given the list, or how many it has."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from training import make_step, spread

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


class Config:
    num_devices: int = 4


def get_devices(config):
    return jax.devices()[: config.num_devices]


def main(config):
    devices = get_devices(config)
    p_step = make_step(devices)
    w = jax_utils.replicate(jnp.ones(3), devices)
    for _ in range(3):
        w, loss = p_step(w, spread(BATCH, len(devices)))
    return jax.device_get(jax.tree_util.tree_map(lambda x: x[0], w)), float(loss[0])


RESULT = main(Config())
