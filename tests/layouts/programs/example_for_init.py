"""The first device of the first batch is what the parameters are made from."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

import flax.linen as nn

model = nn.Dense(2)
batches = [shard({"x": BATCH + i}) for i in range(2)]
params = model.init(jax.random.PRNGKey(0), batches[0]["x"][0])
params = jax_utils.replicate(params)
p_apply = jax.pmap(model.apply)
outs = [p_apply(params, batch["x"]) for batch in batches]
RESULT = [np.concatenate([np.concatenate(list(out)) for out in outs]), outs[0].shape]
