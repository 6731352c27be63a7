"""A state that a map takes whole, and of which the loop gives it one device's copy, in a tuple that a star spreads."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils

N = jax.local_device_count()
KEY = jax.random.PRNGKey(3)
X = np.sin(np.arange(192, dtype=np.float32)).reshape(4, 16, 3)
out = []


def step(state, batch, key):
    both = state + state
    return state - 0.1 * jax.lax.pmean(both, "batch"), {"norm": both.sum()}


p_step = jax.pmap(step, axis_name="batch", in_axes=(None, 0, 0), out_axes=(0, None))


def main():
    def early():
        return state[0]

    state = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
    for i in range(2):
        batch = jax.tree.map(lambda x: x.reshape((-1, N) + x.shape[1:]).swapaxes(0, 1), X[i])
        out.append(batch[0])
        keys = jax.random.fold_in(KEY, i)
        state, metrics = p_step(*(jax_utils.unreplicate(state), batch, jax.random.split(keys, N)))
        out.extend([metrics["norm"], state[0]])
    out.append(early())
    other = jax_utils.replicate(jnp.linspace(0.7, 1.0, 3))
    keys = jax.random.split(jax.random.fold_in(KEY, 2), N)
    other, metrics = p_step(jax_utils.unreplicate(other), common_utils.shard(X[2]), keys)
    out.extend([metrics["norm"], other[0], state[0]])


main()
RESULT = out
