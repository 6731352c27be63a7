"""Small things that a reviewer sends back: names, comments that lose their line, indentations that nobody wants."""

from __future__ import annotations

from jaxmigrate.migrate import fix_files


def fixed(text: str) -> str:
    return fix_files({"a.py": text})["a.py"]


def test_what_tells_a_tool_something_stays_behind_its_line() -> None:
    text = """\
import jax


class Trainer:
    def __init__(self, step):
        self.step = jax.pmap(  # type: ignore
            step, axis_name="batch", static_broadcasted_argnums=(1,)
        )

    def run(self, x):
        return self.step(x, 2)
"""
    line = next(one for one in fixed(text).split("\n") if "self.step = " in one)
    assert line.endswith("static_argnums=1)  # type: ignore")


def test_a_lambda_over_several_arrays_has_a_name_of_its_own() -> None:
    text = """\
import jax


@jax.pmap
def step(w, x):
    return {"loss": w["a"] * x["b"]}
"""
    assert "w, x = jax.tree.map(lambda a: a.squeeze(0), (w, x))" in fixed(text)


def test_lines_are_not_indented_to_where_a_bracket_once_stood() -> None:
    text = """\
import jax


def make(apply_function, read_a_long_name, another_long_name):
    apply_function(
                                            read_a_long_name,
                                            another_long_name,
                                            )
    apply_function(
                                            another_long_name,
                                            read_a_long_name,
                                            )

    def step(state, batch):
        return apply_function(state, batch)

    return jax.pmap(step, axis_name="a_long_name_of_an_axis", donate_argnums=(0,))
"""
    assert not any(line.startswith(" " * 40) for line in fixed(text).split("    def step")[1].split("\n"))


def test_a_module_beside_a_variable_of_its_name_is_called_as_usual() -> None:
    text = """\
from jax import core
import jax

core = jax.core.Primitive("p")
step = jax.pmap(lambda x: 2 * x)
"""
    made = fixed(text)
    assert "from jax.extend import core as jex_core" in made
    assert 'core = jex_core.Primitive("p")' in made


def test_an_import_in_functions_alone_goes_by_its_name_above_them() -> None:
    text = """\
def run(x, devices):
    import jax

    x = jax.device_put_replicated(x, devices)
    return jax.pmap(lambda x: 2 * x, devices=devices)(x)
"""
    made = fixed(text)
    assert "import jax\n" in made.split("def run")[0]
    assert "_jax" not in made


def test_another_thing_of_that_name_keeps_it() -> None:
    text = """\
def run(x, devices):
    import jax

    x = jax.device_put_replicated(x, devices)
    return jax.pmap(lambda x: 2 * x, devices=devices)(x)


def other(jax):
    return jax + 1
"""
    assert "import jax as _jax" in fixed(text)


def test_the_parameters_of_a_function_are_seen_under_jit_and_vmap() -> None:
    text = """\
import jax


@jax.jit
def op(a, b):
    return a @ b


def bench(n, x, y):
    if n == 1:
        run = jax.jit(op)
    else:
        run = jax.pmap(op)
    return run(x, y)
"""
    made = fixed(text)
    assert "def sharded_op(a, b):" in made
    assert "*args" not in made


def test_arguments_are_called_as_the_own_calls_of_a_map_call_them() -> None:
    text = """\
import jax
import lib

image_fn, text_fn = lib.load()
image_fn = jax.pmap(image_fn, in_axes=(None, 0))
text_fn = jax.pmap(text_fn, in_axes=(None, 0))
for image, text in lib.data():
    text_fn(lib.params, text)
    image_fn(lib.params, image)
"""
    made = fixed(text)
    assert "def image_fn(params, image):" in made
    assert "def text_fn(params, text):" in made
