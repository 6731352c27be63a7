"""Maps whose axis no collective asks for run over the devices of their process; traps keep to all devices.

Each program runs before and after, as two processes too.
"""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run, run_in_processes

PROGRAM = """
import enum
import functools
import json
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

AXES = ("data", "model")

def mean(x, axis):
    return jax.lax.pmean(x, axis)

def train_step(w, x):
    return w - mean(x.sum(0) * w, "data")

def decode(w, x):
    return jnp.tanh(x * w)

def given(f, w, x):
    return f(w * x)

MORE
p_train_step = jax.pmap(train_step, axis_name="data")

def main():
    n = jax.local_device_count()
    w = jnp.arange(n * 1.0) / 7 + jax.process_index()
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3) / 5 + jax.process_index()
    decoded = jax.pmap(DECODE, axis_name="data")(w, x)
    for _ in range(2):
        w = p_train_step(w, x[:, :1])
    return decoded, w
"""
TOLD = """
def told(w, x, axis="data"):
    return jax.lax.psum(w * x, axis)
"""
NET = """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return jax.lax.pmean(x, "data") if self.is_mutable_collection("seen") else x
"""
READ = """
class Read:
    def __init__(self, fun, axis):
        self.fun, self.axis = fun, axis

    def __call__(self, w, x):
        return self.fun(w * x, self.axis)
"""
DECODER = """
class Decoder:
    def decode(self, w, x):
        return w * x

    def train(self, w, x):
        return mean(w * x, "data")

    def run(self, w, x):
        return jax.pmap(self.train, axis_name="data")(w, x)
"""
READ_AXIS = """
import json
AXIS = json.loads('{"axis": "da%s"}' % "ta")["axis"]
SUM = functools.partial(jax.lax.psum, axis_name=AXIS)
"""
CONFIGURED = """
class Norm(nn.Module):
    axis_name: str = None

    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(self.is_initializing(), axis_name=self.axis_name)(x)

NORM = Norm(**json.loads('{"axis_name": "data"}'))
"""
CALLED = "lambda w, x: NORM.apply(NORM.init(jax.random.key(0), x), w * x, mutable=True)[0]"
KEPT = """
KEPT = []

def keep(f):
    KEPT.append(f)
    return f

@functools.partial(jax.pmap, axis_name="data")
@keep
def p_sum(x):
    return jax.lax.psum(x, "data")
"""
MADE_UP = """
KIND = "mean"

class Losses:
    def mean_loss(self, x):
        return mean(x, "data")

q = jax.pmap(lambda x: Losses().mean_loss(x), axis_name="data")
"""
LEFT = """
LEFT = []

def leave(x):
    LEFT.append(lambda x: jax.lax.psum(x, "data"))
    return x

q = jax.pmap(leave, axis_name="data")
q(np.zeros(jax.local_device_count()))
"""
MADE = """
MODELS = {}

class Model:
    def __init__(self, axis):
        self.axis = axis

    def total(self, x):
        return jax.lax.psum(x, self.axis)

def build(axis):
    MODELS["one"] = Model(axis)
    return MODELS["one"]

q = jax.pmap(build("data").total, axis_name="data")
"""
SET_UP = """
class Own(nn.Module):
    def setup(self):
        self.count = jax.lax.psum(1, "data")

    def __call__(self, x):
        return x / self.count

q = jax.pmap(lambda x: Own().setup(), axis_name="data")
"""
OWN = {
    "a function": ("", "decode"),
    "a lambda": ("", "lambda w, x: w + x"),
    "a partial": ("", "functools.partial(given, jnp.sin)"),
    "a string that is looked up": ('SCALE = {"model": 2.0}["model"] if AXES[0] == "data" else 1.0', "decode"),
    "a method": (DECODER, "Decoder().decode"),
    "what another map decorates": (
        '@functools.partial(jax.pmap, axis_name="data")\ndef p_sum(x):\n    return jax.lax.psum(x, "data")\n',
        "decode",
    ),
}
TRAPS = {
    "a collective": ("", 'lambda w, x: jax.lax.psum(w * x, "data")'),
    "a function that another map runs": ("", "lambda w, x: train_step(w, x[None])"),
    "a default": (TOLD, "told"),
    "a constant": ('AXIS = "data"', "lambda w, x: mean(w * x, AXIS)"),
    "a tuple": ("", "lambda w, x: mean(w * x, AXES[0])"),
    "an object": (READ, 'Read(mean, "data")'),
    "a method of a class": (NET, "lambda w, x: Net().apply({}, w * x, mutable=['seen'])[0]"),
    "a function that is given": (
        'def over(x):\n    return mean(x, "data")\n',
        "functools.partial(given, over)",
    ),
    "a function by its name": ('def over(x):\n    return mean(x, "data")\n', 'lambda w, x: globals()["over"](w * x)'),
    "an axis from a file": (READ_AXIS, "lambda w, x: jax.lax.psum(w * x, AXIS)"),
    "an axis from a file that a partial binds": (READ_AXIS, "lambda w, x: SUM(w * x)"),
    "an index": ("", 'lambda w, x: w * x + jax.lax.axis_index("data")'),
    "words of a string": ('NAMES = "data model".split()', "lambda w, x: mean(w * x, NAMES[0])"),
    "keys": ("MESH = dict(data=-1, model=1)", "lambda w, x: jax.lax.psum(w * x, [*MESH][0])"),
    "a member's name": ("class Axis(enum.Enum):\n    data = 1\n", "lambda w, x: jax.lax.psum(w * x, Axis.data.name)"),
    "a member that is looked up": (
        "class Axis(enum.Enum):\n    data = 1\n",
        'lambda w, x: jax.lax.psum(w * x, Axis["data"].name)',
    ),
    "a configuration": (CONFIGURED, CALLED),
    "the name of a collective": ("", 'lambda w, x: getattr(jax.lax, "psum")(w * x, [*dict(data=1)][0])'),
    "a collective in a table": ("KINDS = [jax.lax.psum]", "lambda w, x: KINDS[0](w * x, [*dict(data=1)][0])"),
    "a partial of a collective": (
        "over = functools.partial(jax.lax.psum, axis_name=[*dict(data=1)][0])",
        "lambda w, x: over(w * x)",
    ),
    "axes that are bound": (
        "from jax._src import core\n\ndef axes():\n    return [*core.get_axis_env().axis_names()]\n",
        "lambda w, x: jax.lax.psum(w * x, axes()[0])",
    ),
    "a function that a decorator keeps": (KEPT, "lambda w, x: KEPT[0](w * x)"),
    "a function in what another map is given": (
        'q = jax.pmap(over := lambda x: jax.lax.psum(x, "data"), axis_name="data")',
        "lambda w, x: over(w * x)",
    ),
    "a method by a name that is made up": (MADE_UP, 'lambda w, x: getattr(Losses(), f"{KIND}_loss")(w * x)'),
    "a function that a map leaves behind": (LEFT, "lambda w, x: LEFT[0](w * x)"),
    "an object made for another map": (MADE, "lambda w, x: MODELS['one'].total(w * x)"),
    "a parameter's name": (
        "KWARGS = dict(zip(['axis_name'], dict(data=1)))",
        "lambda w, x: nn.BatchNorm(False, **KWARGS).init_with_output(jax.random.key(0), w * x)[0]",
    ),
    "a method that a library calls": (SET_UP, "lambda w, x: Own().apply({}, w * x)"),
}
PROGRAMS = {**OWN, **TRAPS}


