"""What a mapped function captures: what tells one process from another keeps its outputs from being one array for all.

What is drawn, or read from a file, while the function is traced is one thing for all devices of a process, and each of
them goes on to read its own copy of an array that is said to be on all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

PROGRAM = """import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def helper(x):
    return x


def main():
    {}

    def step(w, x):
        return w * scale - jax.lax.pmean(jnp.mean(x), "batch")

    p_step = jax.pmap(step, axis_name="batch")
    w = jax_utils.replicate(jnp.ones(3))
    for i in range(3):
        w = p_step(w, shard(np.ones((16, 3))))
    print(w[0])


main()
"""
INDEX = "jax.process_index()"


def layout(text: str) -> str:
    """The layout of what the step returns, where main begins with a text."""
    lines = text.replace("INDEX", INDEX).replace("\n", "\n    ")
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), PROGRAM.format(lines))], PlanOptions("auto"))
    return plan.sites[0].outputs[0].layout


@pytest.mark.parametrize(
    "text",
    [
        "scale = INDEX",
        "scale = 1.0\nscale += INDEX",
        "scale, other = INDEX, 1",
        "scale, other = helper((INDEX, 1))",
        "(scale := INDEX)",
        "for scale in [INDEX]:\n    pass",
        "with helper(INDEX) as scale:\n    pass",
        "match INDEX:\n    case scale:\n        pass",
        "scale = 1.0\ndef inner():\n    nonlocal scale\n    scale = INDEX\ninner()",
        "key = jax.random.PRNGKey(INDEX)\nscale = jax.random.normal(key)",
        "n = INDEX; scale = n",
        "n = 0\nfor i in range(2):\n    scale = n\n    n = INDEX",
        "n = 0\nwhile n < 1:\n    scale = n + 1\n    n = n + INDEX",
        "n = 0\ndef inner():\n    return n\nn = INDEX\nscale = inner()",
        "scale = len([v for v in jax.local_devices() if v.id > 3])",
        "scale = jax.local_devices()[0].id",
        "other, *scale = helper((1, INDEX))\nscale = scale[0]",
        "def get(a=INDEX): return a\nscale = get()",
        "def get(a, *, b=INDEX): return b\nscale = get(1.0)",
        "def get(a): return a, 1.0\nscale, other = get(INDEX)",
        "def get(a): return a, 1.0\nscale, other = get(a=INDEX)",
        "def get(a, b): return a, b\ngiven = 1.0, INDEX\nother, scale = get(*given)",
        "def get(a, **more): return a, more['b']\nother, scale = get(1.0, b=INDEX)",
        "def get(a): return (a, 1.0) if a else (2.0, INDEX)\nother, scale = get(1.0)",
        "def get(a):\n    if a: return a, 1.0\n    return 2.0, INDEX\nother, scale = get(1.0)",
        "def get(a):\n    yield a\n    yield INDEX\nother, scale = get(1.0)",
        "def get(a):\n    pair = a, INDEX\n    return pair\nother, scale = get(1.0)",
        "def power(a, n): return a if n == 0 else power(a + INDEX, n - 1)\nscale = power(1.0, 3)",
        "def power(a, n): return a if n == 0 else power(n, n - 1)\nscale = power(1.0, INDEX)",
        "def power(a, n):\n    if n == 0: return a, n\n    return power(n, a)\nscale, other = power(0, INDEX)",
        "def outer(a):\n    def inner(): return a\n    return inner()\nother = outer(1.0)\nscale = outer(INDEX)",
        "def outer(a):\n    def g(): return a\n    return g\nother, f = outer(1.0), outer(INDEX)\nscale = f()",
        "def outer(a):\n    def inner(b): return a + b\n    return inner(1.0), inner(2.0)\nscale, other = outer(INDEX)",
        "def outer(a, f):\n    def g(): return a\n    return f() if f else outer(1.0, g)\nscale = outer(INDEX, 0)",
        "global KEPT\ndef get(a):\n    global KEPT\n    KEPT = a\nKEPT = 0.0\nget(INDEX)\nscale = KEPT",
        "def get(a):\n    held = [a]\n    return held, 1.0\nheld, other = get(INDEX)\nscale = held[0]",
    ],
)
def test_processes_may_not_agree(text: str) -> None:
    assert layout(text) == "stacked"


@pytest.mark.parametrize(
    "text",
    [
        "scale = 1.0",
        "n = 0\nscale = n\nn = n + INDEX",
        "key = jax.random.PRNGKey(0)\nscale = jax.random.normal(key)\nkey = key + INDEX",
        "key = jax.random.PRNGKey(0)\nkey, other = jax.random.split(key)\nscale = other.sum()\nkey = key + INDEX",
        "scale = len(jax.local_devices())",
        "devices = jax.local_devices()\nscale = 2 * len(devices)",
        "rng = np.random.RandomState(0)\nscale = rng.rand()",
        "scale = np.random.rand()",  # drawn once, where the function is traced, for all devices of a process
        "with open('rate') as file:\n    scale = float(file.read())",
        "import time\nscale = 2.0 if time.time() > 3 else 1.0",
        "other, scale = INDEX, 1.0",
        "def get(a): return a\nother = get(INDEX)\nscale = get(1.0)",
        "def get(a): return a, 1.0\nother, scale = get(INDEX)",
        "def get(a, b): return a, b\nother, scale = get(INDEX, 1.0)\nanother = get(1.0, INDEX)",
        "def get(a): return a, (1.0, a)\nother, (scale, another) = get(INDEX)",
        "def deep(a): return a\ndef get(a): return deep(a)\nother = get(INDEX)\nscale = get(1.0)",
        "def outer(a):\n    def inner(): return a\n    return inner()\nother = outer(INDEX)\nscale = outer(1.0)",
        "def power(a, n): return a if n == 0 else power(a * 2, n - 1)\nscale = power(1.0, 3)",
    ],
)
def test_processes_agree(text: str) -> None:
    assert layout(text) == "replicated"


FACTORY = """import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def make(one, other, scale, more=0.0):
    def step(w, x):
        return w * scale - jax.lax.pmean(jnp.mean(x), "batch")

    return step


