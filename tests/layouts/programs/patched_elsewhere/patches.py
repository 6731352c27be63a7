import jax

import helpers


def uneven(*args):
    return args[-1] * (1 + jax.lax.axis_index("batch"))


helpers.scale = uneven
