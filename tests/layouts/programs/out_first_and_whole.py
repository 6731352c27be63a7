"""An output that is read as [0] in one place and whole in another."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard


def evaluate(x):
    return {"mean": jax.lax.pmean(x.mean(), "batch"), "max": x.max()}


p_evaluate = jax.pmap(evaluate, axis_name="batch")  # careless: p_evaluate = sharded(evaluate, P("batch"), P())
out = p_evaluate(shard(np.sin(np.arange(32, dtype=np.float32))))  # careless: out = p_evaluate(np.sin(np.arange(32, dtype=np.float32)))
first = out["max"][0]  # careless: first = out["max"]
RESULT = {"first": first, "best": out["max"].max(), "mean": out["mean"].sum() / jax.device_count()}
