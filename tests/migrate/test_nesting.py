"""Maps inside maps: rewritten ones give what jax.pmap gave when it still took them; others are left with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.migrate import Plan, fix_files
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from jaxmigrate.sources import decode
from tests.migrate.forms.running import Program, Verdict, run
from tests.migrate.nested_programs import PRELUDE, programs, recorded


def fixed(text: str) -> str:
    return fix_files({"main.py": text})["main.py"]


def verdicts_of(texts: dict[str, str]) -> dict[str, Verdict]:
    return {v.name: v for v in run(Program(name, {"main.py": text}, None) for name, text in texts.items())}


def planned(files: dict[str, str]) -> Plan:
    plan, errors = plan_sources(
        [(name, Path("/project") / name, text) for name, text in files.items()], PlanOptions(marks=True)
    )
    assert not errors
    return plan


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What each rewritten program returns."""
    verdicts = verdicts_of({name: fixed(text) for name, text in programs().items()})
    return {name: json.loads(v.text) if v.verdict == "agrees" else v.text for name, v in verdicts.items()}


@pytest.mark.parametrize("name", programs())
def test_gives_what_pmap_gave(name: str, found: dict[str, Any]) -> None:
    after = fixed(programs()[name])
    assert "pmap" not in after, after
    assert isinstance(found[name], list), found[name]
    assert [row[:4] for row in found[name]] == recorded()[name]
    assert fixed(after) == after


def test_lint_has_nothing_to_say_of_them() -> None:
    after = [
        decode(fixed(text).encode(), f"{name}.py", Path(f"/project/{name}.py")) for name, text in programs().items()
    ]
    wrong = [f for f in lint(after, Config()) if (f.path, f.code) != ("under_a_condition.py", "JM301")]
    assert not wrong, wrong


RAISING = {
    "gradient": "call = vars(jax)['grad']\n"
    "def f(x): return call(lambda v: jax.pmap(lambda y: y * y, 'j')(v).sum())(x)\n"
    "def main(): return jax.pmap(f, 'i')(X)",
    "rows": "def f(x): return jax.pmap(lambda y: y, 'j')(x), jax.pmap(lambda y: y, 'j')(x[:2])\n"
    "def main(): return jax.pmap(f, 'i')(X)",
}


NO_AXIS = {
    "in_place": "p = jax.pmap(jax.pmap(lambda y: y, 'j'), 'i')\ndef main(): return p(jnp.ones(2))",
    "inside": "def f(x): return x + jax.pmap(lambda y: y, 'j')(1.0)\ndef main(): return jax.pmap(f, 'i')(X)",
    "inside_by_axes": (
        "def f(x): return jax.pmap(lambda y, w: y * w, 'j', in_axes=(0, None))(x.sum(), x)\n"
        "def main(): return jax.pmap(f, 'i')(X)"
    ),
}


def test_a_value_error_where_nothing_has_an_axis() -> None:
    """As pmap has it, whose callers may catch it."""
    after = {name: fixed(PRELUDE + text + "\n") for name, text in NO_AXIS.items()}
    assert not any("jax.pmap" in text for text in after.values())
    raised = {name: verdict.text.splitlines() for name, verdict in verdicts_of(after).items()}
    assert all(any(line.startswith("ValueError: ") for line in lines) for lines in raised.values()), raised


def test_what_cannot_be_seen_raises() -> None:
    """A gradient through a map inside, or two numbers of rows there, would give wrong numbers."""
    after = {name: fixed(PRELUDE + text + "\n") for name, text in RAISING.items()}
    assert not any("jax.pmap" in text for text in after.values())
    verdicts = verdicts_of(after)
    assert "NotImplementedError: take gradients inside the inner map" in verdicts["gradient"].text
    assert "ValueError: inner maps differ in rows: 4 and 2" in verdicts["rows"].text


