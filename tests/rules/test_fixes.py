"""Fixes of findings: what each writes, where none is offered, and that the numbers are those that the finding says."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from jaxmigrate.rules import fixes

from jaxmigrate.commands.mending import applied
from jaxmigrate.config import Config
from jaxmigrate.findings import Finding
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import SourceFile, decode
from tests.layouts.running import Program, run

IMPORTS = """\
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

"""
MESH = 'mesh = Mesh(jax.devices(), ("data",))\n\n\n'


class Case(NamedTuple):
    """A program, what of it the fix replaces by what, and what becomes of its `RESULT`.

    `same`: it is bitwise what it was; `close`: but for the last bits; `runs`: it raised before; `raises`: it ran and
    gave what was wrong.
    """

    name: str
    code: str
    text: str
    old: str
    new: str
    then: str

    @property
    def before(self) -> str:
        return IMPORTS + self.text

    @property
    def after(self) -> str:
        assert self.text.count(self.old) == 1, self.name
        return IMPORTS + self.text.replace(self.old, self.new)


STEP = """\
def step(batch):
    return {body}


p_step = jax.pmap(step, axis_name="batch")
RESULT = p_step(jnp.arange(16.0).reshape(8, 2) / 7)
"""
TRAIN = """\
def step(grads, x):
    grads = lax.pmean(grads, "data")
    loss = lax.pmean((grads * x).mean(), "data")
    {line}
    return grads - 0.1 * {value}, loss


p_step = jax.pmap(step, axis_name="data")
RESULT = p_step(jnp.arange(16.0).reshape(8, 2) / 7, jnp.arange(16.0).reshape(8, 2) / 3)
"""
MAPPED = (
    MESH
    + """\
def total(x):
    return {body}


p_total = jax.jit(jax.shard_map(total, mesh=mesh, in_specs={spec}, out_specs=P()))
x = jnp.arange({rows}.0)
RESULT = p_total(x)
"""
)
EAGER = (
    MESH
    + """\
def update(w, x):
    return w - lax.pmean(jnp.sin(w) * jnp.tanh(x).mean(), "data")


def main():
    step = {made}
    w = jnp.ones(4)
    for _ in range(3):
        w = step(w, jnp.arange(8.0))
    return w


