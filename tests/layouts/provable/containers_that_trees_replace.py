"""Lists and dictionaries of arrays, in whose place trees of arrays come that a map gives back."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
n = jax.local_device_count()


def step(params, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p[0] + p[1]) ** 2))(params)
    grads, loss = jax.lax.pmean((grads, loss), "batch")
    return [p - 0.125 * g for p, g in zip(params, grads)], loss


def normalise(params, x):
    mean, largest = jax.lax.pmean(x.mean(0), "batch"), jax.lax.pmax(x.max(0), "batch")
    return (x - params["mean"]) * params["scale"], {"mean": mean, "largest": largest}


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, replicated
p_normalise = jax.pmap(normalise, axis_name="batch")  # expect: replicated, split -> split, replicated


def in_a_list():
    params = [jnp.arange(3.0), jnp.ones(())]
    params = [jnp.repeat(p[None], n, axis=0) for p in params]
    for i in range(2):
        params, loss = p_step(params, shard(BATCH * i))
    return jax.tree.map(lambda p: p[0], params), loss[0]


def in_a_dictionary():
    """The keys are in an order of their own: what is made of all entries one after another shows it."""
    params = {"scale": jnp.ones((n, 3)), "mean": jnp.zeros((n, 3))}
    for _ in range(2):
        out, stats = p_normalise(params, shard(BATCH))
        params = {**params, **stats}
    one = jax.tree.map(lambda p: p[0], params)
    return jnp.concatenate([*one.values()]), out.reshape(-1, *out.shape[2:])


RESULT = [np.asarray(x) for x in jax.tree.leaves([in_a_list(), in_a_dictionary()])]
