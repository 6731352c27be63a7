"""Maps of a project that reads `__wrapped__` of what it decorates: of a map, of other functions, or in a comment."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.decide import reads_wrapped
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.running import Program, run

STEP = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np

X = np.arange(16, dtype=np.float32).reshape(8, 2)


def step(x):
    return x + jnp.arange(x.ndim)[0] + x.ndim


"""
# How the map is made and used beside code that reads `__wrapped__`.
CALLED = {
    "called in place": """
RESULT = np.asarray(jax.pmap(step)(X)).tolist()
""",
    "called by a name of its function": """
def main():
    p_step = jax.pmap(step)
    first = p_step(X)
    return np.asarray(p_step(first)).tolist()


RESULT = main()
""",
    "decorated in a function": """
def main():
    @jax.pmap
    def p_step(x):
        return step(x)

    return np.asarray(p_step(X)).tolist()


RESULT = main()
""",
    "called in a function within": """
def main():
    p_step = jax.pmap(step)

    def again(x):
        return p_step(p_step(x))

    return np.asarray(again(X)).tolist()


RESULT = main()
""",
}
MAY_BE_READ = {
    "called": """
p_step = jax.pmap(step)
RESULT = np.asarray(p_step(X)).tolist()
""",
    "decorated": """
@jax.pmap
def p_step(x):
    return step(x)


RESULT = np.asarray(p_step(X)).tolist()
""",
    "an attribute": """
class Trainer:
    def __init__(self):
        self.p_step = jax.pmap(step)

    def run(self):
        return self.p_step(X)


RESULT = np.asarray(Trainer().run()).tolist()
""",
    "given to a function that calls it": """
def run(mapped, x):
    return mapped(x)


RESULT = np.asarray(run(jax.pmap(step), X)).tolist()
""",
    "read": """
p_step = jax.pmap(step)
RESULT = np.asarray(bare(p_step)(X)).tolist()
""",
    "read in place": """
RESULT = np.asarray(bare(jax.pmap(step))(X)).tolist()
""",
    "read of an attribute": """
class Trainer:
    def __init__(self):
        self.p_step = jax.pmap(step)


RESULT = np.asarray(bare(Trainer().p_step)(X)).tolist()
""",
    "read of an entry": """
steps = {'a': jax.pmap(step)}
RESULT = np.asarray(bare(steps['a'])(X)).tolist()
""",
    "read in a loop": """
for one in [jax.pmap(step)]:
    RESULT = np.asarray(bare(one)(X)).tolist()
""",
    "kept by a subscript": """
steps = {}
steps['a'] = jax.pmap(step)
RESULT = np.asarray(bare(steps['a'])(X)).tolist()
""",
    "under another decorator": """
def bared(f):
    return bare(f)


@bared
@jax.pmap
def p_step(x):
    return step(x)


RESULT = np.asarray(p_step(X)).tolist()
""",
    "kept in an object": """
class Box:
    pass


box = Box()
box.held = jax.pmap(step)
RESULT = np.asarray(bare(getattr(box, 'held'))(X)).tolist()
""",
    "returned by a function": """
def make():
    return jax.pmap(step)


RESULT = np.asarray(bare(make())(X)).tolist()
""",
    "in a lambda": """
make = lambda: jax.pmap(step)
RESULT = np.asarray(bare(make())(X)).tolist()
""",
    "a parameter's default": """
def run(x, mapped=jax.pmap(step)):
    return bare(mapped)(x)


RESULT = np.asarray(run(X)).tolist()
""",
    "by a star": """
def run(*steps):
    return bare(steps[0])(X)


RESULT = np.asarray(run(jax.pmap(step))).tolist()
""",
    "by a walrus": """
def main():
    p_step = jax.pmap(step)
    return np.asarray((held := p_step).__wrapped__(X)).tolist(), np.asarray(held(X)).tolist()


RESULT = main()
""",
    "by a property": """
p_step = jax.pmap(step)


class Trainer:
    @property
    def run(self):
        return p_step


RESULT = np.asarray(bare(Trainer().run)(X)).tolist()
""",
    "by all names of a module": """
import sys

p_step = jax.pmap(step)
RESULT = [
    np.asarray(bare(one)(X)).tolist()
    for name, one in sorted(vars(sys.modules[__name__]).items())
    if name == "p_step"
]
""",
    "by all attributes": """
class Trainer:
    def __init__(self):
        self.p_step = jax.pmap(step)

    def run(self):
        return [np.asarray(bare(one)(X)).tolist() for one in self.__dict__.values()]


RESULT = Trainer().run()
""",
    "by locals": """
def main():
    p_step = jax.pmap(step)
    return np.asarray(bare(locals()["p_step"])(X)).tolist()


RESULT = main()
""",
    "a field's default": """
import dataclasses
from typing import Any

p_step = jax.pmap(step)


@dataclasses.dataclass
class Trainer:
    train: Any = p_step


RESULT = np.asarray(bare(Trainer().train)(X)).tolist()
""",
    "by an object that delegates": """
class Held:
    def __init__(self, held):
        self.held = held

    def __getattr__(self, name):
        return getattr(self.__dict__["held"], name)

    def run(self, x):
        return self.__wrapped__(x)


RESULT = np.asarray(Held(jax.pmap(step)).run(X)).tolist()
""",
}
FORMS = CALLED | MAY_BE_READ
BARE = "def bare(f):\n    return f.__wrapped__ if hasattr(f, '__wrapped__') else f\n\n\n"


