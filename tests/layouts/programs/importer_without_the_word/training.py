import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
LAST = None


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")


def train(steps):
    global LAST
    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(steps):
        w = p_step(w, shard(BATCH))
    LAST = w
    return w


def first_of(w):
    return w[0]


def main():
    print(first_of(train(3)), first_of(LAST))


if __name__ == "__main__":
    main()
