import functools

import jax

if jax.device_count() > 1:
    parallel = functools.partial(jax.pmap, axis_name="batch")
else:
    parallel = functools.partial(jax.vmap, axis_name="batch")

double = parallel(lambda x: 2 * x)
