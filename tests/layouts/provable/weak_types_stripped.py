"""A trainer that strips weak types of all that it holds, as brax does."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct


@struct.dataclass
class State:
    params: jax.Array
    count: jax.Array


def first(tree):
    return jax.tree_util.tree_map(lambda x: x[0], tree)


def strip_weak_type(tree):
    def f(leaf):
        leaf = jnp.asarray(leaf)
        return leaf.astype(leaf.dtype)

    return jax.tree_util.tree_map(f, tree)


def learn(data, state):
    grad = jax.grad(lambda w: jnp.mean((data @ w - 1) ** 2))(state.params)
    grad = jax.lax.pmean(grad, "i")
    return State(params=state.params - 0.1 * grad, count=state.count + 1), {"norm": jnp.sum(grad**2)}


def main():
    local = jax.local_device_count()
    p_learn = jax.pmap(learn, axis_name="i")  # expect: split, replicated -> replicated, replicated
    state = State(params=jnp.ones(3), count=jnp.zeros((), jnp.int32))
    state = jax_utils.replicate(state, jax.local_devices()[:local])
    env = {"obs": np.arange(48.0).reshape(16, 3) / 9}
    found = []
    for _ in range(3):
        state, env = strip_weak_type((state, env))
        data = jax.tree_util.tree_map(lambda x: jnp.reshape(x, (local, -1) + x.shape[1:]), env["obs"])
        new, metrics = p_learn(data, state)
        state, env, metrics = strip_weak_type((new, env, metrics))
        found.append(first(metrics)["norm"])
    return first(state.params), first(state.count), found


RESULT = main()
