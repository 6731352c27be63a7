"""Draws that are no batch of all devices, that the host looks at, or that share an argument with other arrays."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

n = jax.local_device_count()
half = n // 2
key = jax.random.PRNGKey(5)
KEPT = []


def weigh(w, x):
    return w * jnp.arange(1.0, x.size + 1).sum() - 0.1 * jax.lax.pmean((x * jnp.arange(x.size).reshape(x.shape)).sum(), "i")


maps = [jax.pmap(functools.partial(weigh), axis_name="i") for _ in range(1)]
one = jax.pmap(weigh, axis_name="i")
two = jax.pmap(weigh, axis_name="i")
three = jax.pmap(weigh, axis_name="i")
four = jax.pmap(weigh, axis_name="i")
five = jax.pmap(weigh, axis_name="i", donate_argnums=1)
six = jax.pmap(weigh, axis_name="i")
seven = jax.pmap(weigh, axis_name="i")
w = jax_utils.replicate(jnp.ones(()))
KEPT.append(one(w, jax.random.normal(key, (n,))))  # one number a device
KEPT.append(two(jnp.ones(half), jax.random.normal(key, (half, 4))))
x = jax.random.normal(key, (n, 4, 3))
KEPT.append(three(w, x))
KEPT.append(x[0])  # the first device's rows
KEPT.append(x.sum(axis=0))
y = jax.random.normal(key, (n, 4))
for row in y:
    KEPT.append(row)
KEPT.append(four(w, y))
KEPT.append(four(w, shard(jax.random.normal(key, (n, 4)).reshape(-1))))
z = jax.random.normal(key, (n, 2, 2))
KEPT.append(five(w, z))
batch = shard(jax.random.normal(key, (n, 5)))  # one example a device, as a batch of n
KEPT.append(six(w, batch))
noise = jax.random.normal(key, (n, 3))
noise = noise.at[1:].set(0.0)
KEPT.append(seven(w, noise))
drawn = {"a": jax.random.normal(key, (n, 3)), "b": jax.random.normal(key, (n, 2))}
pair = jax.pmap(lambda t: jax.lax.psum(t["a"].sum() * t["b"][0], "i"), axis_name="i")
KEPT.append(pair(drawn))
each = jax.vmap(lambda k: jax.random.normal(k, (n, 2)))(jax.random.split(key, n))
KEPT.append(seven(w, each))
made = jax.jit(lambda k: jax.random.normal(k, (n, 2, 2)))(key)
KEPT.append(maps[0](w, made))
RESULT = [np.asarray(one).tolist() for one in KEPT]
