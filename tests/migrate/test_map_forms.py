"""Maps whose calls, axis, backend or body do not show all: each shows `jax.shard_map` with its mesh and specs.

Each runs before and after on 8 devices, and on 2 processes of 4, and gives the same bits.
"""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run, run_in_processes

HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

N = jax.local_device_count
def rows(scale=1.0):
    return (np.arange(N() * 6, dtype=np.float32).reshape(N(), 6) / 7 + jax.process_index()) * scale
"""
DIRECT = {
    "keywords that differ": """
def grad(params, batch, rng=None, scale=1.0, flags=None):
    return lax.pmean(params * batch, "batch") * scale
class Debugger:
    def __init__(self, grad_fn):
        self.grad_fn = jax.pmap(grad_fn, axis_name="batch")
    def run(self, x, y):
        return self.grad_fn(x, y, x), self.grad_fn(x, y, x, flags=None), self.grad_fn(x, batch=y)
def main():
    return Debugger(grad).run(rows(), rows(2.0))
""",
    "keywords of a partial": """
def grad(params, batch, rng=None, scale=1.0):
    return lax.pmean(params * batch, "batch") * scale
def call(fun, *args, **kwargs):
    return fun(*args, **kwargs)
def main():
    step = jax.pmap(functools.partial(grad, scale=2.0), axis_name="batch", donate_argnums=0)
    return step(rows(), rows(2.0)), call(step, rows(), batch=rows(3.0)), step(rows(), batch=rows(), rng=rows())
""",
    "keywords of a lambda": """
def call(fun, *args, **kwargs):
    return fun(*args, **kwargs)
def main():
    step = jax.pmap(lambda x, y=1.0: lax.psum(x, "i") * y, axis_name="i")
    return step(rows()), call(step, rows(), y=rows(3.0)), step(rows(), y=rows())
""",
    "an axis that may have no name": """
class Workflow:
    def __init__(self, name=None):
        self.name = None
        if name:
            self.name = name
    def run(self, x):
        step = jax.pmap(self.step, axis_name=self.name)
        return step(x)
    def step(self, x):
        return x * 2 if self.name is None else lax.pmean(x, self.name)
def main():
    return Workflow().run(rows()), Workflow("i").run(rows())
""",
    "an axis by default": """
def make(fun, axis_name=None, donate=()):
    return jax.pmap(fun, axis_name=axis_name, donate_argnums=donate)
def main():
    return make(lambda x: x + 1)(rows()), make(lambda x: lax.psum(x, "k"), "k")(rows())
""",
    "a backend": """
def gathered(tree, backend="cpu"):
    return jax.pmap(lambda tree: lax.all_gather(tree, "b"), "b", backend=backend)(tree)
def main():
    return gathered(rows()), gathered({"a": rows(2.0)}, None)
""",
    "decorated functions with long specs": """
@functools.partial(jax.pmap, axis_name="i", in_axes=(0, 0, 0, None, None), static_broadcasted_argnums=4)
def step(a, b, c, rate, n):
    return lax.psum(a * b, "i") * rate + c * n
def make(k):
    @functools.partial(jax.pmap, axis_name="i", in_axes=(0, 0, 0, 0, None, None))
    def own(a, b, c, d, rate, more):
        return lax.pmean(a * b, "i") * rate + c * more * k - d
    return own
def main():
    a, b, c = rows(), rows(2.0), rows(3.0)
    return step(a, b, c, 0.5, 3), make(2)(a, b, c, a, 0.5, np.float32(2))
""",
    "keywords where the map is made": """
class Tester:
    def __init__(self, scale):
        self.scale = scale
    def init(self, *, params, **more):
        return lax.pmean(params["w"], "i") * self.scale + sum(more.values())
def mixed(x, /, y, z=1.0):
    return lax.psum(x * y, "i") - z
