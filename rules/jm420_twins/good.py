import equinox as eqx
import jax

step = eqx.filter_jit(lambda x: 2 * x)
count = jax.device_count()
