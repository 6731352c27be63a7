"""A step of a module that knows nothing of maps is given a stacked array: somebody has to drop its device axis."""
import jax
import jax.numpy as jnp
import numpy as np
import steps
from flax import jax_utils
from flax.training.common_utils import shard

x = np.random.RandomState(0).normal(size=(16, 3)).astype(np.float32)
p_step = jax.pmap(steps.step, axis_name="batch")  # careless: p_step = sharded(steps.step, (P(), P("batch"), P("batch")), P())
state = jax_utils.replicate(jnp.ones(3))  # careless: state = jnp.ones(3)
apart = jax.pmap(lambda x: x.mean(0), axis_name="batch")(shard(x))
batch = shard(x)  # careless: batch = x
state = p_step(state, batch, apart)
RESULT = state[0]  # careless: RESULT = state
