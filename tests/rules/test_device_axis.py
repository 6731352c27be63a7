"""JM117, JM118 and JM508: arrays with an axis of devices where none is expected, and without where one is."""

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
import jax
import jax.numpy as jnp
import optax
from clu import metrics
from flax import jax_utils
from flax.training import checkpoints, train_state
from net import Net


class State(train_state.TrainState):
    rng: jax.Array

    def spread(self):
        return jax_utils.replicate(self).replace(rng=jax.random.split(self.rng, jax.local_device_count()))


@functools.partial(jax.pmap, axis_name="batch")
def train_step(state, batch):
    grads = jax.lax.pmean(jax.grad(state.apply_fn)(state.params, batch), "batch")
    return state.apply_gradients(grads=grads), {"loss": jax.lax.pmean(batch.mean(), "batch")}


class Stats(metrics.Collection):
    loss: metrics.Average


def create(rng):
    net = Net()
    params = net.init(rng, jnp.ones((1, 8)))["params"]
    return State.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1), rng=rng)


def unreplicate_batch(tree):
    return jax.tree.map(lambda x: x[:, 0], tree)


def main(batches):
    rng = jax.random.PRNGKey(0)
"""
PROGRAMS = {
    "state as it was created": """\
state = create(rng)
for b in batches:
    state, m = train_step(state, b)  # JM117
""",
    "replicated": """\
state = jax_utils.replicate(create(rng))
for b in batches:
    state, m = train_step(state, b)
""",
    "by a method": """\
state = create(rng).spread()
for b in batches:
    state, m = train_step(state, b)
""",
    "perhaps replicated": """\
state = create(rng)
if len(batches) > 1:
    state = jax_utils.replicate(state)
state, m = train_step(state, batches)
""",
    "restored": """\
state = create(rng)
state = checkpoints.restore_checkpoint("/tmp", state)
state, m = train_step(state, batches)  # JM117
""",
    "one device's": """\
state = jax_utils.unreplicate(batches)
state, m = train_step(state, batches)  # JM117
""",
    "by the program's own function, of another axis": """\
state = unreplicate_batch(batches)
state, m = train_step(state, batches)
""",
    "twice": """\
state = jax_utils.replicate(create(rng))
state, m = train_step(state, batches)
new = state
new = new.replace(step=0)
state = jax_utils.replicate(new)  # JM118
""",
    "again after one was taken": """\
state = create(rng).spread()
state, m = train_step(state, batches)
state = jax_utils.replicate(jax_utils.unreplicate(state))
""",
    "to one device": """\
state = jax_utils.replicate(create(rng))
state, m = train_step(state, batches)
params = state.params
actor = jax.device_put(params, jax.local_devices()[0])  # JM118
""",
    "all to the host": """\
state = jax_utils.replicate(create(rng))
state, m = train_step(state, batches)
saved = jax.device_put(state, jax.devices("cpu")[0])
""",
    "formats": """\
state, m = train_step(batches, batches)
print(f"{m['loss']:.4f}")  # JM118
print("%.3f" % m["loss"])  # JM118
x = float(m["loss"])  # JM118
""",
    "formats of one": """\
state, m = train_step(batches, batches)
m = jax_utils.unreplicate(m)
print(f"{m['loss']:.4f}")
state, new = train_step(state, batches)
loss = jax.tree.map(lambda x: x[0], new)
x = float(loss["loss"])
""",
    "plain": """\
state, m = train_step(batches, batches)
print(f"{m['loss']}", f"{len(batches):.1f}")
""",
    "by keyword, metrics": """\
stats = Stats.empty()
state, m = train_step(state=batches, batch=stats)  # JM117
""",
    "in a dictionary": """\
def kept(state):
    checkpoints.save_checkpoint("/tmp", {"model": state, "args": 1}, 1)  # JM508
state, m = train_step(batches, batches)
kept(state)
""",
    "made of what is replicated later": """\
params = load(rng)
opt_state = optax.adam(1e-3).init(params)
spread_params = jax_utils.replicate(params)
out = jax.pmap(lambda p, o, b: (p, o))(spread_params, opt_state, batches)  # JM117
""",
    "by an own function that writes it": """\
def save_params(tree, name):
    with open(name, "wb") as file:
        pickle.dump(tree, file)
state, m = train_step(batches, batches)
save_params(state.params, "a")  # JM508
""",
    "by an own function that changes it": """\
def save_params(tree, name):
    tree = serializable(tree)
    with open(name, "wb") as file:
        pickle.dump(tree, file)
state, m = train_step(batches, batches)
save_params(state.params, "a")
""",
    "by an own function that takes a copy": """\
def save_params(tree, name):
    with open(name, "wb") as file:
        pickle.dump(jax.tree.map(lambda x: x[0], tree), file)
state, m = train_step(batches, batches)
save_params(state.params, "a")
""",
    "fetched and saved": """\
state = create(rng).spread()
state, m = train_step(state, batches)
saved = jax.device_get(state)
checkpoints.save_checkpoint("/tmp", saved, 1)  # JM508
""",
    "not split, and given back once": """\
f = jax.pmap(lambda s, x: (x, s), axis_name="batch", in_axes=(None, 0), out_axes=(0, None))
x, s = f(create(rng), batches)
state = jax_utils.replicate(s)
""",
}
CODES = re.compile("JM(117|118|508)")


@pytest.mark.parametrize("name", PROGRAMS)
def test_device_axis(name: str) -> None:
    text = TOP + textwrap.indent(PROGRAMS[name], "    ")
    expected = [(n, m[0]) for n, line in enumerate(text.splitlines(), 1) if (m := CODES.search(line))]
    found = lint([decode(text.encode(), "main.py")], Config())
    assert [(one.line, one.code) for one in found if CODES.match(one.code)] == expected
