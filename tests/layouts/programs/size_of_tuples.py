"""What is told the length of is a tuple of arrays, or a list, as well as one array."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return w + jax.lax.pmean(x.mean(0), "i"), x * w


p_step = jax.pmap(step, axis_name="i")
w, x = jax_utils.replicate(jnp.ones(3)), shard(X)
pair = p_step(w, x)
every = [x, w]
seen = []
for one in (pair, every, pair[0], [x]):
    seen.append(len(one))
RESULT = [seen, len(pair), len(every), len(pair[0]), len(x), *map(np.asarray, pair)]
