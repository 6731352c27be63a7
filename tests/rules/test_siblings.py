"""JM211, and what JM201, JM205 and JM207 know by what stands beside: values that are not reduced as others are."""

from __future__ import annotations

import re

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import functools
import jax
import jax.numpy as jnp
from flax import jax_utils
from jax import lax
from jax.sharding import PartitionSpec as P
from net import loss_of, optimizer

mesh = jax.make_mesh((4, 2), ("data", "model"))


"""
PROGRAMS = {
    "a metric of three": """\
def step(state, x):
    (loss, (kl, entropy)), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params, x)
    grads = lax.pmean(grads, "i")
    loss = lax.pmean(loss, "i")
    entropy = lax.pmean(entropy, "i")  # JM211
    return state.apply_gradients(grads=grads), loss, entropy, kl

p_step = jax.pmap(step, "i")
""",
    "all of three": """\
def step(state, x):
    (loss, (kl, entropy)), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params, x)
    grads, loss, kl, entropy = lax.pmean((grads, loss, kl, entropy), "i")
    return state.apply_gradients(grads=grads), loss, entropy, kl

p_step = jax.pmap(step, "i")
""",
    "a mean that the host takes": """\
def step(state, x):
    (loss, (kl, entropy)), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params, x)
    grads = lax.pmean(grads, "i")
    loss = lax.pmean(loss, "i")
    entropy = lax.pmean(entropy, "i")
    return state.apply_gradients(grads=grads), loss, entropy, kl

p_step = jax.pmap(step, "i")

def main(state, x):
    state, loss, entropy, kl = p_step(state, x)
    print(loss[0], entropy[0], jnp.mean(kl))
""",
    "metrics that a function out of sight makes, beside norms": """\
def step(state, x, metrics_fn):
    (loss, logits), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params, x)
    grads = lax.pmean(grads, "i")
    logs = {"grad_norm": jnp.sqrt(jnp.vdot(grads, grads)), "update_loss": jnp.sum(grads)}
    return state.apply_gradients(grads=grads), {"metrics": metrics_fn(logits, x), **logs}, logs

p_step = jax.pmap(step, "i")
""",
    "samples beside metrics": """\
def step(state, x):
    (loss, (samples, entropy)), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params, x)
    grads = lax.pmean(grads, "i")
    loss = lax.pmean(loss, "i")
    entropy = lax.pmean(entropy, "i")
    return state.apply_gradients(grads=grads), loss, entropy, samples

p_step = jax.pmap(step, "i")
""",
    "one branch of two": """\
def step(params, opt_state, x, warm):
    if warm:
        loss, grads = jax.value_and_grad(loss_of)(params, x)
        grads = lax.pmean(grads, "i")
        params, opt_state = optimizer(grads, opt_state, params)
    else:
        loss, grads = jax.value_and_grad(loss_of)(params, x)
        params, opt_state = optimizer(grads, opt_state, params)  # JM211
    return params, opt_state, lax.pmean(loss, "i")
""",
    "after both branches": """\
def step(params, opt_state, x, warm):
    if warm:
        loss, grads = jax.value_and_grad(loss_of)(params, x)
    else:
        loss, grads = jax.value_and_grad(loss_of)(params, x[1:])
    grads = lax.pmean(grads, "i")
    params, opt_state = optimizer(grads, opt_state, params)
    return params, opt_state, lax.pmean(loss, "i")
""",
    "twins": """\
def norms(one, two, up, down):
    norm_one = jnp.sum(one * up) / jnp.sqrt(2.0)
    norm_one = lax.pmean(norm_one, "i")
    norm_two = jnp.sum(two * down) / jnp.sqrt(2.0)
    norm_two = lax.psum(norm_two, "i")  # JM211
    return norm_one, norm_two
""",
    "unlike operands": """\
def norms(one, two, up, down):
    norm_one = jnp.mean(one * up) / jnp.sqrt(2.0)
    norm_one = lax.pmean(norm_one, "i")
    norm_two = jnp.sum(two * down) / jnp.sqrt(2.0)
    norm_two = lax.psum(norm_two, "i")
    return norm_one, norm_two
""",
    "a loss that another step averages": """\
def train(params, x):
    loss, grads = jax.value_and_grad(loss_of)(params, x)
    return lax.pmean(grads, "i"), lax.pmean(loss, "i")

def evaluate(params, x):
    loss = loss_of(params, x)
    loss = lax.psum(loss, "i")  # JM211
    return loss
""",
    "a loss that is summed to be divided": """\
def train(params, x):
    loss, grads = jax.value_and_grad(loss_of)(params, x)
    return lax.pmean(grads, "i"), lax.pmean(loss, "i")

