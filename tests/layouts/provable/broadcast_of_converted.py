"""Copies of what is made an array first: its shape is that of what it is made of."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax


def to_all(value):
    devices = jax.local_devices()
    return jax.tree.map(lambda v: jnp.broadcast_to(jnp.asarray(v), (len(devices),) + jnp.shape(v)), value)


def step(w, rate, x):
    return w - rate * lax.pmean((x @ w).mean(), "batch"), rate * 0.5


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, split -> replicated, replicated
state = to_all({"w": np.ones(3, np.float32)})
w, rate = state["w"], to_all(0.5)
for i in range(3):
    w, rate = p_step(w, rate, shard(np.arange(48, dtype=np.float32).reshape(16, 3) + i))
RESULT = [np.asarray(one) for one in jax_utils.unreplicate((w, rate))]
