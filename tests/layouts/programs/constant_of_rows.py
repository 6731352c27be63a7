"""What fills an array is no number: a column with a value for each device, or something from out of sight."""
import json

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
CONFIG = json.loads('{"rate": 0.5, "rates": [[0], [1], [2], [3], [4], [5], [6], [7]]}')
p_norm = jax.pmap(lambda x: (jax.lax.psum(jnp.sum(x * jnp.arange(3.0)), "batch"), x), axis_name="batch")


def main():
    found = []
    column = np.arange(N)[:, None]
    for filled in (column, jnp.asarray(CONFIG["rates"]), CONFIG["rate"], jnp.arange(3)):
        total, rows = p_norm(jnp.full((N, 3), filled, dtype=jnp.float32))
        found += [jax_utils.unreplicate(total), rows[3]]
    total, _ = p_norm(np.full((N, 3), column))
    one, _ = p_norm(np.full((N, 3), fill_value=CONFIG["rates"]))
    return [*found, jax_utils.unreplicate(total), jax_utils.unreplicate(one)]


RESULT = main()
