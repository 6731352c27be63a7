"""Loops over keys that are written out, over those of a dictionary, and over the keys of what a map gives."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
KEPT = ("params", "momentum")


def step(state, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p - 1) ** 2))(state["params"])
    momentum = 0.5 * state["momentum"] + jax.lax.pmean(grads, "batch")
    loss = jax.lax.pmean(loss, "batch")
    rows = x @ state["params"]
    return {"params": state["params"] - momentum, "momentum": momentum, "loss": loss, "rows": rows, "size": 2 * loss}


def measure(params, x):
    rows = x @ params
    return {"mean": jax.lax.pmean(rows.mean(), "batch"), "largest": jax.lax.pmax(rows.max(), "batch")}


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, replicated, replicated, split, replicated
p_measure = jax.pmap(measure, axis_name="batch")  # expect: replicated, split -> replicated


def main():
    state = jax_utils.replicate({"params": jnp.ones(3), "momentum": jnp.zeros(3)})
    log = {"loss": [], "size": []}
    for _ in range(2):
        out = p_step(state, shard(BATCH))
        state = {k: out[k] for k in KEPT}
        for k in log:
            log[k].append(out[k])
        state = {name: part for name, part in state.items()}
    rows = out["rows"]
    new = {}
    for key in ["params", "momentum"]:
        new[key] = out[key]
    out = p_step(new, shard(BATCH))
    seen = p_measure(out["params"], shard(BATCH))
    found = [float(v[0]) for _, v in zip(seen, seen.values())] + [float(seen[k][0]) for k in sorted(seen)]
    found += [float(each[0]) for k in sorted(log) for each in log[k]]
    return jax_utils.unreplicate(out["momentum"]), rows.reshape(-1, *rows.shape[2:]), found


RESULT = [np.asarray(x) for x in main()]
