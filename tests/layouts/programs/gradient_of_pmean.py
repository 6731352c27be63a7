"""A gradient through pmean has one part on each device; only the sum over devices is the gradient."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    def loss(w):
        return jax.lax.pmean(jnp.mean(jnp.square(x @ w - 1)), "batch")

    return jax.value_and_grad(loss)(w)


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
x = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
loss, grad = p_step(jax_utils.replicate(jnp.zeros(3)), shard(x))  # careless: loss, grad = p_step(jnp.zeros(3), x)
RESULT = {"loss": loss[0], "grad": np.asarray(grad).mean(0)}  # careless: RESULT = {"loss": loss, "grad": np.asarray(grad)}
