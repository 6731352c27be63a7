"""A class made by a call of type holds a state as its attribute."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

x = np.random.RandomState(0).normal(size=(16, 3)).astype(np.float32)


def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
w = jax_utils.replicate(jnp.arange(3.0))  # careless: w = jnp.arange(3.0)
kept = type("Kept", (), {"w": w}).w
batch = shard(x)  # careless: batch = x
w = p_step(w, batch)
RESULT = [w[0], kept[0]]  # careless: RESULT = [w, kept[0]]
