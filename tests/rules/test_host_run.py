"""The host's code, run statement by statement: what has an axis of devices where a pmap gets it, or gives it back."""

from __future__ import annotations

import re
import textwrap

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import functools
import pickle
from dataclasses import dataclass
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import train_state
from flax.training.common_utils import shard
from scenic.train_lib import train_utils
from net import Net, load_arrays


def update(state, batch):
    loss, grads = jax.value_and_grad(state.apply_fn)(state.params, batch)
    grads = jax.lax.pmean(grads, "batch")
    return state.apply_gradients(grads=grads), loss


p_update = jax.pmap(update, axis_name="batch")


def sgd(params, opt_state, step, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
    updates, opt_state = optax.adam(1e-3).update(jax.lax.pmean(grads, "i"), opt_state, params)
    return optax.apply_updates(params, updates), opt_state, jax.lax.pmean(loss, "i")


p_sgd = jax.pmap(sgd, axis_name="i", in_axes=(0, 0, None, 0))


class Model(eqx.Module):
    w: jax.Array

    def __init__(self, key):
        self.w = jax.random.normal(key, (8, 8))


"""
PROGRAMS = {
    "a state that may be restored": """\
def main(config, batches):
    rng, key = jax.random.split(jax.random.PRNGKey(0))
    params = Net().init(rng, jnp.ones((1, 8)))
    state = train_utils.TrainState(global_step=0, params=params, rng=key, metadata={"seed": 1})
    if config.checkpoint:
        state, start = train_utils.restore_checkpoint(config.dir, state)
    state = state.replace(metadata={})
    for batch in batches:
        state, loss = p_update(state, shard(batch))  # JM117
""",
    "a state that may be restored, replicated": """\
def main(config, batches):
    rng, key = jax.random.split(jax.random.PRNGKey(0))
    params = Net().init(rng, jnp.ones((1, 8)))
    state = train_utils.TrainState(global_step=0, params=params, rng=key, metadata={"seed": 1})
    if config.checkpoint:
        state, start = train_utils.restore_checkpoint(config.dir, state)
    state = jax_utils.replicate(state.replace(metadata={}))
    for batch in batches:
        state, loss = p_update(state, shard(batch))
""",
    "one of two is replicated, both may be loaded": """\
def load(path):
    with open(path, "rb") as f:
        state = pickle.load(f)
    return state["params"], state["opt_state"], state["step"]
def main(args, batches):
    params = Net().init(jax.random.PRNGKey(0), jnp.ones((1, 8)))
    opt_state = optax.adam(1e-3).init(params)
    params = jax_utils.replicate(params)
    step = 0
    if args.resume:
        params, opt_state, step = load(args.resume)
    for batch in batches:
        params, opt_state, loss = p_sgd(params, opt_state, step, batch)  # JM117
""",
    "both are replicated, and may be loaded": """\
def load(path):
    with open(path, "rb") as f:
        state = pickle.load(f)
    return state["params"], state["opt_state"], state["step"]
def main(args, batches):
    params = Net().init(jax.random.PRNGKey(0), jnp.ones((1, 8)))
    opt_state = optax.adam(1e-3).init(params)
    params, opt_state = jax_utils.replicate((params, opt_state))
    step = 0
    if args.resume:
        params, opt_state, step = load(args.resume)
    for batch in batches:
        params, opt_state, loss = p_sgd(params, opt_state, step, batch)
""",
    "attributes of a trainer": """\
class Trainer:
    def __init__(self, seed):
        self.params = Net().init(jax.random.PRNGKey(seed), jnp.ones((1, 8)))
        self.opt_state = optax.adam(1e-3).init(self.params)
        self.count = 0
        self.spread()
    def spread(self):
        self.params = jax_utils.replicate(self.params)
    def step(self, batch):
        self.params, self.opt_state, loss = p_sgd(self.params, self.opt_state, self.count, batch)  # JM117
        self.count += 1
        return loss
""",
    "attributes of a trainer, all of them replicated": """\
class Trainer:
    def __init__(self, seed):
        self.params = Net().init(jax.random.PRNGKey(seed), jnp.ones((1, 8)))
        self.opt_state = optax.adam(1e-3).init(self.params)
        self.count = 0
        self.spread()
    def spread(self):
        self.params = jax_utils.replicate(self.params)
        self.opt_state = jax_utils.replicate(self.opt_state)
    def step(self, batch):
        self.params, self.opt_state, loss = p_sgd(self.params, self.opt_state, self.count, batch)
        self.count += 1
        return loss
""",
    "fields of an object that a function fills": """\
@dataclass
class Context:
    params: object = None
    opt_state: object = None
    step: int = 0
def prepare(ctx):
    ctx.params = Net().init(jax.random.PRNGKey(0), jnp.ones((1, 8)))
    ctx.opt_state = optax.adam(1e-3).init(ctx.params)
    ctx.opt_state = jax_utils.replicate(ctx.opt_state)
def main(batches):
    ctx = Context()
    prepare(ctx)
    for batch in batches:
        ctx.params, ctx.opt_state, loss = p_sgd(ctx.params, ctx.opt_state, ctx.step, batch)  # JM117
""",
    "fields of an object that a function fills, and another replicates": """\
@dataclass
class Context:
    params: object = None
    opt_state: object = None
    step: int = 0
def prepare(ctx):
    ctx.params = Net().init(jax.random.PRNGKey(0), jnp.ones((1, 8)))
    ctx.opt_state = optax.adam(1e-3).init(ctx.params)
def spread(ctx):
    ctx.params, ctx.opt_state = map(jax_utils.replicate, (ctx.params, ctx.opt_state))
def main(batches):
    ctx = Context()
    prepare(ctx)
    spread(ctx)
    for batch in batches:
        ctx.params, ctx.opt_state, loss = p_sgd(ctx.params, ctx.opt_state, ctx.step, batch)
""",
    "a model of equinox and its state": """\
def main(batches):
    key = jax.random.key(0)
    model = Model(key)
    opt_state = optax.adam(1e-3).init(eqx.filter(model, eqx.is_array))
    model = jax.device_put_replicated(model, jax.local_devices())
    for batch in batches:
        model, opt_state, loss = p_sgd(model, opt_state, 1, batch)  # JM117
""",
    "a number that is mapped": """\
def main(batches):
    params, opt_state = load_arrays()
    step = jnp.array(0)
    mapped = jax.pmap(sgd, axis_name="i")
    for batch in batches:
        params, opt_state, loss = mapped(params, opt_state, step, batch)  # JM117
        step = step + 1
""",
    "a flag that was static": """\
def evaluate(params, batch, train):
    return batch @ params if train else batch
def main(batches, params, train=False):
    mapped = jax.pmap(evaluate)
    params = jax_utils.replicate(params)
    for batch in batches:
        print(mapped(params, shard(batch), train))  # JM117
""",
    "a flag that is static": """\
def evaluate(params, batch, train):
    return batch @ params if train else batch
def main(batches, params, train=False):
    mapped = jax.pmap(evaluate, static_broadcasted_argnums=2)
    params = jax_utils.replicate(params)
    for batch in batches:
        print(mapped(params, shard(batch), train))
""",
    "an argument that is None": """\
def evaluate(params, batch, mask):
    return batch @ params if mask is None else batch
def main(batches, params, mask=None):
    mapped = jax.pmap(evaluate)
    params = jax_utils.replicate(params)
    for batch in batches:
        print(mapped(params, shard(batch), mask))
""",
    "split over the devices, and broadcast": """\
def paint(keys, x, mask):
    return x * mask + jax.random.normal(keys, x.shape)
mapped = jax.pmap(paint, in_axes=(0, 0, None))  # JM109
def main(key, xs, masks):
    devices = jax.local_devices()
    for n in range(4):
        key, own = jax.random.split(key)
        keys = jax.device_put_sharded(list(jax.random.split(own, len(devices))), devices)
        x = jax.device_put_sharded(list(xs[n].reshape(len(devices), 4, -1)), devices)
        mask = jax.device_put_sharded(list(masks[n].reshape(len(devices), 4, -1)), devices)
        print(mapped(keys, x, mask))
""",
    "replicated under a condition": """\
def main(batches, distributed):
    params = Net().init(jax.random.PRNGKey(0), jnp.ones((1, 8)))
    opt_state = optax.adam(1e-3).init(params)
    if distributed:
        params, opt_state = jax_utils.replicate(params), jax_utils.replicate(opt_state)
    for batch in batches:
        if distributed:
            params, opt_state, loss = p_sgd(params, opt_state, 0, batch)
""",
    "made by an own function of the devices": """\
def broadcast(tree):
    return jax.tree.map(lambda x: jnp.stack([x] * jax.local_device_count()), tree)
def main(batches):
    params = Net().init(jax.random.PRNGKey(0), jnp.ones((1, 8)))
    opt_state = optax.adam(1e-3).init(params)
    params, opt_state = broadcast(params), broadcast(opt_state)
    for batch in batches:
        params, opt_state, loss = p_sgd(params, opt_state, 0, batch)
""",
    "taken from one device and given again": """\
def main(batches, state):
    state = jax_utils.replicate(state)
    for epoch in range(4):
        for batch in batches:
            state, loss = p_update(state, shard(batch))  # JM117
        best = jax.tree.map(lambda x: x[0], state)
        state = best
""",
    "replicated field by field": """\
def main(config, batches):
    rng, key = jax.random.split(jax.random.PRNGKey(0))
    params = Net().init(rng, jnp.ones((1, 8)))
    state = train_state.TrainState.create(apply_fn=None, params=params, tx=optax.sgd(0.1))
    state = state.replace(params=jax_utils.replicate(state.params))
    state = state.replace(step=jax_utils.replicate(state.step), opt_state=jax_utils.replicate(state.opt_state))
    for batch in batches:
        state, loss = p_update(state, shard(batch))
""",
    "restored as replicas": """def main(config, batches):
    params = Net().init(jax.random.PRNGKey(0), jnp.ones((1, 8)))
    state = train_state.TrainState.create(apply_fn=None, params=params, tx=optax.sgd(0.1))
    state = train_utils.restore(config.dir, state, make_replicated=True)
    for batch in batches:
        state, loss = p_update(state, shard(batch))
""",
    "keys of a device, put together": """\
@functools.partial(jax.pmap, static_broadcasted_argnums=1)
def split(key, n):
    return tuple(jax.random.split(key, n))
def main(batches, state, rng):
    draw = jax.pmap(lambda key: jax.random.normal(key, (4,)))
    rng = jnp.array(split(rng, 4))[0]
    print(draw(rng))
""",
    "taken from one device and replicated again": """\
def main(batches, state):
    state = jax_utils.replicate(state)
    for epoch in range(4):
        for batch in batches:
            state, loss = p_update(state, shard(batch))
        best = jax.tree.map(lambda x: x[0], state)
        state = jax_utils.replicate(best)
""",
}
CODES = re.compile("JM(117|118|109|508)")


@pytest.mark.parametrize("name", PROGRAMS)
def test_host_run(name: str) -> None:
    text = TOP + PROGRAMS[name]
    expected = [(n, m[0]) for n, line in enumerate(text.splitlines(), 1) if (m := CODES.search(line))]
    found = lint([decode(text.encode(), "main.py")], Config())
    assert [(one.line, one.code) for one in found if CODES.match(one.code)] == expected


STEP = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(params, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
    params = jax.tree.map(lambda p, g: p - g, params, jax.lax.pmean(grads, "i"))
    metrics = {{"loss": loss, "size": jnp.square(params).sum()}}{reduced}
    return params, metrics


p_step = jax.pmap(step, axis_name="i")


"""
READ = {
    "gathered in a list": """\
def main(params, batches):
    history = []
    for batch in batches:
        params, metrics = p_step(params, batch)
        history.append(metrics)
    last = history[-1]
    print(last["loss"][0])
""",
    "an attribute, in another method": """\
class Trainer:
    def step(self, batch):
        self.params, self.metrics = p_step(self.params, batch)
    def log(self):
        print(self.metrics["loss"][0])
    def run(self, batches):
        for batch in batches:
            self.step(batch)
            self.log()
""",
    "summed over the batches": """\
def main(params, batches):
    total = 0.0
    for batch in batches:
        params, metrics = p_step(params, batch)
        total += metrics["loss"]
    print(total[0])
""",
    "unreplicated leaf by leaf": """\
def main(params, batches, writer):
    logs = []
    for batch in batches:
        params, metrics = p_step(params, batch)
        metrics = jax.tree_util.tree_map(jax_utils.unreplicate, metrics)
        logs.append(metrics)
    writer.write(logs)
""",
    "given to a function in a dictionary": """\
def report(entry):
    print(entry["train"]["loss"][0])
def main(params, batches):
    for batch in batches:
        params, metrics = p_step(params, batch)
        entry = {"train": metrics, "lr": 0.1}
        report(entry)
""",
    "returned by a function of a dictionary": """\
def one(params, batch):
    params, metrics = p_step(params, batch)
    return {"params": params, "metrics": metrics}
def main(params, batches):
    for batch in batches:
        out = one(params, batch)
        print(float(out["metrics"]["loss"][0]))
""",
}


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("name", READ)
def test_metrics_are_followed(name: str, reduced: bool) -> None:
    """One device's loss is told where it is made; what was averaged is not."""
    text = STEP.format(reduced="\n    metrics = jax.lax.pmean(metrics, 'i')" if reduced else "") + READ[name]
    found = [one for one in lint([decode(text.encode(), "main.py")], Config()) if one.code == "JM208"]
    assert [one.line for one in found] == ([] if reduced else [10])


def test_read_where_others_are_averaged() -> None:
    """Where the host averages over the devices itself, it is the reading of one device's that is told."""
    text = STEP.format(reduced="") + textwrap.dedent("""\
        def main(params, batches):
            for batch in batches:
                params, metrics = p_step(params, batch)
                print(metrics["loss"][0])
                print(metrics["size"].mean())
        """)
    found = [one for one in lint([decode(text.encode(), "main.py")], Config()) if one.code == "JM208"]
    assert [text.splitlines()[one.line - 1].strip() for one in found] == ['print(metrics["loss"][0])']
