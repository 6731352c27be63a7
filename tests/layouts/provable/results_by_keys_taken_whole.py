"""The first slices of all entries of a dictionary of results, some of which are the same on all devices, at once."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def results(params, x):
    own = x * params
    return params + jax.lax.pmean(own.mean(), "i"), {"loss": jax.lax.pmean(own.sum(), "i"), "own": own, "params": params}


p_step = jax.pmap(results, axis_name="i")  # expect: replicated, split -> replicated, replicated, stacked, replicated
p_more = jax.pmap(results, axis_name="i")  # expect: replicated, split -> replicated, replicated, stacked, replicated
p_changed = jax.pmap(results, axis_name="i")  # expect: replicated, split -> replicated, stacked, stacked, stacked


def main():
    params = jax_utils.replicate(jnp.arange(3.0))
    x = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7)
    found = []
    for _ in range(2):
        params, metrics = p_step(params, x)
        if len(found) > 3:
            metrics = jax_utils.unreplicate(metrics)
            found += [metrics["loss"] * 2, metrics]
    _, metrics = p_more(params, x)
    one = jax.tree.map(lambda a: a[0], metrics)
    fetched = jax.device_get(jax.tree.map(lambda a: a[0], metrics))
    found += [one, one["own"][0], fetched["own"].shape, {**fetched, "step": 1}]
    _, metrics = p_changed(params, x)
    metrics["step"] = 3
    return [*found, jax.tree.map(lambda a: np.asarray(a).sum(), metrics)]


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
