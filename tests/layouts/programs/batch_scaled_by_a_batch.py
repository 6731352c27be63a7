"""Results multiplied by one another, by an array of weights for each device, and by a column: shapes that broadcast."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(24, dtype=np.float32)).reshape(8, 3)
p_predict = jax.pmap(lambda w, x: (x @ w, (x @ w)[:, None]))
w = jax_utils.replicate(jnp.ones(3))
one, column = p_predict(w, shard(BATCH))
weights = np.arange(8.0, dtype=np.float32)[:, None]
wide = one - column
two, _ = p_predict(w, shard(BATCH))
weighted = two * weights
RESULT = {
    "wide": np.asarray(wide.reshape(wide.shape[0], -1)),
    "weighted": np.asarray(weighted.reshape(-1, 1)),
    "shape": np.asarray(wide.shape),
}
