import jax
import numpy as np
class Spoiler:
    def spoil(self):
        self.state = np.ones((jax.local_device_count(), 3), np.float32) * np.arange(jax.local_device_count(), dtype=np.float32)[:, None]