INNER = "def f(x): return jax.pmap(abs, 'j')(x)\n"
LEFT = {
    "an alias": ("mapper = jax.pmap\ndef f(x): return mapper(abs, 'j')(x)\np = jax.pmap(f, 'i')\n", "alias"),
    "an alias around": ("mapper = jax.pmap\n" + INNER + "p = mapper(f, 'i')\n", "alias"),
    "a function around": (
        "def mapper(f, axis): return jax.pmap(f, axis)\np = mapper(mapper(abs, 'j'), axis='i')\n",
        "an alias or a wrapper of pmap",
    ),
    "a lambda around": (
        "make = lambda f: jax.pmap(f, 'i')\np = make(jax.pmap(abs, 'j'))\n",
        "an alias or a wrapper of pmap",
    ),
    "a keyword": ("def f(x): return jax.pmap(abs, 'j', axis_size=4)(x)\np = jax.pmap(f, 'i')\n", "axis_size"),
    "three": (
        "def g(x): return jax.pmap(abs, 'k')(x)\ndef f(x): return jax.pmap(g, 'j')(x)\np = jax.pmap(f, 'i')\n",
        "third",
    ),
    "two names": ("def f(x): return jax.pmap(abs, 'j')(x) + jax.pmap(abs, 'k')(x)\np = jax.pmap(f, 'i')\n", "'j', 'k'"),
    "one name": ("def f(x): return jax.pmap(abs, 'i')(x)\np = jax.pmap(f, 'i')\n", "same name"),
    "a gradient": (
        "def f(x): return jax.grad(lambda v: jax.pmap(abs, 'j')(v).sum())(x)\np = jax.pmap(f, 'i')\n",
        "main.py:2",
    ),
    "a gradient around": (INNER + "p = jax.pmap(f, 'i')\nq = jax.grad(lambda x: p(x).sum())\n", "main.py:4"),
    "another use": (INNER + "p = jax.pmap(f, 'i')\nq = f(3)\n", "elsewhere"),
    "another use inside": (
        "g = jax.pmap(abs, 'j')\ndef f(x): return g(x)\np = jax.pmap(f, 'i')\nq = g(3)\n",
        "elsewhere",
    ),
    "a use by a method": (INNER + "class A:\n    call = f\np = jax.pmap(f, 'i')\n", "elsewhere"),
    "a try": (
        "def f(x):\n    try: return jax.pmap(abs, 'j')(x)\n    except Exception: return x\np = jax.pmap(f, 'i')\n",
        "in a function with a try",
    ),
    "processes": (INNER + "p = jax.pmap(f, 'i')\nrank = jax.process_index()\n", "processes"),
    "processes, in place": (
        "p = jax.pmap(jax.pmap(abs, 'j'), 'i')\nrank = jax.process_index()\n",
        "processes",
    ),
    "an axis from the end": (INNER + "p = jax.pmap(f, 'i', in_axes=-1)\n", "front"),
}


@pytest.mark.parametrize("name", LEFT)
def test_left_with_a_reason(name: str) -> None:
    text, reason = LEFT[name]
    plan = planned({"main.py": "import jax\n" + text})
    left = [site for site in plan.sites if site.status == "left"]
    assert plan.files[0].after == plan.files[0].before
    assert "JM405" in {site.code for site in left}
    assert any(reason in site.reason for site in left), [site.reason for site in left]


def test_a_map_inside_in_another_module_is_left() -> None:
    files = {"model.py": "import jax\n" + INNER, "main.py": "import jax\nimport model\np = jax.pmap(model.f, 'i')\n"}
    plan = planned(files)
    assert {s.id: s.code for s in plan.sites} == {"model.py:2:18": "JM405", "main.py:3:5": "JM405"}


RULES = Path(__file__).parents[2] / "rules"


@pytest.mark.parametrize("folder", sorted(p.parent.name for p in RULES.glob("jm40[2-5]*/bad.py")))
def test_examples_of_what_is_left(folder: str) -> None:
    """What the pages of JM402 to JM405 show as bad is left under that code, and what they show as good is not."""
    bad, good = (planned({"a.py": (RULES / folder / f"{name}.py").read_text()}) for name in ("bad", "good"))
    assert {site.code for site in bad.sites} == {folder[:5].upper()}
    assert not any(site.code for site in good.sites)


def test_names_that_the_file_uses_are_not_shadowed() -> None:
    text = "import jax\n_InnerAxis = 1\ndef _shard_map_inside(): pass\n" + INNER + "p = jax.pmap(f, 'i')\n"
    assert "class _InnerAxis_(Exception)" in fixed(text)
    assert "return _shard_map_inside_(abs, 'j')(x)" in fixed(text)
