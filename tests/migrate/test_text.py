"""What a rewrite leaves alone, where it puts what it adds, and what it refuses."""

from __future__ import annotations

import ast
import re
import sys
from functools import partial
from pathlib import Path

import libcst as cst
import pytest

from jaxmigrate.codemod.layout import Room, fitted, source
from jaxmigrate.codemod.style import Style
from jaxmigrate.migrate import Plan, PlanOptions, fix_files
from jaxmigrate.migrate.project import plan_sources


def planned(text: str) -> Plan:
    plan, errors = plan_sources([("a.py", Path("/project/a.py"), text)], PlanOptions(marks=True))
    assert not errors
    return plan


def fixed(text: str) -> str:
    return fix_files({"a.py": text})["a.py"]


PROGRAM = """# a comment
import jax  # the framework
import numpy as np


def f( x ):   # odd spacing
    return x+1


p = jax.pmap( f, # the function
              axis_name = 'i' , )
"""
MAP = """@jax.jit
def p(x):
    return jax.shard_map(
        f, mesh=mesh_of(x), in_specs=P('i'), out_specs=P('i'), check_vma=False
    )(x)
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_only_the_map_and_what_it_maps_differ(newline: str, end: str) -> None:
    text = (PROGRAM.rstrip("\n") + end).replace("\n", newline)
    after = fixed(text)
    assert after.endswith(f"\n# the function\n{MAP.removesuffix(chr(10))}{end}".replace("\n", newline))
    assert after.startswith(text[: text.index("import numpy")])
    assert "def f( x ):   # odd spacing" in after
    assert "x+1" in after
    assert newline == "\n" or "\n" not in after.replace(newline, "")
    ast.parse(after)


def test_tabs_and_single_quotes_are_taken_over() -> None:
    after = fixed("import jax\n\n\ndef f(x):\n\treturn {'a': x, 'b': 'c'}\n\n\np = jax.pmap(f)\n")
    assert "\n\t\tin_specs=P('devices'),\n" in after
    assert "    " not in after


def test_two_space_files_get_a_two_space_helper() -> None:
    after = fixed("import jax\n\n\ndef f(x):\n  return x\n\n\np = jax.pmap(f, 'i')\n")
    assert "\n  rows, *_ = jax.tree.leaves(tree)[0].shape\n" in after
    assert "\n  return jax.shard_map(\n      f, mesh=mesh_of(x)" in after  # as Google's style and Pyink have it


def test_wide_characters_before_a_reference_do_not_shift_it() -> None:
    after = fixed("import jax\nx = '\N{SNOWMAN}\N{GRINNING FACE}'; p = jax.pmap(abs, 'i')  # \N{SNOWMAN}\n")
    assert "\nx = '\N{SNOWMAN}\N{GRINNING FACE}'\n\n\n# \N{SNOWMAN}\n@jax.jit\ndef p(*args):\n" in after
    assert "\n    out = abs(*jax.tree.map(lambda x: x.squeeze(0), args))\n" in after


OWN_NAMES = """import jax


class State:
    f: int{read}

    def f_again(self, f):
        return f + self.f


def f(x):
    return x + 1


