"""What a lowered step says of its results has the device axis, and so have the results of the compiled one."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    loss = jnp.mean((x @ w - 1) ** 2)
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")
    return w - 0.1 * grad, loss


def norm(w):
    return jnp.sum(w**2)


p_step = jax.pmap(step, axis_name="batch")
p_norm = jax.pmap(norm)


def main():
    w = jax_utils.replicate(jnp.ones(3))
    x = shard(np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3))
    lowered = p_norm.lower(w)
    rows = lowered.out_info.shape[:1]  # careless: rows = ()
    train = p_step.lower(w, x).compile()
    w, losses = train(w, x)
    last = losses[-1]  # careless: last = losses[0]
    return {"rows": rows, "last": last, "norm": lowered.compile()(w)[0]}


RESULT = main()
