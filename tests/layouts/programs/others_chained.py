"""What is chained is a tuple of arrays, a list of batches, NumPy's labels of 64 bits, or one row only."""
from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def predict(w, batch):
    scores = batch["x"] @ w
    return scores, scores > 0, scores.sum()


def pair(x):
    return [x, x + 1]


p_predict = jax.pmap(predict, axis_name="i")
p_pair = jax.pmap(pair, axis_name="i")
w = jax_utils.replicate(jnp.sin(jnp.arange(3.0)))
RESULT, kept = [], []
for i in range(2):
    x = np.sin(np.arange(96, dtype=np.float32) + i).reshape(32, 3)
    batch = {k: np.array(v) for k, v in {"x": x, "y": np.arange(32) * 2**40, "z": np.arange(32) / 3}.items()}
    batch = shard(batch)
    RESULT += [[int(one) for one in chain(*batch["y"])], [float(one) for one in chain(*batch.pop("z"))]]
    scores, found, total = p_predict(w, batch)
    kept.append(scores)
    RESULT.append([one.shape for one in chain(*p_pair(scores))])
    RESULT.append([one.shape for one in chain(scores, found)])
    RESULT.append([one.shape for one in chain(*(scores, found))])
    RESULT.append([float(one) for one in chain(total)])
RESULT.append([one.shape for one in chain(*kept)])
RESULT.append([one.shape for one in chain.from_iterable([kept[0], kept[1]])])
