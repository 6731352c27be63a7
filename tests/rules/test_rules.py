"""Each rule's bad.py is reported to the line, and its good.py not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jaxmigrate.rules import checks

from jaxmigrate.config import Config
from jaxmigrate.lint.examine import concerns
from jaxmigrate.lint.linting import lint
from jaxmigrate.migrate import fix_files
from jaxmigrate.sources import decode, read_source

RULES = Path(__file__).parents[2] / "rules"
MARK = re.compile(r"# (JM\d{3})\s*$")


def found(text: str) -> list[tuple[int, str]]:
    """Line and code of each finding in a text."""
    findings = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [(finding.line, finding.code) for finding in findings]


@pytest.mark.parametrize("rule", sorted(checks()))
def test_bad_is_reported_to_the_line(rule: str) -> None:
    text = (RULES / rule / "bad.py").read_text()
    marked = [(n, m[1]) for n, line in enumerate(text.splitlines(), 1) if (m := MARK.search(line))]
    assert marked
    assert found(text) == marked
    assert concerns(text)  # else the command never parses such a file


@pytest.mark.parametrize("folder", sorted(p.parent.name for p in RULES.glob("*/good.py")))
def test_good_is_silent(folder: str) -> None:
    assert found((RULES / folder / "good.py").read_text()) == []


# old names that `fix` replaces, in_axes, of which no spec is left, what is static and what a pmap stacks
OF_PMAP = ("JM410", "JM41", "JM420", "JM107", "JM109", "JM117", "JM118", "JM121", "JM508")


@pytest.mark.parametrize("folder", sorted(p.parent.name for p in RULES.glob("*/bad.py")))
def test_findings_survive_the_rewrite(folder: str) -> None:
    """What is wrong under pmap is as wrong under shard_map: meshes and bodies are followed through functions."""
    text = (RULES / folder / "bad.py").read_text()
    after = fix_files({"a.py": text})["a.py"]
    codes = [code for _, code in found(text) if not code.startswith(OF_PMAP)]
    assert [code for _, code in found(after) if not code.startswith(OF_PMAP)] == codes


PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nfrom functools import partial\n"


@pytest.mark.parametrize(
    "text",
    [
        # through calls, lambdas, transformations, partials, closures and methods
        (
            "def g(x): return lax.psum(x, 'bacth')\ndef f(x): return jax.grad(lambda y: g(y).sum())(x)\n"
            "p = jax.pmap(f, 'batch')"
        ),
        "def f(x, axis): return lax.psum(x, axis)\np = jax.pmap(partial(f, axis='device'), axis_name='batch')",
        "def make(axis):\n    def f(x): return lax.psum(x, axis)\n    return f\np = jax.pmap(make('j'), axis_name='i')",
        (
            "class A:\n    axis = 'j'\n    def f(self, x): return lax.pmean(x, self.axis)\n"
            "    def run(self, x): return jax.pmap(self.f, axis_name='i')(x)"
        ),
        (
            "def body(c, x): return c + lax.psum(x, 'k'), None\ndef f(x): return lax.scan(body, 0., x)\n"
            "p = jax.pmap(f, axis_name='i')"
        ),
        "pmap = partial(jax.pmap, axis_name='i')\n@pmap\ndef f(x): return lax.all_gather(x, 'j')",
        "def spread(f, axis): return jax.pmap(f, axis_name=axis)\np = spread(lambda x: lax.psum(x, 'j'), 'i')",
        "p = jax.pmap(jax.vmap(lambda x: lax.psum(x, ('i', 'c')), axis_name='b'), axis_name='i')",
        "def f(x): return lax.axis_index('j')\np = jax.jit(jax.pmap(f, 'i'))",
        (
            "def f(x, gather=False):\n    if gather: x = lax.all_gather(x, 'j')\n    return x\n"
            "p = jax.pmap(partial(f, gather=True), 'i')"
        ),
        (
            "def f(x, m, full=False):\n    if full: x = lax.all_gather(x, 'j')\n    return x\n"
            "def main(c): return jax.pmap(partial(f, m=1, full=c.full), 'i')"
        ),
        "def f(x, c):\n    if c.verbose: x = lax.all_gather(x, 'j')\n    return x\np = jax.pmap(f, 'i')",
    ],
)
def test_an_unbound_axis_is_found(text: str) -> None:
    assert [code for _, code in found(PRELUDE + text + "\n")] == ["JM101"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x): return lax.psum(x, 'batch')",
        "def f(x, axis=None): return x if axis is None else lax.psum(x, axis)\np = jax.pmap(f)",
        "def f(x, axis='batch'): return lax.psum(x, axis)\ndef g(x): return jax.pmap(partial(f, axis='i'), 'i')(x)",
        "import lib\nf = lib.vmap(lambda x: lax.psum(x, 'b'), axis_name='b')\np = jax.pmap(f, 'i')",
        "def f(x, sync=False):\n    if sync:\n        x = lax.psum(x, 'device')\n    return x\np = jax.pmap(f, 'i')",
        "p = jax.pmap(jax.vmap(lambda x: lax.psum(x, ('i', 'b')), axis_name='b'), axis_name='i')",
        "def make(name): return jax.pmap(lambda x: lax.psum(x, name), axis_name=name)\np = make('q')",
        "def f(x, gather=False):\n    if gather: x = lax.all_gather(x, 'j')\n    return x\np = jax.pmap(f, 'i')",
        "def f(self, x):\n    return lax.psum(x, 'j') if self.sync else x\np = jax.pmap(partial(f, m), 'i')",
        "def f(x):\n    try:\n        lax.psum(x, 'j')\n    except NameError:\n        return x\np = jax.pmap(f, 'i')",
        (
            "def g(x): return lax.psum(x, 'j')\ndef f(x):\n    try: lax.axis_size('j')\n"
            "    except NameError: return x\n    return g(x)\np = jax.pmap(f, 'i')"
        ),
        "def test():\n    with pytest.raises(NameError):\n        jax.pmap(lambda x: lax.psum(x, 'ij'), 'i')(1)",
        (
            "def main(params):\n    def step(x): return lax.psum(x, 'i')\n    f = jax.pmap(step, 'i')\n"
            "    def step(x): return f(x)\n    return step(params)"
        ),
        "def f(x): return lax.psum(x, 'i')\njax.pmap(f, 'i')(1)\ndef f(x): return x\njax.pmap(f)(1)",
        "x = jax.numpy.ones(3)\nx = jax.tree.map(lambda a: a, x)\nx = x(x)",
        "def f(mesh, x): return jax.shard_map(lambda y: lax.psum(y, 'm'), mesh=mesh, in_specs=None, out_specs=None)(x)",
        # what stands before a `/` takes nothing by keyword
        "def f(x, axis='i', /, **kw): return lax.psum(x, axis)\np = jax.pmap(lambda x: f(x, axis='j'), 'i')",
        "def f(x, /, **kw): return lax.psum(x, 'i')\np = jax.pmap(lambda x: f(x, x=lax.psum(x, 'i')), 'i')",
    ],
)
def test_silence(text: str) -> None:
    assert found(PRELUDE + text + "\n") == []


UPDATE = """
def loss(p, b): return jnp.mean((b @ p) ** 2)
def step(p, s, b):
    l, g = jax.value_and_grad(loss)(p, b)
    {reduce}
    u, s = opt.update(g, s, p)
    p = optax.apply_updates(p, u)
    {after}
    return p, s, {metrics}
