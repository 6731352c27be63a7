"""A loop that goes down an attribute of functions from a library, as far as there are any."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
ACTIVATIONS = {"tanh": jnp.tanh, "relu": jax.nn.relu, "gelu": functools.partial(jax.nn.gelu, approximate=False)}


def name_of(function):
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", "")


def step(w, x):
    return w + jax.lax.pmean(ACTIVATIONS["tanh"](x @ w), "batch").sum()


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3))
names = [name_of(function) for function in ACTIVATIONS.values()]
for function in ACTIVATIONS.values():
    names.append(name_of(function))
w = p_step(w, shard(BATCH))
RESULT = [w[0], len(names)]
