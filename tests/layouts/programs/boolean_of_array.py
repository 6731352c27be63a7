"""A replicated flag on which the host branches by all() and any()."""
import jax
import jax.numpy as jnp
import numpy as np

p_check = jax.pmap(lambda x: (jax.lax.pmax(x.max(), "i") > 5.0, x.max() > 5.0), axis_name="i")
anywhere, here = p_check(np.arange(16, dtype=np.float32).reshape(8, 2))
RESULT = [bool(anywhere.all()), bool(here.all()), bool(here.any()), int(np.count_nonzero(here)), int(anywhere.sum())]