p = jax.pmap(step, axis_name='i')
"""


@pytest.mark.parametrize(
    ("reduce", "after", "metrics", "codes"),
    [
        ("pass", "pass", "lax.pmean(l, 'i')", ["JM201"]),
        ("g = lax.pmean(g, 'i')", "pass", "lax.pmean(l, 'i')", []),
        ("g = jax.tree.map(lambda x: lax.psum(x, 'i') / 8, g)", "pass", "lax.pmean(l, 'i')", []),
        ("l, g = lax.pmean((l, g), 'i')", "pass", "l", []),
        ("pass", "p, s = lax.pmean((p, s), 'i')", "lax.pmean(l, 'i')", []),  # averages the models instead
        ("pass", "pass", "l", ["JM201"]),  # what else is the axis's name for?
    ],
)
def test_gradients_that_reach_the_update(reduce: str, after: str, metrics: str, codes: list[str]) -> None:
    text = PRELUDE + "import optax\nopt = optax.adam(1.)\n" + UPDATE.format(reduce=reduce, after=after, metrics=metrics)
    assert [code for _, code in found(text)] == codes


def test_an_ensemble_shares_nothing() -> None:
    """It has no use for a name of its axis; one that a step solves on its way starts an optimizer of its own."""
    text = PRELUDE + "import optax\nopt = optax.adam(1.)\n" + UPDATE.format(reduce="pass", after="pass", metrics="l")
    assert found(text.replace(", axis_name='i'", "")) == []
    inner = text.replace("def step(p, s, b):", "def step(b, q):\n    p = q\n    s = opt.init(q)")
    assert found(inner) == []


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("    if jax.process_index() == 0:\n        ev(x)", ["JM301"]),
        ("    chief = jax.process_index() == 0\n    if chief:\n        print(ev(x))", ["JM301"]),
        ("    if jax.process_index() != 0:\n        return\n    y = ev(x)\n    print(y)", ["JM301"]),
        ("    for y in x:\n        if jax.process_index():\n            continue\n        ev(y)", ["JM301"]),
        ("    if jax.process_index() == 0:\n        helper(x)", ["JM301"]),
        ("    if jax.process_index() == 0:\n        ev(x)\n    else:\n        ev(2 * x)", []),
        ("    y = ev(x)\n    if jax.process_index() == 0:\n        print(y)", []),
        ("    if jax.process_count() > 1:\n        ev(x)", []),
        ("    if jax.process_index() == 0:\n        return print(x)", []),
        (
            "    for y in x:\n        with y:\n            if jax.process_index():\n                return\n    ev(x)",
            ["JM301"],
        ),
        (
            "    for y in x:\n        if y:\n            if jax.host_id():\n                continue\n        ev(y)",
            ["JM301"],
        ),
        ("    for y in x:\n        ev(y)\n        if jax.process_index():\n            break", ["JM301"]),
        ("    for y in x:\n        ev(y)\n        if jax.process_index():\n            continue\n        print(y)", []),
        ("    for y in range(jax.process_index()):\n        ev(x)", ["JM301"]),
        ("    for y in range(jax.process_index(), 100, jax.process_count()):\n        print(y)", []),
        ("    print(ev(x) if jax.process_index() == 0 else None)", ["JM301"]),
        ("    jax.process_index() == 0 and ev(x)", ["JM301"]),
        ("    y = ev(x) if jax.process_index() == 0 else ev(2 * x)", []),
        ("    if chief():\n        ev(x)", ["JM301"]),
        ("    if not chief():\n        return\n    helper(x)", ["JM301"]),
        ("    if chief():\n        print(ev)", []),
        ("    try:\n        print(x)\n    except OSError:\n        if chief():\n            ev(x)", ["JM301"]),
        ("    if chief():\n        raise ValueError\n    ev(x)", []),
    ],
)  # fmt: skip
def test_operations_that_some_processes_miss(body: str, codes: list[str]) -> None:
    text = PRELUDE + "ev = jax.pmap(lambda x: lax.psum(x, 'i'), 'i')\ndef helper(x): return ev(x)\n"
    text += "def chief(): return jax.process_index() == 0\ndef main(x):\n"
    assert [code for _, code in found(text + body + "\n") if code != "JM410"] == codes  # host_id is an old name


def test_across_modules() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/names.py": "AXIS = 'batch'\n",
        "pkg/model.py": "from jax import lax\nfrom . import names\ndef f(x): return lax.psum(x, names.AXIS + '')\n"
        "def g(x): return lax.psum(x, 'devices')\n",
        "train.py": "import jax\nfrom pkg import model, names\np = jax.pmap(model.g, axis_name=names.AXIS)\n",
    }
    sources = [decode(text.encode(), name, Path("/project") / name) for name, text in files.items()]
    (finding,) = lint(sources, Config())
    assert (finding.path, finding.line, finding.code) == ("pkg/model.py", 4, "JM101")
    assert [note.path for note in finding.notes] == ["train.py"]


def test_files_that_do_not_parse_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("import jax\njax.pmap(\n")
    assert lint([read_source(path)], Config()) == []


def test_mapped_functions_that_come_out_of_a_tuple() -> None:
    text = PRELUDE + (
        "def make(n):\n    train = jax.pmap(lambda x: lax.psum(x, 'i'), 'i')\n    return train, n\n"
        "def main(x):\n    train, _ = make(3)\n    if jax.process_index() == 0:\n        x = train(x)\n    return x\n"
    )
    assert [code for _, code in found(text)] == ["JM301"]


@pytest.mark.parametrize(
    ("reduce", "codes"),
    [
        ("partial(lax.pmean, axis_name='i')", ["JM301"]),
        ("partial(partial(lax.pmean), axis_name='i')", ["JM301"]),
        ("partial(kfac_jax.utils.pmean_if_pmap, axis_name='i')", ["JM301"]),
        ("partial(jnp.mean, axis=0)", []),
    ],
)
def test_collectives_with_their_axis_given_before(reduce: str, codes: list[str]) -> None:
    """A project's own `pmean`, reached through a function that the factory around a step is given."""
    text = PRELUDE + (
        f"import kfac_jax\nmean = {reduce}\n"
        "def make_move():\n    @jax.jit\n    def move(x): return mean(x)\n    return move\n"
        "def make(move):\n    @partial(jax.pmap, axis_name='i')\n    def step(x):\n"
        "        if jax.process_index() == 0:\n            x = move(x)\n        return x\n    return step\n"
        "def main(x): return make(make_move())(x)\n"
    )
    assert [code for _, code in found(text)] == codes