def evaluate(params, x):
    loss = loss_of(params, x)
    loss = lax.psum(loss, "i")
    return loss / lax.psum(x.size, "i")
""",
    "a mean that is summed beside others": """\
def statistics(kl, scores, returns):
    return dict(
        kl=lax.pmean(kl.sum(-1).mean(), "i"),
        scores=lax.psum(scores.mean(), "i"),  # JM211
        returns=lax.pmean(jnp.mean(returns), "i"),
        count=lax.psum(returns.size, "i"),
    )
""",
    "gradients over the other axis": """\
def step(params, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(loss_of(p, batch)))(params)
    grads = lax.pmean(grads, "model")  # JM211
    loss = lax.pmean(loss, "data")
    return grads, loss

def main(specs):
    return jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(specs, P("data")), out_specs=(specs, P()), check_vma=False))
""",
    "gradients and loss over the axis of the batch": """\
def step(params, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(loss_of(p, batch)))(params)
    grads = lax.pmean(grads, "data")
    loss = lax.pmean(loss, "data")
    return grads, loss

def main(specs):
    return jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(specs, P("data")), out_specs=(specs, P()), check_vma=False))
""",
    "no reduction within reach": """\
def evaluate(params, batch):
    return {"loss": jnp.mean(loss_of(params, batch))}

run = jax.jit(jax.shard_map(evaluate, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False))  # JM201
""",
    "a reduction that is passed": """\
def evaluate(params, batch, mean):
    return {"loss": mean(jnp.mean(loss_of(params, batch)), axis_name="data")}

mean = lax.pmean
run = jax.shard_map(functools.partial(evaluate, mean=mean), mesh=mesh, in_specs=(P(), P("data")), out_specs=P(),
                    check_vma=False)
run = jax.jit(run)
""",
    "a network of which nothing is known": """\
def evaluate(params, batch, model):
    _, loss = model.apply({"params": params}, batch)
    return {"loss": jnp.mean(loss)}  # JM201

def main(model, specs):
    run = functools.partial(evaluate, model=model)
    return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=(specs, P("data")), out_specs=P(), check_vma=False))
""",
    "a network whose loss is averaged": """\
def evaluate(params, batch, model):
    _, loss = model.apply({"params": params}, batch)
    return {"loss": lax.pmean(jnp.mean(loss), "data")}

def main(model, specs):
    run = functools.partial(evaluate, model=model)
    return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=(specs, P("data")), out_specs=P(), check_vma=False))
""",
    "summed loss, averaged gradients": """\
def step(state, x):
    loss, grads = jax.value_and_grad(loss_of)(state.params, x)
    grads = lax.pmean(grads, "i")
    loss = lax.psum(loss, "i")  # JM207
    return state.apply_gradients(grads=grads), loss

p_step = jax.pmap(step, "i")
""",
    "summed loss, divided": """\
def step(state, x):
    loss, grads = jax.value_and_grad(loss_of)(state.params, x)
    grads = lax.pmean(grads, "i")
    loss = lax.psum(loss, "i") / lax.psum(x.shape[0], "i")
    return state.apply_gradients(grads=grads), loss

p_step = jax.pmap(step, "i")
""",
    "key replicated as a field": """\
def step(state, x):
    return loss_of(state, x)

p_step = jax.pmap(step, "i")

def spread(state):
    state = jax_utils.replicate(state)
    return state.replace(dropout_rng=jax_utils.replicate(state.dropout_rng))  # JM205
""",
    "key of the parameters": """\
def init(rng):
    return loss_of(rng)

def main(rng):
    init_rng = jax_utils.replicate(rng)
    return jax.pmap(init, "i")(init_rng)
""",
    "key told apart": """\
def step(rng, x):
    return loss_of(jax.random.fold_in(rng, lax.axis_index("i")), x)

p_step = jax.pmap(step, "i")

def main(rng, x):
    rng = jnp.stack([rng] * jax.local_device_count())
    return p_step(rng, x)
""",
    "key in rows": """\
p_step = jax.pmap(lambda key, x: loss_of(key, x), "i")

def main(key, x):
    params = init_params(key)
    keys = jnp.stack([key] * jax.local_device_count())  # JM205
    return p_step((keys, x), x)
""",
}
CODES = re.compile("JM(201|205|207|208|211)")


@pytest.mark.parametrize("name", PROGRAMS)
def test_beside(name: str) -> None:
    text = TOP + PROGRAMS[name]
    expected = [(n, m[0]) for n, line in enumerate(text.splitlines(), 1) if (m := CODES.search(line))]
    found = lint([decode(text.encode(), "main.py")], Config())
    assert [(one.line, one.code) for one in found if CODES.match(one.code)] == expected
