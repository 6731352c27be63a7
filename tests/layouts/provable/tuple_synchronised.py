"""A map gives back the tuple that it is given, averaged: the host unpacks it again."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_of(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def data(i):
    return shard(jnp.asarray(np.sin(np.arange(96, dtype=np.float32) + i)).reshape(32, 3))


def stepped(w, ema, x):
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(w, x), "i")
    w = w - 0.1 * grads
    return w, 0.9 * ema + 0.1 * w, loss


step = jax.pmap(stepped, "i")  # expect: replicated, replicated, split -> replicated, replicated, replicated


def synchronise(state):
    return jax.lax.pmean(state, "i")


synchronised = jax.pmap(synchronise, "i")  # expect: replicated -> replicated
w, ema = jax_utils.replicate((jnp.linspace(0.1, 1.0, 3), jnp.zeros(3)))
for i in range(3):
    w, ema, loss = step(w, ema, data(i))
    w, ema = synchronised((w, ema))
RESULT = [jax_utils.unreplicate(w), jax_utils.unreplicate(ema), jax_utils.unreplicate(loss)]
