# mypy: ignore-errors
"""Sites whose arguments and results a rewrite may hold in every layout; see layouts_after.py."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import common_utils
from jax import lax

pmap = __jaxmigrate_transform__("step", jax.pmap)  # noqa: F821 - a builtin that the recorder installs
N = jax.local_device_count()
optimizer = optax.adam(1e-2)


def loss_fn(params, batch, key):
    kept = jax.random.bernoulli(key, 0.9, batch["x"].shape)
    return (((batch["x"] * kept) @ params["w"] + params["b"] - batch["y"]) ** 2).mean()


def step(state, batch, key, scale):
    key, next_key = jax.random.split(key)
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], batch, key)
    grads = lax.pmean(grads, "batch")
    updates, opt_state = optimizer.update(grads, state["opt_state"], state["params"])
    params = optax.apply_updates(state["params"], updates)
    metrics = {"loss": lax.pmean(loss, "batch") * scale, "own": loss, "row": batch["x"].sum(1)}
    return {"params": params, "opt_state": opt_state, "step": state["step"] + 1}, metrics, next_key


def evaluate(params, x):
    return x @ params["w"], lax.psum(x.sum(), "batch")


def main():
    rng = np.random.RandomState(0)
    params = {"w": jnp.asarray(rng.randn(8, 4), jnp.float32), "b": jnp.zeros(4)}
    state = jax_utils.replicate({"params": params, "opt_state": optimizer.init(params), "step": 0})
    keys = common_utils.shard_prng_key(jax.random.PRNGKey(0))
    p_step = pmap(step, axis_name="batch", in_axes=(0, 0, 0, None), donate_argnums=0)
    p_evaluate = __jaxmigrate_transform__("evaluate", jax.pmap)(evaluate, axis_name="batch")  # noqa: F821
    for _ in range(3):
        batch = {"x": rng.randn(4 * N, 8), "y": rng.randn(4 * N, 4)}
        state, metrics, keys = p_step(state, common_utils.shard(batch), keys, 0.5)
        out, total = p_evaluate(state["params"], x=common_utils.shard(rng.randn(2 * N, 8)))
    print(float(metrics["loss"][0]), float(total[0]), out.shape[0] * out.shape[1])


main()
