"""The body is also called without any mapping, on one batch with no axis to squeeze."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def predict(params, x):
    return jnp.tanh(x @ params["w"]) * x.shape[0]


p_predict = jax.pmap(predict)
params = {"w": jnp.sin(jnp.arange(6.0)).reshape(3, 2)}
x = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)
RESULT = {"one": predict(params, x), "eight": p_predict(jax_utils.replicate(params), shard(x))}