def test_branches_with_one_collective_written_in_two_ways() -> None:
    text = PRELUDE + (
        "mean = partial(lax.pmean, axis_name='i')\n"
        "@partial(jax.pmap, axis_name='i')\ndef step(x):\n"
        "    if jax.process_index() == 0:\n        return mean(x)\n    return lax.pmean(2 * x, axis_name='i')\n"
    )
    assert [code for _, code in found(text)] == []


TABLE = """
class Model:
    @property
    def losses(self): return {"one": self.one, "two": self.two}
    def one(self, x): return lax.pmean(x, axis_name=AXIS)
    def two(self, x): return x
    def loss(self, kind, x): return LOOKED_UP(x)
    def train(self, kinds, x):
        def step(x): return sum(self.loss(kind, x) for kind in kinds)
        return jax.pmap(step, axis_name="batch")(x)
"""


@pytest.mark.parametrize("looked_up", ["self.losses[kind]", "self.losses.get(kind)"])
@pytest.mark.parametrize(
    ("axis", "more", "codes"),
    [
        ("'bacth'", "", ["JM101"]),
        ("'model'", "", ["JM101"]),
        ("'batch'", "", []),
        # it may be meant for another map
        ("'model'", "def other(f, x): return jax.pmap(f, 'model')(x)\n", []),
    ],
)
def test_functions_that_are_looked_up_by_a_key(looked_up: str, axis: str, more: str, codes: list[str]) -> None:
    text = PRELUDE + TABLE.replace("AXIS", axis).replace("LOOKED_UP", looked_up) + more
    assert [code for _, code in found(text)] == codes


@pytest.mark.parametrize(
    "table",
    [
        "LOSSES = {'one': one, 'two': jnp.sum}\ndef loss(kind, x): return LOSSES[kind](x)\n",
        "def loss(kind, x): return {'one': one, 'two': jnp.sum}[kind](x)\n",
        (
            "class Losses:\n    def __init__(self): self.all = {'one': one}\n"
            "    def loss(self, kind, x): return self.all[kind](x)\nloss = Losses().loss\n"
        ),
    ],
)
def test_tables_of_functions(table: str) -> None:
    text = PRELUDE + "def one(x): return lax.pmean(x, 'bacth')\n" + table
    text += "def main(kind, x): return jax.pmap(lambda y: loss(kind, y), axis_name='batch')(x)\n"
    assert [code for _, code in found(text)] == ["JM101"]


def test_a_map_that_is_looked_up_by_a_key_binds_no_axis_again() -> None:
    text = PRELUDE + (
        "TABLE = {'inner': jax.pmap(jnp.sum, 'i')}\ndef f(x, kind): return TABLE[kind](x)\n"
        "step = jax.pmap(partial(f, kind=None), 'i')\n"
    )
    assert [code for _, code in found(text)] == []
