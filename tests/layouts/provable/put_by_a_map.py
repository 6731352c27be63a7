"""A map that gives back what it is given puts parameters, keys and batches on the devices, in helpers and in place."""
import functools
import typing
import jax
import jax.numpy as jnp
import numpy as np

pmap = functools.partial(jax.pmap, axis_name="i")
broadcast = pmap(lambda x: x)  # expect: stacked -> stacked


def replicate_all(tree):
    """The same on each device."""
    if tree is None:
        return None
    n = jax.local_device_count()
    stacked = jax.tree_util.tree_map(lambda x: jnp.stack([x] * n, axis=0), tree)
    return broadcast(stacked)


def widened(tree):
    n = jax.local_device_count()
    return broadcast(jax.tree_util.tree_map(lambda x: jax.lax.broadcast(x, (n,)), tree))


@pmap  # expect: replicated, replicated, stacked, split -> replicated, replicated, stacked, replicated
def step(w, momentum, key, x):
    key, own = jax.random.split(key)
    grad = jax.grad(lambda w: jnp.mean((x @ w["a"] + w["b"] - jax.random.uniform(own)) ** 2))(w)
    grad = jax.lax.pmean(grad, "i")
    momentum = jax.tree_util.tree_map(lambda m, g: 0.5 * m + g, momentum, grad)
    return jax.tree_util.tree_map(lambda p, m: p - 0.1 * m, w, momentum), momentum, key, jax.lax.pmean(own, "i")


measure = typing.cast(typing.Callable, pmap(lambda w, x: jax.lax.pmean(jnp.mean(x @ w["a"]), "i")))  # expect: replicated, split -> replicated


def main():
    w = replicate_all({"a": jnp.ones(3), "b": jnp.zeros(())})
    momentum = broadcast(jax.tree_util.tree_map(jnp.zeros_like, w))
    key, *keys = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count() + 1)
    keys = broadcast(jnp.stack(keys))
    scale = widened(jnp.full((3,), 0.5))
    for i in range(3):
        x = np.sin(np.arange(48, dtype=np.float32) + i)
        x = broadcast(x.reshape(jax.local_device_count(), -1, 3))
        w, momentum, keys, own = step(w, momentum, keys, x)
    value = measure({"a": scale, "b": w["b"]}, x)
    first = jax.tree_util.tree_map(lambda x: x[0], (w, momentum))
    return {"w": first[0], "m": first[1], "own": own[0], "value": value[0]}


RESULT = main()