p = jax.pmap(f, 'i')
"""


@pytest.mark.parametrize(("read", "is_changed"), [("", True), ("\n    g = f", False), ("\n    g = [f]", False)])
def test_a_field_or_a_local_variable_is_no_use_of_a_function_of_its_name(read: str, *, is_changed: bool) -> None:
    after = fixed(OWN_NAMES.format(read=read))
    assert ("def f(x):\n    x = x.squeeze(0)\n" in after) is is_changed
    assert ("def p_per_device(x):\n" in after) is not is_changed


def test_decorators_below_the_map_stay_with_what_is_mapped() -> None:
    after = fixed("import jax\n\n\n@jax.pmap  # rows\n@jax.vmap\ndef p(x):\n    return x + 1\n")
    assert "# rows\n@jax.jit\ndef p(x):\n" in after
    assert "per_device(p_per_device)" in after
    assert "\n\n\n@jax.vmap\ndef p_per_device(x):\n    return x + 1\n" in after


@pytest.mark.parametrize(
    ("call", "specs"),
    [
        ("p(1, x, y=y)", "(P(), P('i'), P('i'))"),
        ("p(1, y=y, x=x)", ""),  # in_axes says more than is given by position
        ("p(1, x, y=y), p(1, x, y)", ""),
        ("p(1, x, y=y), p(1, **rest)", ""),
        ("p(1, x, z=y)", ""),
    ],
)
def test_what_every_call_gives_by_keyword_is_mapped_over_its_first_axis(call: str, specs: str) -> None:
    text = "import jax\n\n\ndef f(n, x, y=0, z=0):\n    return n + x + y + z\n\n\n"
    after = fixed(f"{text}p = jax.pmap(f, 'i', in_axes=(None, 0))\nx = y = jax.numpy.arange(8.0)\nprint({call})\n")
    assert ("shard_map_stacked" in after) is (not specs)
    assert not specs or f"in_specs={specs}" in after


def test_form_feeds_are_no_line_ends() -> None:
    after = fixed("import jax\n\x0c\n\ndef f(x): return x\n\x0c\np = jax.pmap(f, 'i')\n")
    assert after.endswith("\n\x0c\n" + MAP)
    ast.parse(after)


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("import jax\nimport numpy as np\n", "import jax\nimport numpy as np\nfrom jax.sharding import Mesh"),
        ("import jax\nfrom flax import linen\nfrom jax import lax\n", "from jax import lax\nfrom jax.sharding import"),
        (
            "from flax import linen\nimport jax\nimport jax.numpy as jnp\nimport optax\n",
            "import jax.numpy as jnp\nfrom jax.sharding import Mesh, PartitionSpec as P\nimport optax\n",
        ),
        (
            "import jax\nfrom jax.sharding import Mesh\n",
            "import jax\nfrom jax.sharding import Mesh, PartitionSpec as P\n\n",
        ),
        ("import jax\nfrom jax.sharding import Mesh  # all\n", "jax.sharding import Mesh, PartitionSpec as P  # all\n"),
        ("import jax\nfrom jax.sharding import AxisType\n", "import AxisType, Mesh, PartitionSpec as P\n"),
        (
            "import jax\nx = jax.device_put_replicated(1, jax.devices())\n",
            "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n\n",
        ),
        ("import jax\nfrom jax.sharding import Mesh, PartitionSpec as P\n", "PartitionSpec as P\n\n\ndef mesh_of"),
        ("import gc\nimport time\nfrom absl import app\nimport jax\n", "import app\nimport jax\nfrom jax.sharding"),
        (
            "import time\nfrom functools import partial\nimport jax\nimport einops\nfrom jax import lax\nimport glob\n",
            "from jax import lax\nfrom jax.sharding import Mesh, PartitionSpec as P\nimport glob\n",
        ),
        ("import jax.numpy as jnp\nfrom jax import pmap\n", "import jax\nimport jax.numpy as jnp\nfrom jax.sharding"),
    ],
)
def test_imports_go_where_the_file_sorts_them(imports: str, expected: str) -> None:
    call = "pmap" if "import pmap" in imports else "jax.pmap"
    after = fixed(f"{imports}\n\np = {call}(abs, 'i')\n")
    assert expected in after, after


def test_a_lazy_import_of_jax_stays_lazy() -> None:
    after = fixed("import os\n\n\ndef f():\n    import jax\n    return jax.pmap(abs, 'i')\n")
    assert ast.unparse(ast.parse(after).body[0]) == "import os"
    assert not any(isinstance(s, ast.Import | ast.ImportFrom) for s in ast.parse(after).body[1:])


def test_an_import_that_follows_settings_stays_behind_them() -> None:
    after = fixed("import os\nos.environ['XLA_FLAGS'] = ''\nimport jax\np = jax.pmap(abs, 'i')\n")
    assert after.index("environ") < after.index("jax.sharding")


def test_an_unused_import_of_pmap_goes() -> None:
    assert "pmap" not in fixed("import jax\nfrom jax import lax, pmap\n\np = pmap(abs, 'i')\nq = lax\n").replace(
        "_shard_map_stacked", ""
    )


COUNTS = """import jax
import numpy as np