def before(name: str) -> str:
    more, decode = PROGRAMS[name]
    text = PROGRAM if name == "a tuple" else PROGRAM.replace('"data", "model"', '"rows", "model"')
    return text.replace("MORE", more).replace("DECODE", decode)


@pytest.fixture(scope="module")
def after() -> dict[str, str]:
    return {name: fix_files({"main.py": before(name)})["main.py"] for name in PROGRAMS}


@pytest.mark.parametrize("name", OWN)
def test_a_map_that_asks_for_no_other_rows_stays_within_its_process(name: str, after: dict[str, str]) -> None:
    assert "get_mesh().local_mesh" in after[name]
    assert after[name].count("@host_local") == 1 + ("decorates" in name)


@pytest.mark.parametrize("name", TRAPS)
def test_what_may_ask_for_other_rows_has_all_devices(name: str, after: dict[str, str]) -> None:
    assert "local_mesh" not in after[name]


@pytest.mark.parametrize("runs", [run, pytest.param(run_in_processes, id="in processes")])
def test_both_agree(runs: object, after: dict[str, str]) -> None:
    assert callable(runs)
    programs = [Program(name, {"main.py": before(name)}, {"main.py": after[name]}) for name in PROGRAMS]
    verdicts = list(runs(programs))
    assert all(v.verdict == "agrees" for v in verdicts), [(v.name, v.text[:2000]) for v in verdicts]


def test_a_function_that_is_imported_by_another_name_may_be_called_by_it() -> None:
    steps = 'import jax\n\ndef over(x):\n    return jax.lax.pmean(x, "data")\n\np = jax.pmap(over, axis_name="data")\n'
    for how in ("import over as f", "import over"):
        name = how.split()[-1]
        text = f"import jax\nfrom steps {how}\n\nq = jax.pmap(lambda x: {name}(x), axis_name='data')\n"
        files = {"steps.py": steps, "main.py": f"{text}N = jax.process_count()\n"}
        assert "local" not in fix_files(files)["main.py"].replace("host_local", "")


def test_a_library_may_reduce_over_an_axis_that_it_is_told_by_position() -> None:
    text = "import jax\nfrom kfac_jax.utils import pmean_if_pmap\n\nAXES = 'data model'.split()\n"
    text += "q = jax.pmap(lambda x: pmean_if_pmap(x, AXES[0]), axis_name='data')\nN = jax.process_count()\n"
    assert "local_devices" not in fix_files({"main.py": text})["main.py"]
    assert "local_devices" in fix_files({"main.py": text.replace("pmean_if_pmap(x, AXES[0])", "x + 1")})["main.py"]