RESULT = main()
"""
)
UPDATE = 'jax.shard_map(update, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())'
EXPLICIT = """\
mesh = {mesh}
double = jax.jit(jax.shard_map(lambda x: 2 * x, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
RESULT = double(np.arange(8.0))
"""

CASES = [
    Case(
        "a collective",
        "JM101",
        STEP.format(body='lax.pmean(batch, "bacth")'),
        '"bacth"',
        '"batch"',
        "runs",
    ),
    Case(
        "in single quotes, by keyword, in a tuple",
        "JM101",
        STEP.format(body="lax.psum(batch, axis_name=('bathc',))"),
        "'bathc'",
        "'batch'",
        "runs",
    ),
    Case(
        "an index",
        "JM101",
        STEP.format(body="batch * lax.axis_index('Batch')"),
        "'Batch'",
        "'batch'",
        "runs",
    ),
    Case(
        "by a partial",
        "JM101",
        'mean = partial(lax.pmean, axis_name="bacth")\n\n\n' + STEP.format(body="mean(batch)"),
        '"bacth"',
        '"batch"',
        "runs",
    ),
    Case(
        "a spec of a map",
        "JM102",
        MAPPED.format(body='lax.psum(x.sum(), "data")', spec='P("dta")', rows=16),
        '"dta"',
        '"data"',
        "runs",
    ),
    Case(
        "a spec of a sharding",
        "JM102",
        MESH + 'RESULT = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("dada"))) * 2\n',
        '"dada"',
        '"data"',
        "runs",
    ),
    Case(
        "a mean of a mean",
        "JM202",
        STEP.format(body='lax.pmean(lax.pmean(batch, axis_name="batch"), "batch")'),
        'lax.pmean(lax.pmean(batch, axis_name="batch"), "batch")',
        'lax.pmean(batch, axis_name="batch")',
        "same",
    ),
    Case(
        "the greatest of the greatest",
        "JM202",
        """\
def top(x):
    return lax.pmax(lax.pmax(x, "i"), "i")


RESULT = getattr(jax, "vmap")(top, axis_name="i")(jnp.arange(8))
""",
        'lax.pmax(lax.pmax(x, "i"), "i")',
        'lax.pmax(x, "i")',
        "same",
    ),
    Case(
        "a value with a name",
        "JM202",
        TRAIN.format(line="", value='lax.pmean(grads, "data")'),
        'lax.pmean(grads, "data"), loss',
        "grads, loss",
        "same",
    ),
    Case(
        "a statement",
        "JM202",
        TRAIN.format(line='grads = lax.pmean(grads, axis_name="data")', value="grads"),
        '    grads = lax.pmean(grads, axis_name="data")\n',
        "",
        "same",
    ),
    Case(
        "made in a function",
        "JM501",
        EAGER.format(made=UPDATE),
        f"step = {UPDATE}",
        f"step = jax.jit(\n        {UPDATE}\n    )",
        "close",
    ),
    Case(
        "a decorator",
        "JM501",
        MESH
        + """\
@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
def double(x):
    return 2 * x


for _ in range(2):
    RESULT = double(jnp.arange(8.0))
""",
        "@partial",
        "@jax.jit\n@partial",
        "same",
    ),
    Case(
        "a row",
        "JM502",
        MAPPED.format(body='lax.psum(x[0] ** 2, "data")', spec='P("data")', rows=8),
        "x[0]",
        "x.squeeze(0)",
        "same",
    ),
    Case(
        "a row of several",
        "JM502",
        MAPPED.format(body='lax.psum(x[0] ** 2, "data")', spec='P("data")', rows=16),
        "x[0]",
        "x.squeeze(0)",
        "raises",
    ),
    Case(
        "rows of a tree",
        "JM502",
        MESH
        + """\
def total(batch):
    row = jax.tree.map(lambda a: a[0], batch)
    return lax.psum(row["x"] * row["y"], "data")


p_total = jax.jit(jax.shard_map(total, mesh=mesh, in_specs=P("data"), out_specs=P()))
RESULT = p_total({"x": jnp.arange(8.0), "y": jnp.ones(8)})
""",
        "lambda a: a[0]",
        "lambda a: a.squeeze(0)",
        "same",
    ),
    Case(
        "a scalar",
        "JM502",
        MAPPED.format(body='lax.psum(jnp.sum(x), "data")', spec='P("data")', rows=8).replace(
            "p_total(x)", "p_total(x)[0]"
        ),
        "p_total(x)[0]",
        "p_total(x)",
        "runs",
    ),
    Case(
        "a mesh",
        "JM504",
        "import jax.sharding\n" + EXPLICIT.format(mesh='jax.make_mesh((8,), ("i",))').replace("np.", "jnp."),
        'jax.make_mesh((8,), ("i",))',
        'jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))',
        "runs",
    ),
]


def without_fix() -> list[tuple[str, str, str]]:
    """The programs of `without_fix.txt`: the code of what is found, why it has no fix, and the text."""
    _, *blocks = Path(__file__).with_name("without_fix.txt").read_text(encoding="utf-8").split("\n### ")
    parts = [block.partition("\n") for block in blocks]
    return [(*head.split(": ", 1), text) for head, _, text in parts]  # type: ignore[misc]


WITHOUT = without_fix()


def source(text: str) -> SourceFile:
    return decode(text.encode(), "a.py", Path("/project/a.py"))


def found(text: str) -> list[Finding]:
    return lint([source(text)], Config())


def fixed(text: str) -> str:
    wanted = [finding.fix for finding in found(text) if finding.fix.edits]
    after, _, left = applied(source(text), wanted)
    assert not left
    return after


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fix_writes_what_an_expert_would(case: Case) -> None:
    compile(case.before, "a.py", "exec")
    first, *_ = [finding for finding in found(case.before) if finding.fix.edits]
    assert first.code == case.code
    after = fixed(case.before)
    if case.code == "JM504":
        assert "import AxisType" in after
        after = after.replace("from jax.sharding import AxisType\n", "").replace("import AxisType, Mesh", "import Mesh")
    assert after == case.after
    assert not [finding for finding in found(after) if finding.code == case.code]
    assert fixed(after) == after


@pytest.mark.parametrize(("code", "why", "text"), WITHOUT, ids=[f"{code}: {why}" for code, why, _ in WITHOUT])
def test_no_fix_where_several_are_right_or_none_is_sure(code: str, why: str, text: str) -> None:
    compile(text, "a.py", "exec")
    findings = found(IMPORTS + text)
    assert not [finding for finding in findings if finding.code == code and finding.fix.edits], why


def test_most_of_these_are_found_though_they_have_no_fix() -> None:
    """Else they would say nothing of fixes."""
    told = [any(one.code == code for one in found(IMPORTS + text)) for code, _, text in WITHOUT]
    assert sum(told) >= 0.7 * len(told)


def test_the_rules_that_offer_fixes_say_so() -> None:
    assert sorted({case.code for case in CASES}) == sorted(fixes()) == sorted({code for code, *_ in WITHOUT})


@cache
def outcomes() -> dict[str, dict[str, Any]]:
    """What each program gives before and after its fix, on 8 devices, all in one child."""
    programs = [Program(f"{case.name}: before", {"main.py": case.before}) for case in CASES]
    programs += [Program(f"{case.name}: after", {"main.py": fixed(case.before)}) for case in CASES]
    return run(programs)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_numbers_are_those_that_the_finding_says(case: Case) -> None:
    before, after = (outcomes()[f"{case.name}: {which}"] for which in ("before", "after"))
    if case.then == "runs":
        assert before["error"]
        assert not after["error"]
    elif case.then == "raises":
        assert not before["error"]
        assert "squeeze" in after["error"]
    elif case.then == "same":
        assert not before["error"]
        assert after["result"] == before["result"]
    else:
        one, other = (np.frombuffer(bytes.fromhex(o["result"]["bytes"]), o["result"]["dtype"]) for o in (before, after))
        np.testing.assert_allclose(other, one, rtol=1e-6)
