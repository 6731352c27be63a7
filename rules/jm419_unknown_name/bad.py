import jax
from jax.interpreters.xla import backend_specific_translations  # JM419

rows = jax.pmap(lambda x: 2 * x, axis_name="i")
table = jax.interpreters.xla.initial_style_translations  # JM419
