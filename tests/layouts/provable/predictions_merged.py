"""An output split as the batch is, merged at once by a reshape."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

p_predict = jax.pmap(lambda w, x: jnp.tanh(x @ w))  # expect: replicated, split -> split
w = jax_utils.replicate(jnp.sin(jnp.arange(6.0)).reshape(3, 2))
x = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
out = p_predict(w, shard(x))
RESULT = np.asarray(out.reshape((-1, 2)))
