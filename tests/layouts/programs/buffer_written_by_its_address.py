"""A buffer that C code writes into by its address, after it has been cut up for the devices."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

p_step = jax.pmap(lambda w, x: w + jax.lax.pmean(x.sum(0), "i"), axis_name="i")
buffer = np.ones((16, 3), np.float32)
w = jax_utils.replicate(jnp.zeros(3))
batch = shard(buffer)
ctypes.memset(buffer.ctypes.data, 0, buffer.nbytes // 2)
w = p_step(w, batch)
RESULT = np.asarray(w[0]).tolist()
