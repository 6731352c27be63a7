"""Dictionaries of results in which some entries are the same on all devices and others are each device's own."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def mean(tree):
    return jax.lax.pmean(tree, "batch")


def measured(prediction, x):
    metrics = {"error": jnp.mean((prediction - x.sum(-1)) ** 2), "largest": jnp.max(prediction)}
    metrics = mean(metrics)
    metrics["own"] = prediction
    return metrics


@functools.partial(jax.pmap, axis_name="batch")  # expect: replicated, split -> replicated, replicated, stacked
def step(params, x):
    def loss_fn(params):
        prediction = x @ params
        return jnp.mean(prediction**2), {"loss": prediction.sum(), "prediction": prediction}

    (_, metrics), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    metrics["loss"] = mean(metrics["loss"])
    return params - 0.01 * mean(grads), metrics


@functools.partial(jax.pmap, axis_name="batch")  # expect: replicated, split -> replicated, replicated, stacked
def evaluate(params, x):
    return measured(x @ params, x)


def both(params, x):
    return {"scalars": mean({"a": x.mean()}), "rows": {"x": x * 2, "y": x + params}}, mean(x.sum())


p_both = jax.pmap(both, "batch")  # expect: replicated, split -> split, replicated, replicated
p_lambda = jax.pmap(lambda x: dict(least=jax.lax.pmin(x.min(), "i"), own=x), axis_name="i")  # expect: split -> replicated, stacked


class Model:
    def __init__(self):
        self.scale = 2.0
        self.run = jax.pmap(self._run, axis_name="batch")  # expect: split -> replicated, stacked, replicated

    def _run(self, x):
        found = {"total": jax.lax.psum(x.sum(), "batch")}
        found.update(own=x * self.scale, mean=mean(x.mean(0)))
        return found


def main():
    params = jax_utils.replicate(jnp.arange(3.0))
    x = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7)
    found = []
    for _ in range(2):
        params, metrics = step(params, x)
        found += [metrics["loss"][0], metrics["prediction"], metrics["prediction"][3]]
    metrics = evaluate(params, x)
    found += [jax_utils.unreplicate(metrics["error"]), metrics["own"].shape, "own" in metrics, len(metrics), [*metrics]]
    found += [metrics.pop("largest")[0], metrics["own"][-1], jax.device_get(metrics["own"])]
    results, total = p_both(params, x)
    found += [results["scalars"]["a"][0], results["rows"]["x"].reshape(-1, 3), total[0]]
    found += [np.asarray(results["rows"]["y"]).reshape(-1, 3)]
    own = p_lambda(x)
    found += [own["least"][0], own["own"], own.get("least")[0]]
    run = Model().run(x)
    return [*found, run["own"], run["mean"][0], run["total"][0]]


RESULT = [np.asarray(x) for x in jax.tree.leaves(main()) if not isinstance(x, str)]
