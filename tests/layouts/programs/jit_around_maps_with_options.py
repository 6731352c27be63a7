"""What compiles a map once more and donates, or is no jit of JAX's, or compiles more than the map."""

import types

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def update(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: ((x @ w) ** 2).mean())(w), "i")


own = types.SimpleNamespace(jit=lambda f: lambda *args: f(*args) * jnp.arange(8.0)[:, None])
p_donates = jax.jit(jax.pmap(update, axis_name="i"), donate_argnums=0)
p_other = own.jit(jax.pmap(update, axis_name="i"))
p_plain = jax.pmap(update, axis_name="i")
p_more = jax.jit(lambda w, x: p_plain(w, x).sum(0))

w = jax_utils.replicate(jnp.ones(3))
w = p_donates(w, shard(BATCH))
RESULT = [p_other(w, shard(BATCH)), p_more(w, shard(BATCH)), jax_utils.unreplicate(w)]
