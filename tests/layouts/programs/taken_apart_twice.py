"""unreplicate of part of what unreplicate gave: flax takes the first element, unless the array lies on all devices."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

x = np.random.RandomState(0).normal(size=(16, 3)).astype(np.float32)


def step(s, x):
    return {"w": s["w"] - 0.1 * jax.lax.pmean(x.mean(0), "batch")}


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
s = jax_utils.replicate({"w": jnp.arange(3.0)})  # careless: s = {"w": jnp.arange(3.0)}
batch = shard(x)  # careless: batch = x
s = p_step(s, batch)
once = jax_utils.unreplicate(s)  # careless: once = s
RESULT = [jax_utils.unreplicate(jax_utils.unreplicate(s)["w"]), jax_utils.unreplicate(once["w"])]  # careless: RESULT = [s["w"], s["w"]]
