"""Host code goes through the rows of all devices one after another: of results, and of a batch of JAX's arrays."""
import itertools
from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def batches():
    for i in range(3):
        x = np.sin(np.arange(96, dtype=np.float32) + i).reshape(32, 3)
        batch = {"x": jnp.asarray(x), "y": jnp.asarray(x[:, 0] > 0)}
        batch = shard(batch)
        yield batch


def predict(w, batch):
    scores = batch["x"] @ w
    return scores, scores > 0


p_predict = jax.pmap(predict, axis_name="i")  # expect: replicated, split -> split, split
double = jax.pmap(lambda x: x * 2, donate_argnums=0)  # expect: split -> split
w = jax_utils.replicate(jnp.sin(jnp.arange(3.0)))
RESULT = []
for batch in batches():
    labels = batch.pop("y")
    scores, found = p_predict(w, batch)
    RESULT.append([bool(a) == bool(b) for a, b in zip(chain(*found), chain(*labels))])
    RESULT.append([one.shape for one in itertools.chain.from_iterable(scores)])
    later = chain(*scores)
    twice = double(scores)
    RESULT.append([type(chain(*twice)).__name__, [float(one) for one in later], [one.shape for one in chain(*twice)]])
    RESULT.append(np.array([*chain(*np.asarray(twice))]))
