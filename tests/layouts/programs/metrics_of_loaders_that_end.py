"""Steps over what an iterator still has, which is nothing in the second epoch, or over a list that gets shorter."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard


def train_step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    grad = jax.lax.pmean(grad, axis_name="batch")
    return w - 0.1 * grad, grad


p_train_step = jax.pmap(train_step, axis_name="batch")
data = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def of_iterator():
    w = jnp.stack([jnp.zeros(3)] * 8)
    batches = iter([data, data + 1])
    told = []
    for epoch in range(2):
        for batch in batches:
            w, grad = p_train_step(w, shard(batch))
        grad = grad[0]
        told.append(np.asarray(grad))
    return told


def of_list():
    w = jnp.stack([jnp.zeros(3)] * 8)
    batches = [data]
    told = []
    while True:
        for step in range(len(batches)):
            w, grad = p_train_step(w, shard(batches[step]))
        grad = grad[0]
        told.append(np.asarray(grad))
        if not batches:
            return told
        batches.pop()


def swallowed():
    w = jnp.stack([jnp.zeros(3)] * 8)
    told = []
    for epoch in range(2):
        for step in range(2):
            try:
                if epoch:
                    raise ValueError
                w, grad = p_train_step(w, shard(data))
            except ValueError:
                continue
        grad = grad[0]
        told.append(np.asarray(grad))
    return told


RESULT = [of_iterator(), of_list(), swallowed()]
