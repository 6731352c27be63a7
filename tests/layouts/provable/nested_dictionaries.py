"""Parts of a replicated tree go into one step, other parts into another."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def encode(encoder, x):
    return jnp.tanh(x @ encoder["w"])


def train_step(params, x):
    def loss(params):
        return jnp.mean((encode(params["encoder"], x) @ params["head"] - 1) ** 2)

    grads = jax.lax.pmean(jax.grad(loss)(params), "batch")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


p_train_step = jax.pmap(train_step, axis_name="batch")  # expect: replicated, split -> replicated
p_encode = jax.pmap(encode)  # expect: replicated, split -> split
params = {"encoder": {"w": jnp.sin(jnp.arange(6.0)).reshape(3, 2)}, "head": jnp.ones(2)}
params = jax_utils.replicate(params)
x = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
for i in range(3):
    params = p_train_step(params, shard(x + i))
codes = p_encode(params["encoder"], shard(x))
RESULT = {"codes": np.asarray(codes).reshape(-1, 2), "params": jax_utils.unreplicate(params)}
