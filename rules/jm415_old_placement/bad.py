import jax
from jax.sharding import PositionalSharding  # JM415


def replicated(x):
    return jax.device_put_replicated(x, jax.local_devices()), PositionalSharding(jax.devices())  # JM415
