"""A helper that takes the first slices of dictionaries of results with several keys, and of other trees."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def mean(tree):
    return jax.lax.pmean(tree, "i")


def fetched(metrics):
    metrics = jax_utils.unreplicate(metrics)
    metrics = jax.device_get(metrics)
    return {key: np.asarray(value).sum() for key, value in metrics.items()}


def one_of(metrics):
    metrics = jax_utils.unreplicate(metrics)
    return metrics


def same(metrics):
    metrics = jax_utils.unreplicate(metrics)
    return metrics


def made(step):
    return step(), step()


p_train = jax.pmap(lambda x: {"loss": mean(x.sum()), "own": x * 2}, axis_name="i")
p_test = jax.pmap(lambda x: {"accuracy": mean(x.max()), "own_rows": x + 1, "loss": mean(x.sum())}, axis_name="i")
p_other = jax.pmap(lambda x: {**made(lambda: {"a": x.sum()})[0], "b": mean(x.sum())}, axis_name="i")
p_alike = jax.pmap(lambda x: {"loss": mean(x.mean()), "own": x * 3}, axis_name="i")
p_like = jax.pmap(lambda x: {"loss": mean(x.mean()), "own": x * 4}, axis_name="i")


def main():
    x = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7)
    found = [fetched(p_train(x)), fetched(p_test(x))]
    found += [one_of(p_train(x)), one_of(p_other(x)), one_of(jax_utils.replicate({"loss": 1.0}))]
    return [*found, same(p_alike(x)), same(p_like(x))]


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
