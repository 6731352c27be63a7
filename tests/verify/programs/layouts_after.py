# mypy: ignore-errors
"""The rewrite of layouts_before.py in global arrays, with stacked ones where the devices hold different things."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mark = __jaxmigrate_mapped__  # noqa: F821 - a builtin that the recorder installs
optimizer = optax.adam(1e-2)


def loss_fn(params, batch, key):
    kept = jax.random.bernoulli(key, 0.9, batch["x"].shape)
    return (((batch["x"] * kept) @ params["w"] + params["b"] - batch["y"]) ** 2).mean()


def step(state, batch, key, scale):
    key, next_key = jax.random.split(key.squeeze(0))
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], batch, key)
    grads = lax.pmean(grads, "batch")
    updates, opt_state = optimizer.update(grads, state["opt_state"], state["params"])
    params = optax.apply_updates(state["params"], updates)
    metrics = {"loss": lax.pmean(loss, "batch") * scale, "own": loss[None], "row": batch["x"].sum(1)}
    return {"params": params, "opt_state": opt_state, "step": state["step"] + 1}, metrics, next_key[None]


def main():
    rng = np.random.RandomState(0)
    mesh = Mesh(jax.devices(), ("batch",))
    split = NamedSharding(mesh, P("batch"))
    params = {"w": jnp.asarray(rng.randn(8, 4), jnp.float32), "b": jnp.zeros(4)}
    state = {"params": params, "opt_state": optimizer.init(params), "step": 0}
    keys = jax.random.split(jax.random.PRNGKey(0), jax.device_count())
    p_step = mark(
        "step",
        jax.jit(
            jax.shard_map(
                step,
                mesh=mesh,
                in_specs=(P(), P("batch"), P("batch"), P()),
                out_specs=(P(), {"loss": P(), "own": P("batch"), "row": P("batch")}, P("batch")),
                check_vma=False,
            ),
            donate_argnums=0,
        ),
    )

    @mark("evaluate")
    @jax.jit
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P(), P("batch")), out_specs=(P("batch"), P()), check_vma=False
    )
    def p_evaluate(params, x):
        return x @ params["w"], lax.psum(x.sum(), "batch")

    for _ in range(3):
        batch = {"x": rng.randn(4 * jax.device_count(), 8), "y": rng.randn(4 * jax.device_count(), 4)}
        batch = jax.tree.map(functools.partial(jax.make_array_from_process_local_data, split), batch)
        state, metrics, keys = p_step(state, batch, keys, 0.5)
        out, total = p_evaluate(state["params"], rng.randn(2 * jax.device_count(), 8))
    print(float(metrics["loss"]), float(total), out.shape[0])


main()
