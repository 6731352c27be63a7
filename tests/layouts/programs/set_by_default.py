"""A state that setdefault puts into a dictionary and get takes out again."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

x = np.random.RandomState(0).normal(size=(16, 3)).astype(np.float32)


def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
kept = {}
w = jax_utils.replicate(jnp.arange(3.0))  # careless: w = jnp.arange(3.0)
kept.setdefault("w", w)
batch = shard(x)  # careless: batch = x
w = p_step(w, batch)
RESULT = [w[0], kept.get("w")[0], kept.setdefault("w", None)[0]]  # careless: RESULT = [w, kept.get("w")[0], kept["w"][0]]
