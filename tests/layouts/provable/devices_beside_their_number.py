"""A function gives the devices and their number, as a tuple; static methods of a runner make the map and what it takes."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


class Runner:
    @staticmethod
    def prepare_devices(backend):
        num_devices = jax.local_device_count(backend=backend)
        devices = jax.local_devices(backend=backend)
        if jax.process_index() == 0:
            print(num_devices)
        return {"seed": 0}, devices, num_devices

    @staticmethod
    def prepare_step(devices):
        return jax.pmap(step, axis_name="i", devices=devices)  # expect: replicated, split -> replicated, replicated

    @staticmethod
    def start(devices):
        return jax_utils.replicate(jnp.ones(3), devices)

    @staticmethod
    def fit(p_step, w, num_devices):
        for _ in range(3):
            w, loss = p_step(w, BATCH.reshape(num_devices, -1, 3))
        return w[0], loss[0]


def main(backend):
    config, devices, num_devices = Runner.prepare_devices(backend)
    config["devices"] = num_devices
    w = Runner.start(devices=devices)
    return Runner.fit(Runner.prepare_step(devices), w, num_devices)


RESULT = main("cpu")