OTHER_BARES = {
    "inspect's": "import inspect\n\n\ndef bare(f):\n    return inspect.unwrap(f)\n\n\n",
    "imported": "from inspect import unwrap as bare\n\n\n",
    "by two words": "def bare(f):\n    return getattr(f, '__' + 'wrapped__')\n\n\n",
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, str, str]]:
    found, programs = {}, []
    others = {name: STEP + bare + MAY_BE_READ["read"] for name, bare in OTHER_BARES.items()}
    for name, before in ({name: STEP + BARE + text for name, text in FORMS.items()} | others).items():
        plan, errors = plan_sources([("main.py", Path("/project/main.py"), before)], PlanOptions("auto"))
        assert not errors
        after = plan.files[0].after
        found[name] = after
        programs += [Program(name, {"main.py": before}), Program(f"{name}, after", {"main.py": after})]
    told = run(programs)
    assert not [one for one in told.values() if one["error"]], told
    return {name: (after, told[name]["result"], told[f"{name}, after"]["result"]) for name, after in found.items()}


@pytest.mark.parametrize("name", [*FORMS, *OTHER_BARES])
def test_numbers_stay(name: str, outcomes: dict[str, tuple[str, str, str]]) -> None:
    _, before, after = outcomes[name]
    assert before == after


@pytest.mark.parametrize("name", CALLED)
def test_maps_that_are_called_alone_stand_in_place(name: str, outcomes: dict[str, tuple[str, str, str]]) -> None:
    after, _, _ = outcomes[name]
    assert "shard_map_stacked" not in after


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("f = g.__wrapped__", True),
        ("f = getattr(g, '__wrapped__', g)", True),
        ("f = g.__wrapped__.__wrapped__ = 3", True),
        ('while hasattr(f, "__wrapped__"):', True),
        ("assert f.__wrapped__ == g", True),
        ("    # `inspect.unwrap` checks for f.__wrapped__", False),
        ("    call.__wrapped__ = call", False),
        ("    return self.__wrapped__(x)", True),
        ("so that `inspect.signature` follows `__wrapped__` to it", False),
        ("    __wrapped__ = property(first)", False),
        ("from inspect import (signature, unwrap)", True),
        ("import inspect; f = inspect.unwrap(g)", True),
        ("import inspect  # unwrap it", False),
        ("f = env.unwrap()", False),
        ("import inspect\ndef unwrap(image): return image[0]\nunwrap(image)", False),
        ("import inspect as i; f = i.unwrap(g)", True),
        ("from inspect import *; f = unwrap(g)", True),
        ("import inspect; f = getattr(inspect, 'unwrap')(g)", True),
        ("f = getattr(g, '__' + 'wrapped__')", True),
        ("import inspect\nextensions = [\n    'sphinx.ext.linkcode',\n]\nf = inspect.unwrap(g)", False),
        ("import inspect\ndef linkcode_resolve(domain, info):\n    return inspect.unwrap(info)", False),
        ("import inspect\nextensions = ['mine']\nf = inspect.unwrap(g)", True),
    ],
)  # fmt: skip
def test_what_reads_it(line: str, *, reads: bool) -> None:
    assert reads_wrapped(f"import jax\n{line}\n") is reads