def main():
    two = 1.0, 2.0
    options = {"scale": 1.0}
    p_step = jax.pmap(CALL, axis_name="batch")
    w = jax_utils.replicate(jnp.ones(3))
    for i in range(3):
        w = p_step(w, shard(np.ones((16, 3))))
    print(w[0])


main()
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("make(1.0, 2.0, 3.0)", "replicated"),
        ("make(INDEX, 2.0, 3.0)", "replicated"),
        ("make(1.0, 2.0, INDEX)", "stacked"),
        ("make(1.0, 2.0, scale=INDEX)", "stacked"),
        ("make(*two, INDEX)", "stacked"),
        ("make(*two[:1], 2.0, INDEX)", "stacked"),
        ("make(*two[:1], *two[:1], INDEX)", "stacked"),
        ("make(*two, **{'scale': INDEX})", "stacked"),
    ],
)
def test_what_a_factory_is_passed(call: str, expected: str) -> None:
    """Behind a star an argument may be for any parameter."""
    text = FACTORY.replace("CALL", call).replace("INDEX", INDEX)
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), text)], PlanOptions("auto"))
    assert plan.sites[0].outputs[0].layout == expected


@pytest.mark.parametrize(
    ("call", "before"),
    [
        ("build(1.0, 2.0, SCALE)", "build = make"),
        ("build(1.0, 2.0, SCALE)", "from main import make as build"),
        ("build(SCALE)", "def build(one): return make(1.0, 2.0, one)"),
        ("build(SCALE)", "build = lambda one: make(1.0, 2.0, one)"),
        ("functools.partial(make, 1.0, 2.0)(SCALE)", "import functools"),
        ("build(SCALE)", "import functools\nbuild = functools.partial(make, 1.0, 2.0)"),
        ("build['a'](1.0, 2.0, SCALE)", "build = {'a': make}"),
        ("build.get('a')(1.0, 2.0, SCALE)", "build = dict(a=make)"),
        ("[one(1.0, 2.0, SCALE) for one in (make, make)][0]", ""),
        ("apply(make, 1.0, 2.0, SCALE)", "def apply(f, *args): return f(*args)"),
        ("apply(make, 1.0, 2.0, scale=SCALE)", "def apply(f, *args, **more): return f(*args, **more)"),
        ("maker()(1.0, 2.0, SCALE)", "def maker(): return make"),
        ("Maker(make).run(SCALE)", (
            "class Maker:\n    def __init__(self, f): self.f = f\n    def run(self, one): return self.f(1.0, 2.0, one)"
        )),
    ],
)  # fmt: skip
def test_other_names_of_a_factory(call: str, before: str) -> None:
    """Whatever it is called by: what the process tells makes its output a process's own."""
    home = FACTORY.replace("def main", f"{before}\n\n\ndef main").replace("CALL", call)
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), home.replace("SCALE", INDEX))], PlanOptions("auto"))
    assert plan.sites[0].outputs[0].layout == "stacked"
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), home.replace("SCALE", "3.0"))], PlanOptions("auto"))
    assert "processes" not in str(plan.sites[0].outputs[0])
