"""PartitionSpecs that functions of the program, or flax's tables of logical names, give: what is found behind them."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import dataclasses
import flax.linen as nn
import jax
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
RULES = (("batch", "data"), ("embed", None), ("mlp", "model"))
"""
MAIN = """
def main(x, w, v, devices):
    mesh = Mesh(devices.reshape(2, 4), ("data", "model"))
    def ffn(x, w, v):
        return {body}
    specs = ({names})
    return jax.shard_map(ffn, mesh=mesh, in_specs=specs, out_specs={out}, check_vma=False)(x, w, v)
"""
TABLE = """
def spec(names, rules):
    table = dict(rules)
    return P(*(table.get(n) for n in names))
"""
STARS = """
def spec(*names):
    axes = []
    for n in names:
        if n is None:
            axes.append(None)
        else:
            axes.append(dict(RULES)[n])
    return P(*axes)
"""
FIELD = """
@dataclasses.dataclass
class Config:
    rules: tuple = RULES
cfg = Config()
def spec(names, rules):
    return P(*[axis_of(n, rules) for n in names])
def axis_of(name, rules):
    for key, axis in rules:
        if key == name:
            return axis
"""
DISPLAY = """
AXES = {"batch": "data", "embed": None, **{"mlp": "model"}}
def spec(*names):
    return P(*[AXES[n] if n in AXES else None for n in names])
"""
CONTEXT = """
def run(f):
    with nn.logical_axis_rules(RULES):
        return f()
"""
WAYS = {  # what gives a spec of two logical names
    "a function with a table": (TABLE, "spec(({}, {}), RULES)"),
    "a loop over stars": (STARS, "spec({}, {})"),
    "rules of a configuration": (FIELD, "spec(({}, {}), cfg.rules)"),
    "a dictionary of its own": (DISPLAY, "spec({}, {})"),
    "flax's, with rules": ("", "nn.logical_to_mesh_axes(({}, {}), RULES)"),
    "flax's, with rules by name": ("", "nn.logical_to_mesh_axes(({}, {}), rules=RULES)"),
    "flax's, in a context": (CONTEXT, "nn.logical_to_mesh_axes(({}, {}))"),
}


def found(way: str, body: str, out: str = "'batch', 'embed'") -> set[str]:
    """The codes of what is found in a layer of two products."""
    before, call = WAYS[way]
    specs = [call.format(*pair) for pair in (("'batch'", "'embed'"), ("'embed'", "'mlp'"), ("'mlp'", "'embed'"))]
    out = call.format(*out.split(", "))
    text = PRELUDE + before + MAIN.format(body=body, names=", ".join(specs), out=out)
    compile(text, "a.py", "exec")
    codes = {one.code for one in lint([decode(text.encode(), "a.py", None)], Config())}
    return {code for code in codes if code.startswith(("JM1", "JM2"))}


@pytest.mark.parametrize("way", WAYS)
def test_specs_that_are_worked_out(way: str) -> None:
    """A product over a divided dimension without its sum is found, and with it, or for other specs, nothing."""
    assert found(way, "(x @ w) @ v") == {"JM201"}
    assert found(way, "lax.psum((x @ w) @ v, 'model')") == set()
    assert found(way, "x @ w", "'batch', 'mlp'") == set()


@pytest.mark.parametrize("way", ["a function with a table", "a loop over stars", "flax's, with rules"])
def test_a_table_that_is_not_in_sight(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another package has in its table is not guessed."""
    before, call = WAYS[way]
    monkeypatch.setitem(WAYS, "elsewhere", ("from elsewhere import RULES\n" + before, call))
    assert found("elsewhere", "(x @ w) @ v") == set()
