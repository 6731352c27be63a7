"""A method that is found in what `vars` of its class gives, and called with stacked arrays of another kind."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
p_step = jax.pmap(lambda w, x: w - jax.lax.pmean(x.mean(0), "batch"), axis_name="batch")


class Run:
    rate = 2

    def take(w, x):
        return p_step(w, x) * Run.rate


first = Run.take(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
second = vars(Run)["take"](np.arange(24, dtype=np.float32).reshape(8, 3), shard(BATCH))
RESULT = {"first": first[0], "second": np.asarray(second)}
