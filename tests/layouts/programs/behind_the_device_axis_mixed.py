"""Indices behind the device axis of which the order of axes or the devices show."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_sum = jax.pmap(lambda w, x: jax.lax.psum((w.sum() * x), "i"), axis_name="i")
p_own = jax.pmap(lambda w: w + jax.lax.axis_index("i"), axis_name="i")


def second(x):
    return jax.tree.map(lambda x: x[:, 1], x)


def main():
    n = jax.local_device_count()
    tree = {"w": jnp.arange(24.0).reshape(2, 3, 4), "b": jnp.ones((2, 4))}
    stacked = jax_utils.replicate(tree)
    x = np.arange(n, dtype=np.float32)
    chosen = jnp.array([1, 0])
    found = [stacked["w"][:, chosen, :, 0], p_sum(stacked["w"][:, chosen], x)[0]]
    found += [stacked["w"][:, 0][3], stacked["w"][:, 0].shape, stacked["w"][:, 0, 1].sum()]
    taken = second(stacked)
    found += [taken["b"][2], p_sum(taken["w"], x)[0], len(taken["b"])]
    own = p_own(stacked["b"])
    found += [own[:, 0], own[:, 0][5], p_sum(own[:, 1], x)[0]]
    split = np.arange(n * 2 * 3, dtype=np.float32).reshape(n, 2, 3)
    found += [p_own(split[:, 0]), p_own(jnp.reshape(split, (n, -1))[:, 2])]
    found += [second(split), stacked["w"][:, ...][1], stacked["w"][:, None][0]]
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
