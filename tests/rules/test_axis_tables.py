"""Tables of a program's own that translate names of dimensions into axes of its mesh."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import collections
import dataclasses
import typing
import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""


def found(text: str) -> list[tuple[str, int]]:
    """The codes of what is found in a module, with the lines of its text."""
    source = decode((PRELUDE + text).encode(), "a.py", None)
    lines = PRELUDE.count("\n")
    return [(one.code, one.line - lines) for one in lint([source], Config()) if not one.code.startswith(("JM4", "JM5"))]


KINDS = (
    'Rules = collections.namedtuple("Rules", ["rows", "columns"])\n',
    "@dataclasses.dataclass\nclass Rules:\n    rows: object\n    columns: object\n",
    "class Rules(typing.NamedTuple):\n    rows: object\n    columns: object\n",
)
TABLE = """\
rules = Rules(rows={rows!r}, columns={columns!r})
def spec(logical: P, table: Rules):
    return P(*(getattr(table, name) for name in logical))
mesh = Mesh(jax.devices(), ("x",))
def place(value):
    return jax.device_put(value, NamedSharding(mesh, spec(("rows", "columns"), rules)))
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("rows", "columns", "codes"),
    [("x", None, []), (None, "x", []), ("y", None, ["JM102"]), (("x", "y"), None, ["JM102"]), ("x", "x", ["JM103"])],
)
def test_a_record_names_axes_of_the_mesh(kind: str, rows: object, columns: object, codes: list[str]) -> None:
    """Each is one of the mesh's, and one array is split over it once."""
    lines = kind.count("\n")
    assert found(kind + TABLE.format(rows=rows, columns=columns)) == [(code, lines + 1) for code in codes]


def test_a_record_that_makes_no_spec_names_no_axes() -> None:
    """Other records have fields of any text."""
    assert found(KINDS[0] + 'mesh = Mesh(jax.devices(), ("x",))\nnames = Rules(rows="x", columns="of y")\n') == []


def test_a_record_is_for_the_mesh_that_it_is_given_with() -> None:
    """Where a call is given both, the other meshes of the program do not count."""
    text = KINDS[0] + TABLE.format(rows="x", columns=None)
    text += 'other = Mesh(jax.devices(), ("data",))\ndef run(table, mesh): ...\nrun(rules, mesh={mesh})\n'
    assert found(text.format(mesh="mesh")) == []
    assert found(text.format(mesh="other")) == [("JM102", 2)]


PAIRS = """\
from flax import linen as nn
logical_axis_rules = (("batch", "data"), ("embed", None), ("heads", {axis!r}))
mesh = jax.make_mesh((4, 2), ("data", "model"))
def shardings(specs):
    return nn.logical_to_mesh_sharding(specs, mesh, logical_axis_rules)
"""


@pytest.mark.parametrize(("axis", "codes"), [("model", []), ("modle", [("JM102", 2)]), (("data", "model"), [])])
def test_pairs_name_axes_of_the_mesh(axis: object, codes: list[tuple[str, int]]) -> None:
    """The second of each pair of flax's rules is one of the program's axes, or several, or none."""
    assert found(PAIRS.format(axis=axis)) == codes


def test_rules_of_other_things_are_not_of_axes() -> None:
    """A list of pairs in a program that has no logical axes is something else."""
    text = 'mesh = Mesh(jax.devices(), ("data",))\nstyle_rules = (("title", "bold"), ("text", "plain"))\n'
    assert found(text) == []
