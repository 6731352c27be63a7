"""Numbers of NumPy's are kept in a set, looked up, rounded, and asked whether they are numbers."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

N = jax.local_device_count()


def batches():
    for i in range(3):
        yield np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)


def step(w, x, rate):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - rate * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i", in_axes=(0, 0, None))
w = jax_utils.replicate(jnp.ones(3))
RESULT, seen = [], set()
for x in batches():
    w, loss = p_step(w, shard(x), 0.1)
    metrics = jax.tree.map(lambda x: x[0], jax.device_get({"loss": loss}))
    value = jax.device_get(loss)[0]
    RESULT += [value in seen, isinstance(metrics["loss"], np.floating), np.isscalar(value), float(round(value, 3))]
    seen.add(value)
    print(f"{value:.4f}", f"{np.asarray(loss)[0]!r}", [value])
RESULT.append(len(seen))
