"""Small programs in which a careless move from stacked to global arrays changes numbers: none of theirs changes."""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from jaxmigrate.migrate.plan import Plan
from tests.layouts.running import Files, Program, plan, run_all
from tests.layouts.table import careless, expected, provable, traps
from tests.longer import chosen

TRAPS = traps()
PROVABLE = provable()
EVERY = {**TRAPS, **PROVABLE}
WRONG = {name: files for name, text in TRAPS.items() if (files := careless(text)) is not None}
KNOWN = {"zero_sized_leaf": "jit gives an empty output no sharding, and flax's unreplicate looks at its sharding"}
LONG = frozenset(EVERY) - {*sorted(EVERY)[::4]}  # of a fault, one of several programs mostly tells
Outcomes = dict[str, dict[str, Any]]


def cases(names: Iterable[str], known: Mapping[str, str] = MappingProxyType({})) -> list[Any]:
    """The parameters of a test that runs programs, with the known failures marked, and most programs as long."""
    found = []
    for name in names:
        marks = [pytest.mark.long] if name in LONG else []
        marks += [pytest.mark.xfail(reason=known[name], strict=True)] if name in known else []
        found.append(pytest.param(name, marks=marks))
    return found


@functools.cache
def planned(name: str) -> Plan:
    """What fix will do to a program."""
    return plan(EVERY[name])


def rewritten(name: str) -> Files:
    """The files of a program as fix leaves them."""
    return {file.path: file.after for file in planned(name).files}


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Outcomes:
    """What the originals, the rewritten and the careless programs end with.

    A program that fix cannot plan has no outcome: the test that asks for its files says why.
    """
    names = chosen(request, "name")
    programs: list[Program] = []  # what is made of one program side by side: JAX compiles what they share once
    for name, files in EVERY.items():
        if name not in names:
            continue
        programs.append(Program(name, files))
        with contextlib.suppress(Exception):
            programs.append(Program(f"rewritten {name}", rewritten(name), one_value=True))
        if name in WRONG:
            programs.append(Program(f"careless {name}", WRONG[name], careless=True))
    middle = len(programs) // 2
    found: Outcomes = {}
    for outcomes in run_all([programs[:middle], programs[middle:]]):
        found |= outcomes
    return found


@pytest.mark.parametrize("name", cases(EVERY, KNOWN))
def test_numbers_stay(name: str, outcomes: Outcomes) -> None:
    made = diff(name)
    before, after = outcomes[name], outcomes[f"rewritten {name}"]
    if before["error"]:
        assert after["error"], f"raised {before['error']}\nbefore, and does not any more\n{made}"
        return
    assert not after["error"], after["error"] + made
    assert after["result"] == before["result"], made
    assert after["printed"] == before["printed"], made


@pytest.mark.parametrize("name", cases(EVERY))
def test_only_those_raise_that_are_meant_to(name: str, outcomes: Outcomes) -> None:
    assert bool(outcomes[name]["error"]) == name.endswith("_raises"), outcomes[name]["error"]


@pytest.mark.parametrize("name", cases(WRONG))
def test_the_careless_rewrite_goes_wrong(name: str, outcomes: Outcomes) -> None:
    before, after = outcomes[name], outcomes[f"careless {name}"]
    assert not before["error"], before["error"]
    assert (after["result"], after["printed"]) != (before["result"], before["printed"])


@pytest.mark.parametrize("name", cases(EVERY))
def test_again_changes_nothing(name: str) -> None:
    assert {file.path: file.after for file in plan(rewritten(name)).files} == rewritten(name)


@pytest.mark.parametrize("name", PROVABLE)
def test_layouts_are_told(name: str) -> None:
    sites = {(site.path, site.line): site for site in planned(name).sites}
    for place, (arguments, outputs) in expected(PROVABLE[name]).items():
        assert [a.layout for a in sites[place].arguments] == arguments, place
        assert outputs is None or [o.layout for o in sites[place].outputs] == outputs, place


@pytest.mark.parametrize("name", PROVABLE)
def test_every_site_is_expected_to_be_something(name: str) -> None:
    assert set(expected(PROVABLE[name])) == {(site.path, site.line) for site in planned(name).sites}


@pytest.mark.parametrize("name", EVERY)
def test_says_what_it_is_about(name: str) -> None:
    assert ast.get_docstring(ast.parse(EVERY[name]["main.py"]))


def diff(name: str) -> str:
    """What fix made of a program."""
    lines: list[str] = []
    for path, after in rewritten(name).items():  # some are new
        before = EVERY[name].get(path, "")
        lines += difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
    return "\n" + "\n".join(lines)


SAID_TO_BE_REPLICATED = """
import jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
own = jax.shard_map(lambda x: x, mesh=Mesh(jax.devices(), "i"), in_specs=P("i"), out_specs=P(), check_vma=False)
RESULT = [float(np.asarray(one.data)[0]) for one in own(np.arange(8.0)).addressable_shards]
"""


def test_a_value_that_is_wrongly_called_replicated_is_seen() -> None:
    """NumPy would show each device's own, where a program stacks what they hold."""
    files = {"main.py": SAID_TO_BE_REPLICATED}
    (found,) = run_all([[Program("as it is", files), Program("one value", files, one_value=True)]])
    assert found["as it is"]["result"][1:] == [["float", f"{n}.0"] for n in range(8)]
    assert found["one value"]["result"][1:] == [["float", "0.0"]] * 8
