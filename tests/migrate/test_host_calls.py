"""Bodies that call the host, given what maps over other axes made: pmap lays out its arguments, as the rewrite does."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program, run

OPENING = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from jax.experimental import io_callback

n = jax.local_device_count()
x = np.arange(2.0 * n, dtype=np.float32).reshape(n, 2)


def host(x):
    return np.asarray(x) * 2


def doubled(x):
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


first = jax.pmap(lambda w, x: w + jax.lax.pmean(x, "a"), axis_name="a")
w = first(jnp.ones((n, 2)), x)
"""
CALLED = {
    "a function": """second = jax.pmap(lambda x: doubled(x) + jax.lax.psum(x, "b"), axis_name="b")


def main():
    return second(w)
""",
    "io_callback": """second = jax.pmap(lambda x: io_callback(host, x, x) + jax.lax.psum(x, "b"), axis_name="b")


def main():
    return second(w)
""",
    "a decorated step that keeps its state": """@functools.partial(jax.pmap, axis_name="b", donate_argnums=0)
def second(w, x):
    return jax.lax.pmean(w * doubled(x), "b")


def main():
    v = jax.tree.map(jnp.copy, w)
    for _ in range(3):
        v = second(v, x)
    return v
""",
    "parameters that are equal on all devices": """second = jax.pmap(
    lambda w, x: jax.lax.pmean(w * doubled(x), "b"), axis_name="b"
)


def main():
    v = first(jax_utils.replicate(jnp.ones(2)), x)
    return second(v, x), second(second(v, x), x)
""",
    "a method": """class Trainer:
    def __init__(self):
        self.step = jax.pmap(self.loss, axis_name="b", in_axes=(0, None))

    def loss(self, x, scale):
        return jax.lax.pmean(doubled(x) * scale, "b")


def main():
    return Trainer().step(w, jnp.float32(2.0))
""",
    "a function that is given": """def mapped(f):
    return jax.pmap(f, axis_name="b")


def main():
    return mapped(lambda x: doubled(x) + jax.lax.psum(x, "b"))(w)
""",
    "an argument that has no rows": """@functools.partial(jax.pmap, axis_name="b", in_axes=(0, None, 1), out_axes=1)
def second(x, scale, y):
    return jax.lax.pmean(doubled(x) * scale, "b") + y


def main():
    return second(w, jnp.float32(3.0), w.T), second(w, 2.0, x.T)
""",
    "arguments by keyword": """@functools.partial(jax.pmap, axis_name="b")
def second(x, y):
    return jax.lax.pmean(doubled(x) * y, "b")


def main():
    return second(w, y=w), second(x=w, y=x)
""",
    "another function at each call": """def total(k):
    return jax.pmap(lambda x: jax.lax.psum(doubled(x) * k, "b"), axis_name="b")(w)


def main():
    return [total(k) for k in (1, 2)]
""",
    "a dict of maps": """table = {
    "b": jax.pmap(lambda x, y: doubled(x) + jax.lax.psum(y, "b"), axis_name="b", donate_argnums=1)
}


def main():
    return table["b"](w, w + 1)
""",
}
FREE = {
    "one axis": "second = jax.pmap(lambda x: doubled(x) + jax.lax.psum(x, 'a'), axis_name='a')\ny = second(w)\n",
    "no name": "second = jax.pmap(lambda x: doubled(x))\ny = second(w)\n",
    "another map": (
        "second = jax.pmap(lambda x: jax.lax.psum(x, 'b'), axis_name='b')\ny = second(w)\nz = jax.jit(doubled)(x)\n"
    ),
    "a debug callback": (
        "def look(x):\n    jax.debug.callback(print, x)\n    return x + jax.lax.psum(x, 'b')\n\n\n"
        "second = jax.pmap(look, axis_name='b')\ny = second(w)\n"
    ),
}
CASES = [(name, layout) for name in CALLED for layout in ("stacked", "auto")]


def _fixed(body: str, layout: str = "stacked") -> dict[str, str]:
    return fix_files({"main.py": f"{OPENING}\n\n{body}"}, layout=layout)


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[str, str], str]:
    programs = [
        Program(f"{name}, {layout}", {"main.py": f"{OPENING}\n\n{CALLED[name]}"}, _fixed(CALLED[name], layout))
        for name, layout in CASES
    ]
    found = run(programs, flags=UNOPTIMISED)
    return {
        case: "" if v.verdict == "agrees" else f"{v.verdict}: {v.text[:3000]}"
        for case, v in zip(CASES, found, strict=True)
    }


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_agrees(name: str, layout: str, verdicts: dict[tuple[str, str], str]) -> None:
    after = _fixed(CALLED[name], layout)["main.py"]
    assert "jax.pmap(" not in after
    assert "def moved(" not in after, "a map that chooses its mesh at each call"
    assert "in_shardings=" in after or "on_mesh(" in after or "on_rows(" in after
    assert not verdicts[name, layout], f"{verdicts[name, layout]}\n{after}"


@pytest.mark.parametrize("name", FREE)
def test_maps_that_need_it_not_cost_no_code(name: str) -> None:
    after = _fixed(FREE[name])["main.py"]
    assert "moved" not in after
    assert "in_shardings" not in after
    assert "on_mesh(" not in after


PLACED = """import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), "i")
    size = jax.pure_callback(lambda v: np.float32(v) * 2, jax.ShapeDtypeStruct((), jnp.float32), jnp.sum(x))
    return w - grad * size, size


p_step = jax.pmap(step, axis_name="i")


def main():
    w = jax_utils.replicate(jnp.ones(3))
    for i in range(2):
        w, size = p_step(w, shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7 + i))
    return w, size
"""


@pytest.mark.parametrize("layout", ["stacked", "auto"])
def test_what_lies_on_a_mesh_of_a_librarys_own_is_laid_out_anew(layout: str) -> None:
    """flax's `replicate` has a mesh whose axis has another name than any map."""
    before = {"main.py": PLACED}
    (found,) = run([Program("placed", before, fix_files(before, layout=layout))], flags=UNOPTIMISED)
    assert found.verdict == "agrees", found.text[-3000:]


FEW = PLACED.replace("jax_utils.replicate(jnp.ones(3))", "jax_utils.replicate(jnp.ones(3), jax.devices()[:4])").replace(
    "shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7 + i)", "np.ones((4, 2, 3), np.float32) * i"
)


@pytest.mark.parametrize("layout", ["stacked", "auto"])
def test_fewer_rows_than_devices_are_laid_out_on_as_many(layout: str) -> None:
    before = {"main.py": FEW}
    after = fix_files(before, layout=layout)
    assert "on_rows(" in after["main.py"]
    (found,) = run([Program("few", before, after)], flags=UNOPTIMISED)
    assert found.verdict == "agrees", found.text[-3000:]


TRAINER = """import jax
from lib import doubled

step = jax.pmap(lambda x: doubled(x) + jax.lax.psum(x, "c"), axis_name="c")
y = step(jax.numpy.ones(8))
"""


@pytest.mark.parametrize("together", [False, True])
def test_what_does_not_run_with_it_costs_no_code(together: bool) -> None:
    """In a repository of several programs, one that calls the host by a name of the trainer's says nothing of that."""
    called = f"{'import trainer' if together else 'import math'}\n{OPENING}\n\n{CALLED['a function']}"
    after = fix_files({"lib.py": "def doubled(x):\n    return 2 * x\n", "trainer.py": TRAINER, "called.py": called})
    assert ("on_rows" in after["trainer.py"]) is together, after
    assert "in_shardings" in after["called.py"] or "on_mesh" in after["called.py"]
