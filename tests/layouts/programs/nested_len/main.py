"""How many parts a tuple in a tuple has, its slices and its order from behind decide what is read."""
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from steps import p_step

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
w = jax_utils.replicate(jnp.ones(3))
found = []
for i in range(3):
    w, metrics = p_step(w, shard(BATCH))
    rest, last = metrics[:-1], metrics[-1]
    found += [len(metrics), len(rest), np.asarray(last).sum(), np.asarray(metrics[i]).sum()]
    found += [np.asarray(m).sum() for m in reversed(metrics)] + [np.asarray(m).sum() for m in rest[::-1]]
RESULT = [found, np.asarray(w)[0], np.mean(metrics[0]), np.std(np.asarray(metrics[1]))]
