import jax
from jax.experimental.pjit import pjit  # JM413

double = pjit(lambda x: 2 * x)
length = jax.device_count()
