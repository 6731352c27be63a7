"""A module imports itself and passes itself to a helper that reads a variable."""
import flax.jax_utils
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

n = jax.local_device_count()
X = np.sin(np.arange(n * 6, dtype=np.float32)).reshape(n * 2, 3)


def step(w, x):
    g = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "i")
    return w - 0.1 * g, jax.lax.pmean(jnp.sum(x), "i")


p_step = jax.pmap(step, axis_name="i")

def tell(mod):
    return np.asarray(mod.state).sum()
import main as me
state = jnp.ones(3)
state = flax.jax_utils.replicate(state)
state, loss = p_step(state, shard(X))
RESULT = [tell(me) if hasattr(me, "state") else 0, np.asarray(flax.jax_utils.unreplicate(state))]
