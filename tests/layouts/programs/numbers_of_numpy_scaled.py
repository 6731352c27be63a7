"""NumPy's arithmetic gives single numbers other dtypes than arrays: averaged losses that are scaled on the host."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
p_loss = jax.pmap(lambda w, x: jax.lax.pmean(jnp.mean(x @ w), "i"), axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
loss = np.asarray(p_loss(w, shard(BATCH)))
scaled = loss * 0.1
fetched = jax.device_get(p_loss(w, shard(BATCH))) / 3
RESULT = {"scaled": scaled[0], "dtype": str(scaled.dtype), "more": fetched[0], "other": str(fetched.dtype)}
