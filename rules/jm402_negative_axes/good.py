import jax

double = jax.pmap(lambda x: 2 * x, axis_name="batch", in_axes=1)
