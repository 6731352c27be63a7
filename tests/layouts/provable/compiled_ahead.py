"""Steps that are lowered and compiled before they are called, in one line and in two, with keys that go round."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


@functools.partial(jax.pmap, axis_name="batch", donate_argnums=(0,))  # expect: replicated, stacked, split -> replicated, stacked, replicated
def train(w, key, x):
    key, own = jax.random.split(key)
    grad = jax.grad(lambda w: jnp.mean((x @ w - jax.random.uniform(own)) ** 2))(w)
    grad = jax.lax.pmean(grad, "batch")
    return w - 0.1 * grad, key, jnp.sum(grad**2)


evaluate = jax.pmap(lambda w, x: jax.lax.pmean(jnp.mean(x @ w), "batch"), axis_name="batch")  # expect: replicated, split -> replicated


def main():
    w = jax_utils.replicate(jnp.ones(3))
    keys = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
    x = shard(np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3))
    step = train.lower(w, keys, x).compile()
    lowered = evaluate.lower(w, x)
    print(len(lowered.as_text()) > 0)
    measured = lowered.compile()
    norms = []
    for i in range(3):
        w, keys, norm = step(w, keys, x)
        norms.append(float(norm[0]))
    return {"w": jax_utils.unreplicate(w), "norms": norms, "value": measured(w, x)[0]}


RESULT = main()
