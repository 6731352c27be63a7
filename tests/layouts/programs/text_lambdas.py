"""replicate and shard inside lambdas, comprehensions and arguments."""
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

prepare = lambda w: jax_utils.replicate(w)
train = lambda w, *xs: functools.reduce(lambda w, x: p_step(w, shard(x)), xs, w)
ws = [p_step(jax_utils.replicate(jnp.full(3, float(i))), shard(BATCH)) for i in range(2)]
w = train(prepare(jnp.ones(3)), BATCH, BATCH + 1)
RESULT = [w[0], [jax_utils.unreplicate(w) for w in ws], (lambda w: w[0])(ws[1])]
