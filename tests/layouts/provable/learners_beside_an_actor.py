"""One device acts, others learn: these are listed by their numbers, and the actor is given a copy of what they know."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(36, dtype=np.float32)).reshape(12, 3)


def update(w, x):
    grad = jax.grad(lambda w: ((x @ w) ** 2).mean())(w)
    return w - 0.1 * jax.lax.pmean(grad, "i"), jax.lax.pmean((x @ w).sum(), "i")


def main():
    devices = jax.local_devices()
    actor = devices[0]
    learners = [devices[i] for i in (1, 2, 3)]
    learn = jax.pmap(update, axis_name="i", devices=learners)  # expect: replicated, split -> replicated, replicated
    act = jax.jit(lambda w, x: x @ w)
    w = jax_utils.replicate(jnp.ones(3), learners)
    known, found = jax.device_put(w[0], actor), []
    for i in range(3):
        seen = jax.device_put(BATCH + i, actor)
        found.append(act(known, seen))
        w, loss = learn(w, (BATCH + i).reshape((len(learners), -1, 3)))
        known = jax.device_put(jax.tree.map(lambda x: x[0], w), actor)
        found += [float(loss[0]), str(known.devices())]
    return [*found, jax_utils.unreplicate(w)]


RESULT = main()