def main():
    found = []
    for tester in (Tester(2.0), Tester(3.0)):
        found.append(jax.pmap(tester.init, axis_name="i")(params={"w": rows()}, b=rows(2.0), a=rows(3.0)))
    return found, jax.pmap(mixed, "i")(rows(), y=rows(4.0), z=rows(2.0))
""",
    "static arguments at either end": """
@functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=(0, 1, 4))
def step(k, op, a, b, n):
    return lax.psum(a * b, "i") * k + op(b) * n
@functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=(1, 3))
def between(a, k, b, n):
    return a * k - lax.pmean(b, "i") * n
@functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=(1, 2))
def by_place(a, k, n, /):
    return lax.psum(a, "i") * k ** n
@functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=0)
def renamed(functools, a):
    return lax.pmax(a, "i") * functools
def power(a, k, n):
    return lax.pmean(a ** k, "i") * n
p_power = jax.pmap(power, axis_name="i", static_broadcasted_argnums=(1, 2))
class Model:
    def __init__(self, scale):
        self.scale = scale
    @functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=(0, 3), donate_argnums=(1,))
    def run(self, a, b, n):
        return lax.psum(a, "i") * self.scale, b * n
def main():
    a, b = rows(), rows(2.0)
    for n in (2, 3):
        yes = step(n, jnp.tanh, a, b, 3), between(a, 2, b, n), by_place(a, 2, n), p_power(a, 2, n), renamed(n, a)
    return yes, [Model(2.0).run(a + 0, b, n) for n in (2, 2, 3)]
""",
    "a method that each class has its own of": """
class Base:
    def run(self, x):
        return self.test(2, x)
    @functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=(0, 1))
    def test(self, n, x):
        \"\"\"Each class has its own.\"\"\"
        raise NotImplementedError()
class Own(Base):
    @functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=(0, 1))
    def test(self, n, x):
        return lax.psum(x, "i") * n
def main():
    try:
        Base().run(rows())
    except NotImplementedError:
        return Own().run(rows())
""",
}


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return {v.name: v.verdict + v.text for v in run(programs())}


@pytest.fixture(scope="module")
def in_processes() -> dict[str, str]:
    return {v.name: v.verdict + v.text for v in run_in_processes(programs())}


def programs() -> list[Program]:
    return [Program(name, {"main.py": HEAD + text}, after(name)) for name, text in DIRECT.items()]


def after(name: str) -> dict[str, str]:
    return fix_files({"main.py": HEAD + DIRECT[name]})


@pytest.mark.parametrize("name", DIRECT)
def test_no_map_chooses_its_mesh_at_each_call(name: str) -> None:
    text = after(name)["main.py"]
    assert "jax.shard_map(" in text
    assert "shard_map_stacked" not in text


@pytest.mark.parametrize("name", DIRECT)
def test_they_agree(name: str, here: dict[str, str]) -> None:
    assert here[name] == "agrees"


@pytest.mark.parametrize("name", DIRECT)
def test_they_agree_in_two_processes(name: str, in_processes: dict[str, str]) -> None:
    assert in_processes[name] == "agrees"


STATE = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard_prng_key
from typing import Any

@struct.dataclass
class State:
    params: jax.Array
    key: ANNOTATION

def step(state):
    key, next_key = jax.random.split(state.key)
    noise = jax.random.normal(key, state.params.shape)
    return state.replace(params=state.params + jax.lax.pmean(noise, "batch"), key=next_key), noise.mean()

def main():
    p_step = jax.pmap(step, axis_name="batch")
    state = State(jnp.ones(3), jax.random.PRNGKey(jax.process_index()))
    state = jax_utils.replicate(state).replace(key=shard_prng_key(state.key))
    for _ in range(2):
        state, mean = p_step(state)
    one = jax_utils.unreplicate(state)
    return np.asarray(one.params), np.asarray(one.key)
"""


