"""Axes that are out of sight where they are named: symbols for those in fields, and names that nothing binds."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import functools
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
"""


def found(text: str) -> list[tuple[str, int]]:
    """The codes of what is found in a module, with the lines of its text."""
    source = decode((PRELUDE + text).encode(), "a.py", None)
    lines = PRELUDE.count("\n")
    return [(one.code, one.line - lines) for one in lint([source], Config()) if not one.code.startswith(("JM4", "JM5"))]


TRAINER = """\
class Trainer:
    def __init__(self, mesh, data_axis):
        self.mesh = mesh
        self.data_axis = data_axis

    def step(self, params, batch):
        def body(params, batch):
            loss = jnp.mean(batch @ params)
            return {returned}

        spec = P(self.data_axis)
        return jax.jit(jax.shard_map(
            body, mesh=self.mesh, in_specs=(P(), spec), out_specs=P(), check_vma=False
        ))(params, batch)
"""


@pytest.mark.parametrize(
    ("returned", "codes"),
    [
        ("loss", [("JM201", 13)]),
        ("lax.pmean(loss, self.data_axis)", []),
        ("lax.pmean(loss, 'data')", []),  # which may be the field's name
        ("lax.pmean(loss, self.other_axis)", []),
    ],
)
def test_an_axis_in_a_field_is_one_axis_in_specs_and_collectives(returned: str, codes: list[tuple[str, int]]) -> None:
    """`P(self.data_axis)` splits over what `pmean(x, self.data_axis)` reduces over; of others nothing is known."""
    assert found(TRAINER.format(returned=returned)) == codes


QUOTED = """\
def mean(x, data_axis):
    return lax.pmean(x, {axis})
"""


@pytest.mark.parametrize(
    ("axis", "codes"), [("'data_axis'", [("JM101", 2)]), ("data_axis", []), ("'data'", []), ("'axis'", [])]
)
def test_the_name_of_a_variable_in_quotes(axis: str, codes: list[tuple[str, int]]) -> None:
    """Is no axis, whatever runs around it."""
    assert found(QUOTED.format(axis=axis)) == codes


def test_a_variable_that_holds_its_own_name() -> None:
    """Is an axis by that name."""
    assert found("def mean(x):\n    data_axis = 'data_axis'\n    return lax.pmean(x, 'data_axis')\n") == []


LIBRARY = """\
mesh = Mesh(jax.devices(), ("{bound}",))


def norm(x):
    return lax.pmean(x, "{named}")


def spread(x):
    return lax.psum(x * x, "{named}") - lax.axis_index("{named}")
"""


def test_an_axis_that_nothing_in_the_program_binds_is_told_once() -> None:
    """Where the axes of all meshes are known: a mesh was renamed."""
    assert found(LIBRARY.format(bound="devices", named="data")) == [("JM101", 5)]
    assert found(LIBRARY.format(bound="data", named="data")) == []


def test_an_axis_that_is_written_elsewhere_may_be_bound_out_of_sight() -> None:
    """A default, or an entry of a configuration, may reach a map that is not in sight."""
    more = "def run(axis='data'):\n    return other.run(axis)\n"
    assert found(LIBRARY.format(bound="devices", named="data") + more) == []


def test_an_axis_in_a_partial_is_told_where_it_is_written() -> None:
    """And not at the calls of the partial, which are right."""
    text = """\
total = functools.partial(lax.psum, axis_name="bathc")


@functools.partial(jax.pmap, axis_name="batch")
def step(x):
    return total(x) + total(x * x)
"""
    assert found(text) == [("JM101", 1)]


CALLED_BACK = """\
def step(x):
    {callback}
    return x
"""


@pytest.mark.parametrize(
    ("callback", "codes"),
    [
        ("jax.debug.callback(lambda s: print(lax.psum(s, 'i')), x)", [("JM101", 2)]),
        ("jax.debug.callback(lambda s: print(s), lax.psum(x, 'i'))", []),
        ("jax.debug.callback(print, x)", []),
    ],
)
def test_a_collective_that_the_host_calls_back(callback: str, codes: list[tuple[str, int]]) -> None:
    """Has no axis there, whatever map the callback runs in."""
    assert found(CALLED_BACK.format(callback=callback)) == codes


@pytest.mark.parametrize(
    ("name", "codes"), [("lr", [("JM207", 2)]), ("state.learning_rate", [("JM207", 2)]), ("n", [])]
)
def test_a_sum_of_what_is_one_for_all(name: str, codes: list[tuple[str, int]]) -> None:
    """A learning rate is the same on all devices, and its sum is none."""
    assert found(f"def log(lr, state, n):\n    return lax.psum({name}, 'i')\n") == codes


@pytest.mark.parametrize(
    ("groups", "codes"),
    [
        ("[list(range(i, i + 4)) for i in range(0, n - 4, 4)]", [("JM108", 3)]),
        ("[list(range(i * 8, i * 8 + 8)) for i in range(n // 8 - 1)]", [("JM108", 3)]),
        ("[list(range(i, i + 4)) for i in range(0, n, 4)]", []),
        ("[list(range(i * 8, i * 8 + 8)) for i in range(n // 8)]", []),
    ],
)
def test_groups_for_each_host(groups: str, codes: list[tuple[str, int]]) -> None:
    """Hold all devices of the axis, of eight as of sixteen."""
    text = f"def mean(x):\n    n = jax.device_count()\n    groups = {groups}\n"
    assert found(text + "    return lax.pmean(x, 'i', axis_index_groups=groups)\n") == codes


EXPECTING = """\
mesh = Mesh(jax.devices(), ("data",))


def place(x, spec):
    return lax.with_sharding_constraint(x, spec)


{text}
"""
RAISES = "    with pytest.raises(ValueError):\n        place(1, {})\n"
SET_UP = """\
class Test:
    def setUp(self):
        self.spec = P("dtaa")

    def test_a(self):
        self.assertRaises(ValueError, place, 1, self.spec)
"""


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("def test_a(x):\n    place(x, P('dtaa'))\n", [("JM102", 9)]),
        ("def test_a(x):\n    place(x, P('dtaa'))\n" + RAISES.format("2"), [("JM102", 9)]),
        ("def test_a():\n" + RAISES.format("P('dtaa')"), []),
        ("def test_a():\n    spec = P('dtaa')\n" + RAISES.format("spec"), []),
        ("def test_a():\n    a, b = P('dtaa'), 1\n" + RAISES.format("a"), []),
        ("def test_a():\n    spec = P('dtaa')\n    print(spec)\n" + RAISES.format("2"), [("JM102", 9)]),
        ("def made():\n    return P('dtaa')\ndef test_a():\n" + RAISES.format("made()"), []),
        ("def made():\n    return P('dtaa')\ndef test_a():\n" + RAISES.format("2"), [("JM102", 9)]),
        (SET_UP, []),
        ("@pytest.mark.parametrize('spec', [P('dtaa')])\ndef test_a(spec):\n" + RAISES.format("spec"), []),
        ("@pytest.mark.parametrize('spec', [P('dtaa')])\ndef test_a(spec):\n    place(1, spec)\n", [("JM102", 8)]),
    ],
)  # fmt: skip
def test_a_slip_that_a_test_expects_to_raise(text: str, codes: list[tuple[str, int]]) -> None:
    """Is one where that very spec comes to be used under `raises`; others in the module are told."""
    assert found(EXPECTING.format(text=text)) == codes
