"""Arrays that show to be arrays where they are sliced along several axes, and trees that do not."""
import jax
import jax.numpy as jnp
import numpy as np

X = np.arange(96, dtype=np.float32).reshape(8, 2, 3, 2) / 7


def features_of(x):
    return {"pooled": np.asarray(x) * 2, "rest": 1.0}["pooled"]


def pair_of(x):
    return x[:4], x[4:]


features = features_of(X)[..., 0]
gathered = jax.pmap(lambda x: jax.lax.all_gather(x, "i"), axis_name="i")(features)[0]  # expect: stacked -> replicated
summed = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(features_of(X)[:, 0])[0]  # expect: stacked -> replicated
pair = pair_of(X)
first = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(pair)[0]  # expect: stacked -> stacked
RESULT = [np.asarray(gathered), np.asarray(summed), np.asarray(first)]
