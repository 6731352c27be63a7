import equinox as eqx
import jax

step = eqx.filter_pmap(lambda x: 2 * x, axis_name="i")  # JM420
count = jax.device_count()
