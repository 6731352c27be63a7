"""What a loss gives beside its value is the state itself where JAX has no hand in it: changed later, it differs."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class Regression:
    def apply(self, variables, x):
        stats = {"stats": {"mean": variables["stats"]["mean"] * 0.9 + x.mean() * 0.1}}
        return {"outputs": x @ variables["params"]["w"], "variables": variables}, stats

    def metrics_fn(self, outputs, batch):
        outputs["error"] = jnp.square(outputs.pop("outputs") - batch["y"]).mean()
        return outputs


MODELS = {"regression": Regression}


def loss_and_grad(loss_fn, params):
    grads = jax.grad(lambda params: loss_fn(params)[0])(params)
    return loss_fn(params), grads


def train_step(state, batch, *, model, metrics_fn):
    def loss_fn(params):
        variables = {"params": params, **state["model_state"]}
        outputs, model_state = model.apply(variables, batch["x"])
        loss = jnp.square(outputs["outputs"] - batch["y"]).mean()
        return loss, (model_state, outputs, {"loss": loss})

    (_, (_, outputs, losses)), grads = loss_and_grad(loss_fn, state["params"])
    grads = jax.lax.pmean(grads, "batch")
    metrics = metrics_fn(outputs, batch)
    for name, value in losses.items():
        metrics[name] = value
    metrics["variables"]["stats"]["mean"] = batch["x"].mean()  # a dictionary of the state
    params = jax.tree.map(lambda p, g: p - 0.1 * g, state["params"], grads)
    return {"params": params, "model_state": state["model_state"]}, metrics


def train(name, steps):
    model = MODELS[name]()
    p_step = jax.pmap(functools.partial(train_step, model=model, metrics_fn=model.metrics_fn), axis_name="batch")
    state = {"params": {"w": jnp.arange(3.0)}, "model_state": {"stats": {"mean": jnp.zeros(())}}}
    state = jax_utils.replicate(state)
    found = []
    for step in range(steps):
        x = np.arange(16 * 3, dtype=np.float32).reshape(16, 3) / (7 + step)
        batch = {"x": x, "y": x.sum(1)}
        batch = jax.tree.map(lambda a: a.reshape((jax.local_device_count(), -1) + a.shape[1:]), batch)
        state, metrics = p_step(state, batch)
        found.append(np.asarray(metrics["variables"]["stats"]["mean"]))
    state = jax_utils.unreplicate(state)
    return state["params"]["w"], state["model_state"]["stats"]["mean"], found


RESULT = [np.asarray(x) for x in jax.tree.leaves(train("regression", 3))]
