"""Functions beside a map, around one that cannot be changed; meshes of fixed rows; what a wrapper of pmap is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import parse_module
from tests.migrate.test_short_forms import HEAD, agree

BESIDE = """
class Model:
    def step(self, scale, x):
        return x * scale, x.sum()

def add(x, y, *, more):
    return {"sum": x + y + more}

def main(model, rows):
    step = jax.pmap(model.step, "i", in_axes=(None, 0))
    found = [step(rows, X)]
    found.append(jax.pmap(functools.partial(add, more=2.0), "i", in_axes=(0, None))(X, rows))
    found.append(jax.pmap(lambda x: tuple(jnp.split(x, 2)), "i")(X))
    return found

ADD, N = add, COUNT()
RESULT = main(Model(), 2.0)
"""

UNLIKE = """
class Model:
    def step(self, scale, x):
        return lax.psum(x, "i"), {"x": x * scale}, x[:, None] + jnp.arange(3.0)

def main(model, scale):
    step = jax.pmap(model.step, "i", in_axes=(None, 0), out_axes=(None, 0, 1))
    return step(scale, X), COUNT()

RESULT = main(Model(), 2.0)
"""

FIXED = """
def main():
    few = jnp.arange(3.0)
    total = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    one = jax.pmap(lambda tree: lax.pmean(tree, "j"), axis_name="j")
    return total(few), one(jax.tree.map(lambda x: x[None], {"a": X})), COUNT()

RESULT = main()
"""

WRAPPED = """
def pmap(fun, *args, **kwargs):
    return jax.pmap(fun, *args, axis_name="i", **kwargs)

@functools.partial(pmap, donate_argnums=())
def mean(x):
    return lax.pmean(x, "i")

def place(x, devices=None, in_axes=0):
    return x

RESULT = mean(X), pmap(jnp.abs)(Y), place(X, devices=None, in_axes=0)
"""

ALIGNED = """import functools
import jax

@functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=0)
def step(model: str, state: dict,
         batch: dict) -> dict:
  return state
"""


def test_what_cannot_be_changed_gets_a_function_beside_its_map() -> None:
    after = fix_files({"main.py": HEAD + BESIDE})["main.py"]
    assert "check_vma=False)\n    def step(rows, X):\n" in after  # below its decorators
    agree(HEAD + BESIDE, after)


def test_a_partial_is_called_with_all_that_it_binds() -> None:
    after = fix_files({"main.py": HEAD + BESIDE.replace("RESULT = main(Model(), 2.0)", "")})["main.py"]
    assert "add(x, y, more=2.0)" in after
    assert "def per_device(" not in after


MANY = """
class Model:
    def step(self, parameters, optimizer_state, momentum, learning_rate, images, labels):
        scaled = parameters * learning_rate + lax.pmean(momentum * images, "i")
        return scaled - optimizer_state, {"loss": labels.sum() + 0.0}
def main(model):
    p_step = jax.pmap(model.step, axis_name="i")
    return p_step(X, X + 1, X + 2, X + 3, X + 4, X + 5)
RESULT = main(Model())
"""


def test_many_arguments_that_all_have_rows_are_a_star() -> None:
    after = fix_files({"main.py": HEAD + MANY.replace("model.step", "functools.partial(model.step)")})["main.py"]
    assert "def p_step(*args):\n" in after
    agree(HEAD + MANY, after)


def test_arrays_of_fixed_rows_get_a_mesh_of_as_many_devices() -> None:
    after = fix_files({"main.py": HEAD + FIXED})["main.py"]
    assert after.count("mesh_of(") == 3
    agree(HEAD + FIXED, after)


def test_a_wrapper_of_pmap_takes_what_its_calls_give() -> None:
    after = fix_files({"main.py": HEAD + WRAPPED})["main.py"]
    assert "def shard_map_stacked(fun, axis_name=None, *, donate_argnums=()):\n" in after
    agree(HEAD + WRAPPED, after)


def test_a_function_under_a_new_name_keeps_its_parameters_below_each_other() -> None:
    after = fix_files({"main.py": ALIGNED})["main.py"]
    assert f"def step_per_device(model: str, state: dict,\n{' ' * len('def step_per_device(')}batch: dict)" in after


def test_results_with_unlike_axes_are_put_back_one_by_one() -> None:
    after = fix_files({"main.py": HEAD + UNLIKE})["main.py"]
    assert "def per_device(" not in after
    assert "out0, out1, out2 = step_fn(scale, X)\n" in after
    agree(HEAD + UNLIKE, after)


@pytest.mark.parametrize(
    ("text", "combines"),
    [
        ("import a\nimport b\nfrom c import d\n", False),
        ("import b\nimport a\nfrom c import d\n", True),
        ("import z\n\nimport a\nfrom c import d\n", False),
        ("from a import b\nimport c\nimport d\n", True),
    ],
)
def test_the_order_of_imports_shows_whether_isort_sorts_them(text: str, combines: bool) -> None:
    assert style_of(parse_module(Path("/nowhere/a.py"), text)).combine_as is combines
