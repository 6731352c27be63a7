"""A rewritten program traces what it maps as often as `jax.pmap` traced it, at every later call, too."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run

PRELUDE = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
X = np.arange(48, dtype=np.float32).reshape(8, 6) / 7
Y = np.linspace(0, 1, 24, dtype=np.float32).reshape(8, 3)
TRACES = []
def step(x):
    TRACES.append(1)
    return lax.psum(x, "i")
class Model:
    def __init__(self, scale): self.scale = scale
    def apply(self, x):
        TRACES.append(1)
        return x * self.scale
"""
MAIN = """
def main():
    found = [CALLS]
    return found, np.array(len(TRACES))
"""
EVERY = "evaluate(X), evaluate(X), evaluate(Y), evaluate(X), evaluate(Y)"
HALVES = "evaluate(X[:4]), evaluate(X[:4]), evaluate(Y[:4]), evaluate(X[:4])"
_GIVEN = "def evaluate(x): return jax.pmap(step, 'i', {})(x)\n"
_SCALED = (
    "def scaled(x, n):\n    TRACES.append(1)\n    return x * n\n"
    "def evaluate(x): return [jax.pmap(scaled, {})(x, n) for n in (2, 3)]\n"
)
PROGRAMS = {
    "at each call": ("def evaluate(x):\n    return jax.pmap(step, 'i')(x)\n", EVERY),
    "under a name": ("def evaluate(x):\n    p_step = jax.pmap(step, 'i')\n    return p_step(x)\n", EVERY),
    "in a loop": (
        "def evaluate(x):\n    for _ in range(3):\n        y = jax.pmap(step, 'i')(x)\n    return y\n",
        EVERY,
    ),
    "in a comprehension": ("def evaluate(x): return [jax.pmap(step, 'i')(x) for _ in range(2)]\n", EVERY),
    "by two functions": (
        (
            "def train(x): return jax.pmap(step, axis_name='i')(x)\n"
            "def test(x): return jax.pmap(step, axis_name='i')(x)\n"
            "def evaluate(x): return train(x), test(x)\n"
        ),
        EVERY,
    ),
    "in a method": (
        (
            "class Trainer:\n    def __init__(self, model): self.model = model\n"
            "    def run(self, x): return jax.pmap(self.model.apply)(x)\n"
            "    def other(self, x): return jax.pmap(self.model.apply)(x)\n"
            "a, b = Trainer(Model(2.0)), Trainer(Model(3.0))\n"
            "def evaluate(x): return a.run(x), a.other(x), b.run(x)\n"
        ),
        EVERY,
    ),
    "of an attribute that changes": (
        (
            "class Holder: fun = None\nholder = Holder()\n"
            "def evaluate(x): return jax.pmap(holder.fun, 'i')(x)\n"
            "def both(x):\n    holder.fun = step; y = evaluate(x)\n"
            "    holder.fun = Model(5.0).apply; return y, evaluate(x)\n"
        ),
        "both(X), both(X), evaluate(Y)",
    ),
    "of an object that changes": (
        (
            "model = Model(2.0)\ndef evaluate(x): return jax.pmap(model.apply)(x)\n"
            "def change(): model.scale = 7.0; return evaluate(X)\n"
        ),
        "evaluate(X), change(), evaluate(Y)",  # pmap, too, keeps what it traced
    ),
    "of a parameter": (
        "def parallel(fun, x): return jax.pmap(fun, 'i')(x)\ndef evaluate(x): return parallel(step, x)\n",
        EVERY,
    ),
    "with an axis of its own": (
        (
            "class Trainer:\n    axis = 'i'\n    def run(self, x): return jax.pmap(step, axis_name=self.axis)(x)\n"
            "def evaluate(x): return Trainer().run(x)\n"
        ),
        EVERY,
    ),
    "with other axes": (
        (
            "class Trainer:\n    def __init__(self, model): self.model = model\n"
            "    def run(self, x): return jax.pmap(self.model.apply, in_axes=0, out_axes=1)(x)\n"
            "trainer = Trainer(Model(2.0))\ndef evaluate(x): return trainer.run(x)\n"
        ),
        EVERY,
    ),
    "over all devices": (
        (
            "class Trainer:\n    def __init__(self, model): self.model, self.count = model, jax.device_count()\n"
            "    def run(self, x): return jax.pmap(self.model.apply)(x.reshape(self.count, -1))\n"
            "trainer = Trainer(Model(2.0))\ndef evaluate(x): return trainer.run(x)\n"
        ),
        EVERY,
    ),
    "of a map that chooses its mesh": (
        "def evaluate(x):\n    return jax.pmap(step, 'i', axis_size=8)(x)\n",
        EVERY,
    ),
    "by other rows": (
        "def evaluate(x): return jax.pmap(step, 'i')(x)\n",
        "evaluate(X), evaluate(X[:4]), evaluate(X[:4])",
    ),
    "in an inner function": (
        (
            "def make(model):\n    def inner(x): return jax.pmap(model.apply)(x)\n    return inner\n"
            "evaluate = make(Model(2.0))\n"
        ),
        EVERY,
    ),
    "once": ("def evaluate(x):\n    p = jax.pmap(step, 'i')\n    return [p(x) for _ in range(3)]\n", "evaluate(X)"),
    "over given devices": ("def evaluate(x): return jax.pmap(step, 'i', devices=jax.devices()[::-1])(x)\n", EVERY),
    "over devices under a name": ("HALF = jax.devices()[4:]\n" + _GIVEN.format("devices=HALF"), HALVES),
    "over devices of an object": (
        (
            "class Trainer:\n    def __init__(self): self.devices, self.model = jax.devices()[4:], Model(2.0)\n"
            "    def run(self, x): return jax.pmap(self.model.apply, devices=self.devices)(x)\n"
            "trainer = Trainer()\ndef evaluate(x): return trainer.run(x)\n"
        ),
        HALVES,
    ),
    "over devices or none": (
        "def evaluate(x, devices=None): return jax.pmap(step, 'i', devices=devices)(x)\n",
        "evaluate(X), evaluate(X, jax.devices()[::-1]), evaluate(X), evaluate(X, jax.devices()[::-1])",
    ),
    "on a backend": (_GIVEN.format("backend='cpu'"), EVERY),
    "on a backend under a name": ("KIND = 'cpu'\n" + _GIVEN.format("backend=KIND"), EVERY),
    "of a number of rows": ("COUNT = 8\n" + _GIVEN.format("axis_size=COUNT"), EVERY),
    "with static arguments": (_SCALED.format("static_broadcasted_argnums=1"), EVERY),
    "with a list of static arguments": ("STATIC = [1]\n" + _SCALED.format("static_broadcasted_argnums=STATIC"), EVERY),
    "with donated arguments": (_GIVEN.replace("(x)\n", "(x + 0)\n").format("donate_argnums=0"), EVERY),
    "with a list of donated arguments": (_GIVEN.replace("(x)\n", "(x + 0)\n").format("donate_argnums=[0]"), EVERY),
    "with donated arguments under a name": (
        "DONATED = [0]\n" + _GIVEN.replace("(x)\n", "(x + 0)\n").format("donate_argnums=DONATED"),
        EVERY,
    ),
    "with axes in a dict": (
        (
            "def scaled(x):\n    TRACES.append(1)\n    return x['a'] * x['n']\n"
            "def evaluate(x): return jax.pmap(scaled, in_axes=({'a': 0, 'n': None},))({'a': x, 'n': 2.0})\n"
        ),
        EVERY,
    ),
    "by a function that passes options on": (
        (
            "def parallel(fun, **options): return jax.pmap(fun, **options)\n"
            "def evaluate(x): return parallel(step, axis_name='i', devices=jax.devices()[::-1])(x)\n"
        ),
        EVERY,
    ),
    "of a function made anew": ("def evaluate(x): return jax.pmap(lambda x: step(x), 'i')(x)\n", EVERY),
    "of an inner function made anew": (
        "def evaluate(x):\n    def own(x): return step(x)\n    return jax.pmap(own, 'i')(x)\n",
        EVERY,
    ),
}
PROCESSES = "def offset():\n    return jax.process_index() * 8\n"


def program(name: str) -> dict[str, str]:
    text, calls = PROGRAMS[name.removesuffix(", with processes")]
    more = PROCESSES if name.endswith(", with processes") else ""
    return {"main.py": PRELUDE + more + text + MAIN.replace("CALLS", calls)}


NAMES = [*PROGRAMS, *(f"{name}, with processes" for name in PROGRAMS if name != "by other rows")]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    cases = [Program(name, program(name), fix_files(program(name), layout="auto")) for name in NAMES]
    return {v.name: v.text if v.verdict != "agrees" else "" for v in run(cases)}


@pytest.mark.parametrize("name", NAMES)
def test_traces_as_often_as_pmap(name: str, verdicts: dict[str, str]) -> None:
    after = fix_files(program(name), layout="auto")["main.py"]
    assert "jax.pmap" not in after
    assert not verdicts[name], verdicts[name] + "\n" + after
