"""Tests in the body of a map that the program settles: one way counts, unless anything may turn it the other way."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

PROGRAM = """import sys
import types
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

{above}


def main():
    p_step = jax.pmap({mapped}, axis_name="i")
    w = jax_utils.replicate(jnp.ones(3))
    for i in range(3):
        w = p_step(w, shard(np.ones((16, 3))))
    print(w[0])


main()
"""
MAKE = """def make(axis=None, sync=True):
    def step(w, x):
        g = x.mean(0)
        {}
        return w - g
    return step
"""
PLAIN = "def step(w, x):\n    g = x.mean(0)\n    {}\n    return w - g\n"
OFF = "def off():\n    global FLAG\n    FLAG = False\noff()\n"
SET = "setattr(sys.modules['__main__'], 'FLAG', 0)\n"
REDUCED = "g = jax.lax.pmean(g, 'i')"


def layout(above: str, mapped: str, *others: tuple[str, str]) -> str:
    """The layout of what the step returns."""
    files = [("main.py", PROGRAM.format(above=above, mapped=mapped)), *others]
    plan, _ = plan_sources([(name, Path("/nowhere") / name, text) for name, text in files], PlanOptions("auto"))
    return next(site.outputs[0].layout for site in plan.sites if site.path == "main.py")


SETTLED = [
    (MAKE.format("if axis is not None: g = jax.lax.pmean(g, axis)"), "make('i')"),
    (MAKE.format("if axis: g = jax.lax.pmean(g, axis)"), "make('i')"),
    (MAKE.format("g = jax.lax.pmean(g, axis) if axis else g"), "make(axis='i')"),
    (MAKE.format(f"if axis is not None and sync: {REDUCED}"), "make('i')"),
    (MAKE.format(f"if sync == 'mean': {REDUCED}"), "make('i', 'mean')"),
    (MAKE.format(f"if not sync: return w\n        {REDUCED}"), "make('i')"),
    ("def mean(g, axis=None): return g if axis is None else jax.lax.pmean(g, axis)\n"
     + PLAIN.format("g = mean(g, 'i')"), "step"),
    (("def make(flag):\n    f = jax.lax.pmean if flag else (lambda g, a: g)\n"
     "    return lambda w, x: w - f(x.mean(0), 'i')\n"), "make(True)"),
    ("def make(f, a):\n    def mean(*v): return jax.lax.pmean(f(*v), a)\n    return f if a is None else mean\n"
     "f = make(lambda w, x: x.mean(0), 'i')\n" + PLAIN.format("g = f(w, x)"), "step"),
    ("FLAG = True\n" + PLAIN.format(f"if FLAG: {REDUCED}"), "step"),
]  # fmt: skip

OPEN = [
    (MAKE.format("if axis is not None: g = jax.lax.pmean(g, axis)"), "make()"),
    (MAKE.format("if axis: g = jax.lax.pmean(g, axis)"), "make('i' if len(sys.argv) > 1 else None)"),
    (MAKE.format(f"if sync: {REDUCED}") + "other = make('i', False)\n", "(make('i'), other)[len(sys.argv) > 1]"),
    (MAKE.format(f"if axis is not None and sync: {REDUCED}"), "make('i', len(sys.argv) > 1)"),
    (MAKE.format(f"if sync: {REDUCED}") + "again = make\n", "again('i', False)"),
    (MAKE.format(f"if sync == 'mean': {REDUCED}"), "make('i', sys.argv[0])"),
    (MAKE.format(f"if sync == 1: {REDUCED}"), "make('i', 1.5)"),
    (MAKE.format(f"for s in (True, False):\n            if s: {REDUCED}\n            else: g = g + x[0]"), "make()"),
    (MAKE.format(f"sync = not sync\n        if sync: {REDUCED}"), "make()"),
    (("def make(n):\n    n += 1\n    n -= 1\n"
     f"    def s(w, x):\n        g = x.mean(0)\n        if n: {REDUCED}\n        else: g = x[0]\n        return w - g\n"
     "    return s\n"), "make(1)"),
    ("FLAG = True\n" + PLAIN.format(f"if FLAG: {REDUCED}") + OFF, "step"),
    ("FLAG = True\n" + PLAIN.format(f"if FLAG: {REDUCED}") + "globals()['FLAG'] = False\n", "step"),
    ("FLAG = True\n" + PLAIN.format(f"if FLAG: {REDUCED}") + SET, "step"),
    ("C = types.SimpleNamespace(axis='i')\n" + PLAIN.format(f"if C.axis is not None: {REDUCED}") + "C.axis = None\n",
     "step"),
    (("class T:\n    sync = True\n    def step(self, w, x):\n        g = x.mean(0)\n"
     f"        if self.sync: {REDUCED}\n        return w - g\nclass S(T):\n    sync = False\n"), "S().step"),
    (("class T:\n    def __init__(self, sync): self.sync = sync\n    def step(self, w, x):\n        g = x.mean(0)\n"
     f"        if self.sync: {REDUCED}\n        return w - g\nA = T(True)\n"), "T(False).step"),
    ("def mean(g, axis=None): return g if axis is None else jax.lax.pmean(g, axis)\n"
     + PLAIN.format("other = mean(g, 'i'); g = mean(g)"), "step"),
    (("def make(flag):\n    f = jax.lax.pmean if flag else (lambda g, a: g)\n"
     "    return lambda w, x: w - f(x.mean(0), 'i')\nFIRST = make(True)\n"), "make(False)"),
    (("def make(flag):\n    f = jax.lax.pmean if flag else (lambda g, a: g)\n    if sys.argv: f = lambda g, a: g\n"
     "    return lambda w, x: w - f(x.mean(0), 'i')\n"), "make(True)"),
]  # fmt: skip


@pytest.mark.parametrize(("above", "mapped"), SETTLED)
def test_one_way_counts(above: str, mapped: str) -> None:
    assert layout(above, mapped) == "replicated"


@pytest.mark.parametrize(("above", "mapped"), OPEN)
def test_both_ways_count(above: str, mapped: str) -> None:
    assert layout(above, mapped) == "stacked"


@pytest.mark.parametrize(
    "load",
    [
        "def load(target, values):\n    for key, value in values: setattr(target, key, value)\n",
        "def load(target, values): target.__dict__.update(values)\n",
        "def load(target, values): vars(target).update(values)\n",
        "import argparse\ndef load(target, values): argparse.ArgumentParser().parse_args(values, namespace=target)\n",
        "class Lazy:\n    def __getattribute__(self, _): return 0\ndef load(target, _): target.__class__ = Lazy\n",
    ],
)
def test_a_module_that_names_no_flag_may_set_it(load: str) -> None:
    config = "import loading\nclass Config:\n    def __init__(self): self.sync = True\ncfg = Config()\n"
    above = f"{config}{PLAIN.format(f'if cfg.sync: {REDUCED}')}"
    assert layout(above, "step") == "replicated"
    assert layout(above, "step", ("loading.py", load)) == "stacked"
    of_module = f"import loading\nFLAG = True\n{PLAIN.format(f'if FLAG: {REDUCED}')}"
    assert layout(of_module, "step") == "replicated"
    assert layout(of_module, "step", ("loading.py", load)) == "stacked"


@pytest.mark.parametrize("test", ["FLAG == True", "FLAG != False", "FLAG"])
def test_one_is_true(test: str) -> None:
    assert layout(f"FLAG = 1\n{PLAIN.format(f'if not ({test}): {REDUCED}')}", "step") == "stacked"


def test_a_function_sets_a_flag_of_what_it_calls_self() -> None:
    config = "class Config:\n    def __init__(self): self.sync = True\ncfg = Config()\n"
    above = f"{config}{PLAIN.format(f'if cfg.sync: {REDUCED}')}"
    assert layout(above, "step") == "replicated"
    assert layout(f"{above}def off(self): self.sync = False\noff(cfg)\n", "step") == "stacked"


def test_another_module_turns_a_flag() -> None:
    other = ("other.py", "import main\nmain.FLAG = False\n")
    above = "FLAG = True\n" + PLAIN.format(f"if FLAG: {REDUCED}")
    assert layout(above, "step", other) == "stacked"


BOUND = """def make():
    f = lambda g: g
    {}
    def step(w, x): return w - f(x.mean(0))
    {}
    return step
"""
MEAN = "f = lambda g: jax.lax.pmean(g, 'i')"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (MEAN, "pass", "replicated"),
        ("def f(g): return jax.lax.pmean(g, 'i')", "pass", "replicated"),
        (f"if len(sys.argv) > 1: {MEAN}", "pass", "stacked"),
        ("f: object", "pass", "stacked"),
        (MEAN, "f = lambda g: g", "stacked"),
        (MEAN, "if len(sys.argv) > 1: f = lambda g: g", "stacked"),
        (MEAN, "def off():\n        nonlocal f\n        f = lambda g: g\n    off()", "stacked"),
        (f"try: {MEAN}\n    except ValueError: pass", "pass", "stacked"),
        (f"for _ in range(2): {MEAN}", "pass", "stacked"),
        ("pass", MEAN, "stacked"),
    ],
)
def test_what_is_bound_last_counts(before: str, after: str, expected: str) -> None:
    assert layout(BOUND.format(before, after), "make()") == expected
