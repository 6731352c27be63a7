"""A trainer counts the devices unless it is told how many to use, and one of two is told."""
import jax
import jax.numpy as jnp
import numpy as np

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def norm(x):
    return jax.lax.psum(1.0, "i"), jax.lax.pmean((x**2).sum(), "i")


class Trainer:
    def __init__(self, num_devices=None):
        self.num_devices = num_devices if num_devices is not None else jax.local_device_count()
        self.norm = jax.pmap(norm, axis_name="i")

    def run(self):
        count, found = self.norm(BATCH.reshape((self.num_devices, -1, *BATCH.shape[1:])))  # careless: count, found = self.norm(BATCH.reshape((jax.device_count(), -1, *BATCH.shape[1:])))
        return count[0], found[0]


RESULT = [float(x) for trainer in (Trainer(), Trainer(4)) for x in trainer.run()]
