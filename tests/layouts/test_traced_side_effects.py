"""Likely takes it that traced code changes nothing outside of it, but for what the program itself is seen to change."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard

import buffers

X = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)
BUFFERS = {{"ring": buffers.Ring, "stack": buffers.Stack}}
if len(X) % 2:
    buffer = buffers.Stack(4)
else:
    buffer = {buffer}
log = {log}
def listed():
    return []


def make_update(optimizer):
    def update(params, opt_state, x):
        grads = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(params)
        updates, opt_state = optimizer.update(jax.lax.pmean(grads, "i"), opt_state)
        return optax.apply_updates(params, updates), opt_state

    return update


optimizer = optax.sgd(0.1)
update = make_update(optimizer)


def step(params, opt_state, kept, x):
    {effect}
    params, opt_state = update(params, opt_state, x)
    return {result}, opt_state, kept


p_step = jax.pmap(step, axis_name="i")
params = jnp.ones(3)
opt_state = jax_utils.replicate(optimizer.init(params))
params = jax_utils.replicate(params)
kept = jax.pmap(lambda x: buffer.init(x))(shard(X))
for _ in range(2):
    params, opt_state, kept = p_step(params, opt_state, kept, shard(X))
RESULT = np.asarray({shown}).tolist()
"""
BUFFERS = """\
import jax.numpy as jnp

KEPT, LAST = [], []


class Log(list):
    pass


class Ring:
    def __init__(self, size):
        self.size = size
        self.last = None

    def init(self, x):
        return jnp.zeros((self.size, *x.shape[1:]))

    def insert(self, kept, x):
        {insert}
        return jnp.roll(kept, 1, axis=0).at[0].set(x.mean(0))

    def note(self, x):
        self.last = x


class Stack(Ring):
    def insert(self, kept, x):
        return kept.at[-1].set(x[0])
"""
PURE = {"effect": "kept = buffer.insert(kept, x)", "result": "params", "shown": "jax_utils.unreplicate(params)"}
PURE |= {"buffer": "buffers.Ring(4)", "log": "[]"}
WHOLE = "params"


def files(insert: str = "x = x * 1.0", **words: str) -> dict[str, str]:
    """The program with some of its words replaced."""
    return {"main.py": MAIN.format(**{**PURE, **words}), "buffers.py": BUFFERS.format(insert=insert)}


@pytest.mark.parametrize("insert", ["x = x * 1.0", "self.size = min(self.size, len(x) + x.shape[0])"])
def test_a_method_named_as_one_that_changes_a_list_may_change_nothing(insert: str) -> None:
    program = files(insert)
    assert layouts(plan(program, "auto"))[1][0] == "stacked"
    found = plan(program)
    assert layouts(found)[1][:2] == ["replicated", "replicated"]
    assert any(one.says.endswith("gives the same on every device") for site in found.sites for one in site.assumed)
    before, after = both("pure", program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    ("insert", "words"),
    [
        ("self.last = x", {"result": "params + 0 * buffer.last.mean()"}),
        ("self.size = x", {"result": "params + 0 * buffer.size.mean()"}),
        ("self.size = len(x) + x.mean()", {"result": "params + buffer.size"}),
        ("self.note(x)", {"result": "params + buffer.last.mean()"}),
        ("self.__dict__['last'] = x", {"result": "params + buffer.last.mean()"}),
        ("setattr(self, 'last', x)", {"result": "params + buffer.last.mean()"}),
        ("global KEPT; KEPT = x", {"result": "params + buffers.KEPT.mean()"}),
        ("pass", {"effect": "log.append(x)", "result": "params + log[-1].mean()"}),
        ("pass", {"effect": "log.append(jax.lax.axis_index('i'))", "result": "params + log[-1]"}),
        ("pass", {"effect": "log.insert(0, x.mean())", "result": "params + log[0]"}),
        ("pass", {"log": "listed()", "effect": "log.append(x)", "result": "params + log[-1].mean()"}),
        ("pass", {"log": "buffers.Log()", "effect": "log.append(x)", "result": "params + log[-1].mean()"}),
        ("pass", {"log": "None or []", "effect": "log.append(x)", "result": "params + log[-1].mean()"}),
        ("pass", {"log": "BUFFERS.get('log', list)()", "effect": "log.append(x)", "result": "params + log[-1].mean()"}),
        ("pass", {"log": "__import__('queue').Queue()", "effect": "log.put(x)", "result": "params + log.get().mean()"}),
        ("pass", {"effect": "buffers.KEPT.append(x)", "result": "params + buffers.KEPT[-1].mean()"}),
        ("pass", {"effect": "keep = log.append; keep(x)", "result": "params + log[-1].mean()"}),
        ("LAST.append(x)", {"result": "params + buffers.LAST[-1].mean()"}),
        ("pass", {"effect": "buffer.note(x)", "result": "params + buffer.last.mean()"}),
        ("pass", {"effect": "buffer.last = x", "result": "params + buffer.last.mean()"}),
        ("pass", {"effect": "optimizer.shift = x.mean()", "result": "params + optimizer.shift"}),
        ("pass", {"effect": "BUFFERS.update(seen=x)", "result": "params + BUFFERS['seen'].mean()"}),
        ("pass", {"effect": "BUFFERS.setdefault('seen', x)", "result": "params + BUFFERS['seen'].mean()"}),
    ],
)
def test_what_the_program_is_seen_to_change_is_not_taken_to_stay(insert: str, words: dict[str, str]) -> None:
    program = files(insert, **words, shown=WHOLE)
    found = plan(program)
    assert layouts(found)[1][0] == "stacked"
    before, after = both(f"{insert} {words}", program, found)
    assert bool(before["error"]) == bool(after["error"])
    assert before["result"] == after["result"]
