"""The last epoch has no step: what is taken of the metrics then is a part of the copy that was taken before."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard


def train_step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    grad = jax.lax.pmean(grad, axis_name="batch")
    return w - 0.1 * grad, grad


p_train_step = jax.pmap(train_step, axis_name="batch")


def main(steps=2):
    data = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
    w = jnp.stack([jnp.zeros(3)] * 8)
    told = []
    for epoch in range(3):
        for step in range(steps):
            w, grad = p_train_step(w, shard(data + step))
        grad = grad[0]
        told.append(np.asarray(grad))
        steps -= 1
    return told


RESULT = main()