def rows(x):
    n = jax.local_device_count()
    return x[: len(x) // n * n]


@jax.pmap
def double(x):
    return x * 2


def main():
    n = jax.local_device_count()
    x = rows(np.ones((17, 3)))
    x = x.reshape((n, -1) + x.shape[1:])
    return np.concatenate(double(x))
"""


def test_a_count_that_one_function_reads_no_more_goes_and_that_of_another_stays() -> None:
    after = fix_files({"main.py": COUNTS}, layout="auto")["main.py"]
    assert after.count("n = jax.local_device_count()") == 1
    assert "def rows(x):\n    n = " in after


@pytest.mark.parametrize(("more", "stays"), [("", False), ("y = jax.numpy.ones(2)\n", True)])
def test_an_import_of_a_submodule_goes_unless_its_whole_name_is_used(more: str, *, stays: bool) -> None:
    after = fixed(f"import jax\nimport jax.numpy as jnp\n\n\ndef f(x: jnp.DeviceArray):\n    return x\n\n\n{more}")
    assert ("import jax.numpy" in after) is stays


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("import os\n\nimport jax\nimport numpy as np\n", "import PartitionSpec as P\n\nfrom tools.sharding import"),
        ("import os\n\nimport jax\n\nfrom models import net\n", "from models import net\nfrom tools.sharding import"),
        ("import os\nimport numpy as np\nimport jax\n", "PartitionSpec as P\nfrom tools.sharding import"),
    ],
)
def test_the_module_of_the_project_has_its_place_among_imports(imports: str, expected: str) -> None:
    text = f"{imports}\n\ndef f(x):\n    from tools.log import log\n\n    return log(x)\n\n\np = jax.pmap(f, 'i')\n"
    log = "import jax\n\nlog = abs\ntwice = jax.pmap(lambda x: 2 * x, 'i')\n"
    after = fix_files({"tools/data.py": text, "tools/log.py": log, "main.py": "from tools import data\n"})
    assert expected in after["tools/data.py"], after["tools/data.py"]


@pytest.mark.parametrize("below", ["import models\n", "from models import net\nimport tools\n"])
def test_numpy_is_imported_beside_jax(below: str) -> None:
    head = f"import jax\nfrom flax import jax_utils\nimport optax\n\n{below}"
    step = "\n\np = jax.pmap(lambda x: jax.lax.pmean(x, 'i'), 'i')\n"
    text = f"{head}{step}\n\ndef main(x):\n    return p(jax_utils.replicate(x))[0]\n"
    imports, _, rest = fix_files({"main.py": text}, "auto")["main.py"].partition("import optax\n\n")
    assert "import numpy as np\n" in imports
    assert rest.startswith(f"{below}\n\n")


def test_an_import_that_another_module_leans_on_stays() -> None:
    files = {"a.py": "from jax import pmap\np = pmap(abs)\n", "b.py": "import a\nfrom a import pmap as q\nr = [q]\n"}
    assert "from jax import pmap" in fix_files(files)["a.py"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import jax\np = jax.pmap(abs, 'i', in_axes=-1)\n", "JM402"),
        ("import jax\np = jax.pmap(abs, 'i', out_axes=(0, -2))\n", "JM402"),
        ("import jax\np = jax.pmap(abs, 'i', global_arg_shapes=None)\n", "JM403"),
        ("import jax\ndef f(g): return g is jax.pmap\n", "JM404"),
        ("import jax\nprint(jax.pmap.__doc__)\n", "JM404"),
        ("import jax\np = jax.pmap(jax.vmap(jax.pmap(abs, 'j', axis_size=2)), 'i')\n", "JM405"),
    ],
)
def test_left_with_a_reason(text: str, code: str) -> None:
    plan = planned(text)
    left = [site for site in plan.sites if site.status == "left"]
    assert {site.code for site in left} == {code}
    assert all(site.reason for site in left)
    if len(plan.sites) == 1:
        assert plan.files[0].after == text


def test_other_functions_named_pmap_are_not_jax() -> None:
    text = "import equinox as eqx\nfrom mylib import pmap\nimport jax\np = pmap(abs)\nq = eqx.pmap(abs)\n"
    assert fixed(text) == text


def test_strings_and_comments_stay() -> None:
    text = "import jax\n'''jax.pmap(f)'''\n# jax.pmap(f)\np = jax.pmap(abs, 'i')\n"
    assert "'''jax.pmap(f)'''\n\n\n# jax.pmap(f)\n@jax.jit\n" in fixed(text)


def test_what_does_not_parse_is_named_and_left() -> None:
    plan, errors = plan_sources([("a.py", Path("/p/a.py"), "import jax\np = jax.pmap(\n")], PlanOptions(marks=True))
    assert errors["a.py"].lineno == 2
    assert plan.files[0].after == plan.files[0].before


def test_layouts_of_arguments_are_named() -> None:
    text = (
        "import jax\ndef f(n, w, x): return x\n"
        "p = jax.pmap(f, 'i', in_axes=(None, None, 1), static_broadcasted_argnums=0, out_axes=None)\n"
    )
    (site,) = planned(text).sites
    assert [(a.name, a.layout) for a in site.arguments] == [("n", "static"), ("w", "broadcast"), ("x", "stacked")]
    assert [o.layout for o in site.outputs] == ["broadcast"]
    assert (site.axis, site.mapped, site.form) == ("i", "f", "call")


@pytest.mark.parametrize(
    ("mapped", "names"),
    [
        ("partial(step, 2)", ["w", "x"]),
        ("partial(step, 2, x=3)", ["w"]),
        ("partial(Trainer().step, 2)", ["x"]),
        ("partial(step, *GIVEN)", ["*"]),
    ],
)
def test_arguments_have_the_names_of_the_parameters_that_a_partial_leaves(mapped: str, names: list[str]) -> None:
    source = (
        "from functools import partial\nimport jax\nGIVEN = [2]\ndef step(tx, w, x):\n    return w * x\n"
        "class Trainer:\n    def step(self, tx, x):\n        return x\n"
        f"mapped = jax.pmap({mapped}, axis_name='batch')\n"
    )
    (site,) = planned(source).sites
    assert [a.name for a in site.arguments] == names


def test_marks_do_not_move_lines() -> None:
    (file,) = planned(PROGRAM).files
    assert file.marked_before.count("\n") == file.before.count("\n")
    assert file.marked_after.count("\n") == file.after.count("\n")
    assert "__jaxmigrate_transform__('a.py:10:5', jax.pmap)(" in file.marked_before
    assert "@__jaxmigrate_transform__('a.py:10:5', jax.jit)\ndef p(x):\n" in file.marked_after


ALIAS = "import functools\nimport jax\nmapper = functools.partial(jax.pmap, axis_name='i')\n"


@pytest.mark.parametrize("init", [{}, {"qmc/__init__.py": ""}])
def test_a_package_that_imports_itself_by_name(init: dict[str, str]) -> None:
    files = {**init, "qmc/names.py": ALIAS, "qmc/train.py": "from qmc import names\np = names.mapper(abs)\n"}
    plan, _ = plan_sources(
        [(name, Path("/project") / name, text) for name, text in files.items()], PlanOptions(marks=True)
    )
    assert [(site.id, site.form, site.axis) for site in plan.sites] == [("qmc/train.py:2:5", "alias", "i")]


def test_an_alias_that_nothing_in_sight_uses_is_a_site_of_its_own() -> None:
    (site,) = planned(ALIAS).sites
    assert (site.line, site.status, site.form) == (3, "rewritten", "value")
    assert "__jaxmigrate_transform__('a.py:3:28', jax.pmap)" in planned(ALIAS).files[0].marked_before


def test_a_partial_of_an_alias_is_a_site() -> None:
    plan = planned(ALIAS + "@functools.partial(mapper, donate_argnums=0)\ndef f(x): return x\n")
    assert [(site.line, site.form, site.axis, site.mapped) for site in plan.sites] == [(4, "alias", "i", "f")]
    assert "@functools.partial(jax.jit, donate_argnums=0)" in plan.files[0].after
    assert "mapper" not in plan.files[0].after


@pytest.mark.parametrize("shape", ["(", "lambda: ", "[", "not "])
def test_what_is_nested_too_deeply_for_the_parser_is_an_error_of_that_file(shape: str) -> None:
    text = f"import jax\np = jax.pmap(print)\nx = {shape * 6000}1\n"
    plan, errors = plan_sources([("a.py", Path("/project/a.py"), text)], PlanOptions(marks=True))
    assert list(errors) == ["a.py"]
    assert str(errors["a.py"])
    assert plan.files[0].after == text


@pytest.mark.parametrize("shape", ["x = a{} + b", "def f(a):\n    if a{}:\n        return 1", "x = [a{}, 2]"])
@pytest.mark.parametrize("step", ["+a", ".at", "(1)", " if a else a"])
def test_what_python_takes_but_is_nested_too_deeply_to_be_followed(
    shape: str, step: str, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(sys.setrecursionlimit, sys.getrecursionlimit()))
    sys.setrecursionlimit(10_000)  # as the command line does, or Python's parser gives up before
    head = "import jax\np = jax.pmap(print)\na = b = 1\n"
    files = [
        ("a.py", Path("/project/a.py"), head + shape.format(step * 3000) + "\n"),
        ("b.py", Path("/project/b.py"), head),
    ]
    plan, errors = plan_sources(files, PlanOptions(marks=True))
    assert {name: (error.msg, error.lineno) for name, error in errors.items()} == {
        "a.py": ("nested too deeply", 5 if shape.startswith("def") else 4)
    }
    assert plan.files[0].after == files[0][2]
    assert plan.files[1].sites[0].status == "rewritten"


@pytest.mark.parametrize("step", ["+a", ".at", "(1)", " if a else a"])
def test_what_is_long_is_not_nested(step: str) -> None:
    text = f"import jax\np = jax.pmap(print)\na = 1\nx = [\n    a{step},\n" + "    {0: [1]},\n" * 1000 + "]\n"
    assert plan_sources([("a.py", Path("/project/a.py"), text)], PlanOptions(marks=True))[1] == {}


@pytest.mark.parametrize("layout", ["stacked", "auto"])
@pytest.mark.parametrize(
    "head", ["#!/usr/bin/env python\n", "#!/bin/x\n# -*- coding: latin-1 -*-\n", "# \xe9\n# coding: latin-1\n"]
)
def test_a_helper_leaves_the_lines_that_must_be_first(head: str, layout: str) -> None:
    """Found by the text fuzzer: imports within a statement leave no place below them."""
    text = head + "for n in range(2):\n    import jax\n    p = jax.pmap(lambda x: x)\n"
    (file,) = plan_sources([("a.py", Path("/project/a.py"), text)], PlanOptions(layout, marks=True))[0].files
    assert file.after.startswith(f"{head}\n\ndef _")
    compile(file.after.encode("latin-1"), "a.py", "exec")


NESTED = """import jax
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax

p_step = jax.pmap(lambda w, x: w - lax.pmean(x.mean(), "batch"), axis_name="batch")


def train(w, batches):
    scale = 2
@@
    def once(w, x):
        return p_step(w, shard(x * scale))

    w = jax_utils.replicate(w)
    for x in batches:
        w = once(w, x)
    return jax_utils.unreplicate(w)
"""


@pytest.mark.parametrize("gap", ["", "\n"])
def test_what_is_shared_stands_below_the_imports(gap: str) -> None:
    plan, _ = plan_sources(
        [("a.py", Path("/project/a.py"), NESTED.replace("@@\n", gap))], PlanOptions("auto", marks=True)
    )
    (after,) = (file.after for file in plan.files)
    assert f"    scale = 2\n{gap}    def once(w, x):\n" in after
    assert "import PartitionSpec as P\n\n\n@functools.cache\ndef get_mesh():\n" in after
    assert after.count("Mesh(jax.devices()") == 1


@pytest.mark.parametrize("axes", ["(0,) * 2 + (None,)", "tuple([0, 0]) + (None,)", "(0, 0) + REST"])
def test_axes_that_are_put_together(axes: str) -> None:
    text = "import jax\nREST = (None,)\np = jax.pmap(lambda x, y, n: x + y * n, 'i', in_axes=AXES)\n"
    after = fixed(text.replace("AXES", axes) + "print(p(jax.numpy.ones(8), jax.numpy.ones(8), 2))\n")
    assert ("P(),)" in "".join(after.split()) or "P())" in "".join(after.split())) is ("tuple" not in axes)


def test_what_was_returned_keeps_its_lines_under_a_name() -> None:
    made = "State.create(\n        apply_fn=apply,\n        params=key,\n    )"
    text = f"import jax\n\n\ndef init(key):\n    return {made}\n\n\nprint(jax.device_count(), jax.pmap(init)(key))\n"
    assert f"    out = {made}\n    return jax.tree.map(lambda x: jax.numpy.expand_dims(x, 0), out)\n" in fixed(text)
    aligned = text.replace(made, "State.create(apply_fn=apply,\n                        params=key, more=1, others=2)")
    assert "    out = State.create(apply_fn=apply, params=key, more=1, others=2)\n" in fixed(aligned)


@pytest.mark.parametrize("hangs", [True, False])
def test_what_a_broken_map_is_given_is_broken_where_it_is_too_long(hangs: bool) -> None:
    names = ", ".join(f"argument_{letter * 4}" for letter in "abcdefgh")
    text = f"jax.shard_map(step_per_device, mesh=get_mesh(), in_specs=P('devices'), out_specs=P('devices'))({names})"
    found = source(fitted(cst.parse_expression(text), Room("", "", 11, 0, Style(fills=hangs, hangs=hangs))))
    assert max(map(len, found.splitlines())) <= 88
    assert re.sub(r"[\s,]", "", found) == re.sub(r"[\s,]", "", text)


@pytest.mark.parametrize(("fills", "expected"), [(True, "partial(update,)"), (False, "partial(\n    update,\n)")])
def test_a_comma_behind_the_last_argument_asks_for_lines_where_a_formatter_reads_it(fills: bool, expected: str) -> None:
    style = Style(fills=fills)
    room = Room("", "", 0, 0, style)
    assert source(fitted(cst.parse_expression("partial(update,)"), room)) == expected
