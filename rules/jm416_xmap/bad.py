import jax
from jax.experimental.maps import xmap  # JM416

rows = xmap(lambda x: 2 * x, in_axes=["i", ...], out_axes=["i", ...], axis_resources={"i": "x"})
count = jax.device_count()
