"""A dictionary that is spread loses an entry, for which the mapped function has a default."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def mix(a, b, c=0.0):
    return jax.lax.pmean(jnp.mean(a) - 2 * jnp.mean(b) + jnp.mean(c), "i")


p_mix = jax.pmap(mix, axis_name="i")
given = {"a": jax_utils.replicate(jnp.arange(3.0)), "b": shard(X), "c": shard(Y)}
first = p_mix(**given)
given.pop("c")
RESULT = [np.asarray(first), np.asarray(p_mix(**given))]
