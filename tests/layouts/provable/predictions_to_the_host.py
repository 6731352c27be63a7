"""What host code does with a batch of results: it scales them, puts the devices' rows in one and counts them."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def to_host(x):
    n_devices, n_rows, *rest = x.shape
    return np.array(x).reshape((n_devices * n_rows,) + tuple(rest))


def predict(w, x):
    return jnp.tanh(x @ w), x @ w[:, 0]


def sample(w, x):
    return x[:, None] * w[None]


p_predict = jax.pmap(predict)  # expect: replicated, split -> split, split
p_sample = jax.pmap(sample)  # expect: replicated, split -> split
w = jax_utils.replicate(jnp.sin(jnp.arange(6.0)).reshape(3, 2))
x = shard(BATCH)
images, scores = p_predict(w, x)
images = jnp.clip(images * 127.5 + 127.5, 0, 255) / 255
blocks = p_sample(w[:, :, 0], x)
count = blocks.size
RESULT = {
    "images": np.asarray(images.reshape((-1, *images.shape[2:]))),
    "scores": to_host(scores),
    "rows": np.asarray(jnp.reshape(images, (images.shape[0] * images.shape[1], 2))),
    "joined": np.concatenate(blocks, axis=0).sum(axis=0),
    "flat": np.ravel(-blocks)[: count // 2],
}