@pytest.mark.parametrize(
    ("annotation", "is_key"),
    [
        ("jax.Array", True),
        *(pytest.param(*one, marks=pytest.mark.long) for one in (("Any", True), ("jax.Array | None", False))),
    ],
)
def test_a_field_that_is_a_key_loses_its_axis_by_an_index(annotation: str, *, is_key: bool) -> None:
    before = {"main.py": STATE.replace("ANNOTATION", annotation)}
    files = fix_files(before, "auto")
    assert ("key=state.key[0]" in files["main.py"]) is is_key
    assert ("key=new_state.key[None]" in files["main.py"]) is is_key
    found = [*run([Program("one", before, files)]), *run_in_processes([Program("two", before, files)])]
    assert [(v.verdict, v.text) for v in found] == [("agrees", "")] * 2


PACKAGE = {
    "models/trees.py": "import jax\nMEAN = jax.pmap(lambda t: jax.lax.pmean(t, 'i') * 2, 'i')\n",
    "models/train/one.py": "import jax\nfrom ..trees import MEAN\n"
    "STEP = jax.pmap(lambda x: jax.lax.psum(x, 'i') + 1, 'i')\n",
    "main.py": "import jax\nimport numpy as np\nfrom models.train.one import MEAN, STEP\n"
    "def main():\n    x = np.ones((jax.local_device_count(), 2), np.float32)\n    return STEP(MEAN(x))\n",
}


def test_a_file_that_others_import_from_their_package_shares_with_them() -> None:
    after = fix_files(PACKAGE)
    assert "from .sharding import get_mesh" in after["models/trees.py"]
    assert "from ..sharding import get_mesh" in after["models/train/one.py"]
    assert [v.text for v in run([Program("package", PACKAGE, after)])] == [""]


RENDER = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from flax import jax_utils

def draw(params, key, scale, rays):
    return lax.all_gather(rays * params["w"] * scale + jax.random.normal(key, rays.shape), "b")

render = jax.pmap(draw, in_axes=(None, None, None, 0), donate_argnums=3, axis_name="b")

def shown(render_fn, rays):
    return [render_fn(rays + i) for i in range(2)]

def main():
    n = jax.local_device_count()
    state = jax_utils.replicate({"w": jnp.ones(3)})
    held = (jax_utils.unreplicate(state), jax.random.PRNGKey(0), 2.0 + 0 * jax.process_index())
    rays = np.arange(n * 6, dtype=np.float32).reshape(n, 2, 3)
    return shown(functools.partial(render, *held), rays)
"""


def test_a_map_made_at_import_brings_what_one_device_holds_to_all() -> None:
    before = {"main.py": RENDER}
    after = fix_files(before)
    assert "def render(params, key, scale, rays):\n    params, key, scale = jax.device_put(" in after["main.py"]
    found = [*run([Program("one", before, after)]), *run_in_processes([Program("two", before, after)])]
    assert [(v.verdict, v.text) for v in found] == [("agrees", "")] * 2


def test_long_specs_of_decorated_functions_are_said_once() -> None:
    text = after("decorated functions with long specs")["main.py"]
    assert text.count('in_specs=(P("i"), P("i"), P("i")') == 2


def test_static_arguments_are_bound_where_the_map_is_made() -> None:
    text = after("static arguments at either end")["main.py"]
    for bound in (
        "functools.partial(step_per_device, k, op, n=n)",
        "functools.partial(power, k=k, n=n)",
        "functools.partial(self.run_per_device, n=n)",
    ):
        assert bound in text
    assert sum(line.count("None") for line in text.splitlines() if "in_specs" in line) == 5  # mixed, positional, hidden


def test_what_is_given_by_keyword_where_the_map_is_made_is_given_by_place() -> None:
    text = after("keywords where the map is made")["main.py"]
    assert '({"w": rows()}, rows(2.0), rows(3.0))' in text
    assert "(rows(), rows(4.0), rows(2.0))" in text
    assert "lru_cache" not in text
