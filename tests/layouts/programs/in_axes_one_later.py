"""The output of one mapped function is mapped over another axis by the next."""
import jax
import jax.numpy as jnp
import numpy as np

outer = jax.pmap(lambda x: jax.lax.pmean(x, "i") + jnp.arange(8.0), axis_name="i")
inner = jax.pmap(lambda column: column.sum() - column[0], axis_name="i", in_axes=1)
table = outer(np.sin(np.arange(8, dtype=np.float32)))
RESULT = {"table": table[0], "sums": inner(jax.device_get(table))}
