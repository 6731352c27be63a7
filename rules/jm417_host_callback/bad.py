import jax
from jax.experimental import host_callback as hcb  # JM417


@jax.jit
def shown(x):
    return hcb.id_print(x)  # JM417
