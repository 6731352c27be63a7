"""Results clipped and scaled by bounds that stars spread, some of which have a row for each device."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
p_predict = jax.pmap(lambda w, x: x @ w)
w = jax_utils.replicate(jnp.sin(jnp.arange(6.0)).reshape(3, 2))
out, other, third, fourth = (p_predict(w, shard(BATCH + i)) for i in range(4))
bounds = (-0.5, 0.5)
by_name = {"min": np.linspace(-1, 0, 8, dtype=np.float32)[:, None, None], "max": 1.0}
clipped = jnp.clip(out, *bounds)
given = (other, -0.25, 0.25)
spread = jnp.clip(*given)
named = jnp.clip(third, **by_name)
rows = [fourth]
RESULT = {
    "clipped": np.asarray(clipped.reshape(-1, 2)),
    "spread": np.asarray(spread.reshape(-1, 2)),
    "named": np.asarray(named.reshape(-1, 2)),
    "joined": np.concatenate(*[rows]),
    "part": np.concatenate(*rows).shape,
}


def scaled(low, high, *arrays):
    clip = functools.partial(jnp.clip, min=low, max=high)
    least = functools.partial(jnp.maximum, low)
    return [np.asarray(least(clip(one)).reshape(-1, 2)) for one in arrays] + [np.asarray(x) for x in map(jnp.abs, arrays)]


fifth, sixth = (p_predict(w, shard(BATCH - i)) for i in range(2))
bound = functools.partial(fifth.clip, np.linspace(-1, 0, 8, dtype=np.float32)[:, None, None])
RESULT["bound"] = np.asarray(bound(1.0).reshape(-1, 2))
RESULT["scaled"] = scaled(-0.5, 0.5, sixth)
