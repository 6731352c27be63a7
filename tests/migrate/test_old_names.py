"""Old names of JAX: each row of the table is replaced, or left with its reason, and calls change with their names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files, plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import NamePlan
from jaxmigrate.program.jax_names import missing
from jaxmigrate.program.old_names import Era, Release, old_names, release, row_of
from jaxmigrate.requirements import project_folder, required_jax, written_for
from tests.campaigns.old_name_cases import CANNOT, PRELUDE, USES
from tests.campaigns.old_names_by_hand import BY_HAND, WITHOUT
from tests.texts import flat

ROWS = old_names()
REPLACED = [name for name, row in ROWS.items() if row.how != "hand"]


def fixed(text: str, target: Release | None = None, era: Era = "") -> tuple[str, tuple[NamePlan, ...]]:
    """A file's text after fix, and its old names."""
    plan, errors = plan_sources(
        [("a.py", Path("/project/a.py"), text)], PlanOptions(target=target, era=era, marks=True)
    )
    assert not errors
    return plan.files[0].after, plan.files[0].names


def left(names: tuple[NamePlan, ...]) -> list[tuple[int, str]]:
    """Line and code of each name that stays."""
    return [(name.line, name.code) for name in names if name.status == "left"]


@pytest.mark.parametrize("name", [name for name in REPLACED if name not in CANNOT])
def test_a_row_is_replaced_and_stays_so(name: str) -> None:
    after, names = fixed(PRELUDE + USES[name])
    assert left(names) == []
    assert name in {one.name for one in names} or name.rpartition(".")[2] in ("DeviceArray", "shard_map")
    ast.parse(after)
    again, rest = fixed(after)
    assert again == after
    assert rest == ()


def test_the_table_is_whole() -> None:
    for name, row in ROWS.items():
        assert row.how in ("rename", "rewrite", "hand", "context"), name
        assert row.replacement or row.note or row.how == "hand", name
        for version in (row.since, row.removed, row.needs):
            assert not version or release(version), name
        if row.how in ("rename", "rewrite"):
            assert missing(row.replacement) == "", name
        if row.removed and name != "jax.config.config" and "._" not in name:  # what is private is not looked up
            assert missing(name), name


@pytest.mark.parametrize(
    "name",
    [
        *("jax._src.test_util.JaxTestCase", "jax._src.scipy.special", "jax._src.lib.xla_client"),
        *("jax.experimental.array_serialization.serialization.AsyncManager", "jax.experimental.jax2tf.convert"),
        *("jax._src.core.config", "jax.tools.jax_to_ir"),
    ],
)
def test_modules_that_could_not_be_read_may_have_any_name(name: str) -> None:
    assert missing(name) == ""


def test_each_row_has_a_program_or_a_reason_for_none() -> None:
    assert not set(BY_HAND) & set(WITHOUT)
    assert set(ROWS) == {name for name in (*USES, *BY_HAND, *WITHOUT) if name in ROWS}


def rows_by_hand() -> list[str]:
    return [name for name, row in ROWS.items() if row.how == "hand"]


@pytest.mark.parametrize("name", rows_by_hand())
def test_what_only_a_person_can_replace_is_left_with_a_reason(name: str) -> None:
    parent, _, last = name.rpartition(".")
    text = f"import jax\nfrom {parent} import {last}\n\nprint({last}, jax)\n"
    after, names = fixed(text)
    assert after == text
    assert (2, ROWS[name].code) in left(names)
    assert all(name.reason for name in names)


def test_rows_below_a_module() -> None:
    found = row_of("jax.linear_util.wrap_init")
    assert found is not None
    assert (found[0].replacement, found[1]) == ("jax.extend.linear_util", ".wrap_init")
    assert row_of("jax.numpy.sum") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from jax import tree_map\ny = tree_map(f, x)", "import jax\ny = jax.tree.map(f, x)"),
        ("import jax as j\ny = j.tree_map(f, x)", "import jax as j\ny = j.tree.map(f, x)"),
        ("from jax import tree_map as tm\ny = tm(f, x)", "from jax.tree import map as tm\ny = tm(f, x)"),
        ("import jax, os\ny = jax.tree_map(f, x)", "import jax, os\ny = jax.tree.map(f, x)"),
        (
            "from jax.experimental.pjit import pjit, PartitionSpec as P\ny = pjit(f, P(), None)",
            "import jax\nfrom jax.sharding import PartitionSpec as P\ny = jax.jit(f, in_shardings=P(), out_shardings=None)",  # noqa: E501
        ),
        (
            "from jax.experimental.maps import Mesh; import jax\nm = Mesh(jax.devices(), ('i',))",
            "from jax.sharding import Mesh; import jax\nm = Mesh(jax.devices(), ('i',))",
        ),
        (
            "import jax\ndef f(x):\n    from jax.experimental.maps import Mesh\n    return Mesh(x, ('i',))",
            "import jax\ndef f(x):\n    from jax.sharding import Mesh\n    return Mesh(x, ('i',))",
        ),
        (
            "import jax\ntry:\n    tree_map = jax.tree.map\nexcept AttributeError:\n    tree_map = jax.tree_map",
            "import jax\ntry:\n    tree_map = jax.tree.map\nexcept AttributeError:\n    tree_map = jax.tree_map",
        ),
        (
            "import jax.numpy as jnp\ny = jnp.product(x)",
            "import jax.numpy as jnp\ny = jnp.prod(x)",
        ),
        (
            "import jax\ndef f(jax):\n    return jax.tree_map",
            "import jax\ndef f(jax):\n    return jax.tree_map",
        ),
        (
            "import jax\nfrom jax import lax\nn = lax.psum(1, axis_name) + jax.tree_leaves(x)[0]",
            "import jax\nfrom jax import lax\nn = lax.axis_size(axis_name) + jax.tree.leaves(x)[0]",
        ),
        (
            "from jax import lax\nn = lax.psum(1, a), lax.psum(2, a)",
            "from jax import lax\nn = lax.axis_size(a), lax.psum(2, a)",
        ),
        (
            "import jax\nkey: 'list[jax.random.KeyArray] | None' = None",
            "import jax\nkey: 'list[jax.Array] | None' = None",
        ),
        (
            "import jax\nfrom jax.random import KeyArray\ndef f(k: 'int | KeyArray', m: 'Literal[\"KeyArray\"]'): pass",
            "import jax\ndef f(k: 'int | jax.Array', m: 'Literal[\"KeyArray\"]'): pass",
        ),
        (
            "import jax\nfrom jax.random import KeyArray\ndef f(k: 'int |' '(KeyArray)'): pass",
            "import jax\nfrom jax import Array as KeyArray\ndef f(k: 'int |' '(KeyArray)'): pass",
        ),
        (
            "import jax\nfrom jax import tree_map\n__all__ = ['tree_map']",
            "import jax\nfrom jax.tree import map as tree_map\n__all__ = ['tree_map']",
        ),
        (
            "import jax\nfrom jax.experimental.pjit import pjit\nf = {'pjit': pjit(g)}",
            "import jax\nf = {'pjit': jax.jit(g)}",
        ),
        ("import jax\nx = jax.xla.DeviceArray", "import jax\nx = jax.Array"),
        (
            "import jax.numpy as jnp\ny = jnp.clip(x, a_min=0, a_max=1), jnp.clip(a=x, a_max=a_min), jnp.clip(x, 0, 1)",
            "import jax.numpy as jnp\ny = jnp.clip(x, min=0, max=1), jnp.clip(x, max=a_min), jnp.clip(x, 0, 1)",
        ),
        (
            "import numpy as np\nfrom jax.numpy import clip\ny = clip(\n    x, 0, a_max=1), np.clip(x, a_min=0)",
            "import numpy as np\nfrom jax.numpy import clip\ny = clip(\n    x, 0, max=1), np.clip(x, a_min=0)",
        ),
        (
            "import jax.numpy as jnp\ny = jnp.clip(a_min=0, a=x)",
            "import jax.numpy as jnp\ny = jnp.clip(a_min=0, a=x)",
        ),
        (
            "import jax\nn = jax.lax.psum(1, axis_name='i') * jax.lax.psum(x=1, axis_name=a)\njax.tree_leaves(x)",
            "import jax\nn = jax.lax.axis_size(axis_name='i') * jax.lax.axis_size(axis_name=a)\njax.tree.leaves(x)",
        ),
        (
            "import jax\nn = jax.lax.psum(1, 'i', axis_index_groups=g), jax.lax.psum(1, *a), jax.tree_leaves(x)",
            "import jax\nn = jax.lax.psum(1, 'i', axis_index_groups=g), jax.lax.psum(1, *a), jax.tree.leaves(x)",
        ),
    ],
)
def test_forms(before: str, after: str) -> None:
    assert fixed(before + "\n")[0] == after + "\n"


SHARD_MAP = "import jax\nfrom jax.experimental.shard_map import shard_map\n"
NEW = "import jax\nfrom jax import shard_map\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f = shard_map(jax.numpy.sin, m, s, s)", "f = shard_map(jax.numpy.sin, mesh=m, in_specs=s, out_specs=s)"),
        ("f = shard_map(g, m, s, s, False)", "f = shard_map(g, mesh=m, in_specs=s, out_specs=s, check_vma=False)"),
        ("f = shard_map(f=g, mesh=m, in_specs=s, out_specs=s, check_rep=False)",
         "f = shard_map(g, mesh=m, in_specs=s, out_specs=s, check_vma=False)"),
        ("f = shard_map(jax.numpy.sin, mesh=m, in_specs=s, out_specs=s, check_rep=True)",
         "f = shard_map(jax.numpy.sin, mesh=m, in_specs=s, out_specs=s, check_vma=True)"),
        ("f = shard_map(g, m, in_specs=s, out_specs=s, check_rep=False, auto=frozenset())",
         "f = shard_map(g, mesh=m, in_specs=s, out_specs=s, check_vma=False)"),
        ("f = shard_map(g, m, in_specs=s, out_specs=s, check_rep=False, auto=frozenset({'y'}))",
         ("f = shard_map(g, mesh=m, in_specs=s, out_specs=s, check_vma=False, "
          "axis_names=frozenset(m.axis_names) - frozenset({'y'}))")),
        ("import functools\nf = functools.partial(shard_map, jax.numpy.sin, m)(s, out_specs=s)",
         "import functools\nf = functools.partial(shard_map, jax.numpy.sin, mesh=m)(in_specs=s, out_specs=s)"),
        ("import functools\nin_m = functools.partial(shard_map, g)\nf = in_m(m, s, s, False)",
         ("import functools\nin_m = functools.partial(shard_map, g)\n"
          "f = in_m(mesh=m, in_specs=s, out_specs=s, check_vma=False)")),
    ],
)  # fmt: skip
def test_calls_of_shard_map(before: str, after: str) -> None:
    assert flat(fixed(SHARD_MAP + before + "\n")[0]) == flat(NEW + after + "\n")


INSIDE = SHARD_MAP + (
    "def step(w, x):\n    return jax.grad(lambda w: (w * x).sum())(w)\n"
    "f = shard_map(step, mesh=m, in_specs=s, out_specs=s)\n"
)


def test_gradients_inside_are_decided_by_what_the_program_was_written_for() -> None:
    after, names = fixed(INSIDE)
    assert after == INSIDE
    assert left(names) == [(2, "JM412"), (5, "JM412")]
    assert "out_specs=s, check_vma=False)" in fixed(INSIDE, era="old")[0]
    assert "out_specs=s)" in fixed(INSIDE, era="new")[0]
    assert "out_specs=s, check_vma=False)" in fixed(INSIDE + "y = jax.tree_map(f, x)\n")[0]
    assert "out_specs=s)" in fixed(INSIDE + "n = jax.typeof(x)\n")[0]


def test_an_old_name_that_is_imported_anew_at_once_goes() -> None:
    before = "import jax\nfrom jax import grad, tree_map\nfrom jax.tree_util import tree_map\n\nprint(tree_map, grad)\n"
    assert fixed(before)[0] == before.replace("grad, tree_map", "grad")
    used = before.replace("tree_map\nfrom", "tree_map\ntree_map(abs, {})\nfrom")
    assert fixed(used)[0] == used


def test_what_fix_writes_is_no_evidence_for_a_second_run() -> None:
    mapped = "p = jax.pmap(lambda x: x / jax.lax.psum(1, 'i'), axis_name='i')\n"
    unchecked = "g = shard_map(step, mesh=m, in_specs=s, out_specs=s, check_rep=False)\n"
    once, names = fixed(INSIDE + unchecked + mapped)
    assert "check_vma=False" in once
    assert "f = shard_map(step, mesh=m, in_specs=s, out_specs=s)" in once
    assert fixed(once)[0] == once
    assert (5, "JM412") in left(names)


@pytest.mark.parametrize("method", ["agent.learn(x)", "self_supervised.loss_and_grads(x)"])
def test_methods_out_of_sight_may_take_gradients(method: str) -> None:
    text = SHARD_MAP + f"def step(x):\n    return {method}\nf = shard_map(step, mesh=m, in_specs=s, out_specs=s)\n"
    assert fixed(text)[0] == text


def test_a_partial_that_another_module_calls_with_what_has_changed() -> None:
    files = {
        "maps.py": SHARD_MAP + "from functools import partial\nsmap = partial(shard_map, mesh=m)\n",
        "train.py": "import jax\nfrom maps import smap\nf = smap(jax.numpy.sin, in_specs=s, check_rep=False)\n",
    }
    assert fix_files(files) == files


def test_a_function_out_of_sight_may_take_gradients() -> None:
    text = SHARD_MAP + "def make(g, m, s):\n    return shard_map(g, mesh=m, in_specs=s, out_specs=s)\n"
    assert fixed(text)[0] == text
    assert "check_vma=False" in fixed(text, era="old")[0]


def test_a_carry_is_not_checked_where_it_was_not() -> None:
    body = "def g(x):\n    return jax.lax.scan(lambda c, v: (c + v, None), 0.0, x)[0]\n"
    assert "check_vma=False" in fixed(SHARD_MAP + body + "f = shard_map(g, m, s, s)\n")[0]


def test_names_handed_on_by_another_module() -> None:
    files = {
        "compat.py": "from jax.experimental.shard_map import shard_map\nfrom jax import tree_map\n",
        "train.py": "import jax\nfrom compat import shard_map, tree_map\n"
        "f = shard_map(jax.numpy.sin, m, s, s, check_rep=False)\ny = tree_map(f, x)\n",
    }
    after = fix_files(files)
    assert after["compat.py"] == "from jax import shard_map\nfrom jax.tree import map as tree_map\n"
    assert "shard_map(jax.numpy.sin, mesh=m, in_specs=s, out_specs=s, check_vma=False)" in after["train.py"]


def test_one_pass_with_the_maps() -> None:
    text = "import jax\np = jax.pmap(lambda x: jax.tree_map(abs, x), axis_name='i')\ny = jax.tree_leaves(p(x))\n"
    after, names = fixed(text)
    assert "pmap" not in after
    assert "tree_map" not in after
    assert [(name.line, name.status) for name in names] == [(2, "replaced"), (3, "replaced")]
    assert fixed(after) == (after, ())


def test_meshes() -> None:
    text = (
        "import jax\nfrom jax.sharding import Mesh\nmesh = jax.make_mesh((4, 2), ('x', 'y'))\n"
        "with mesh:\n    run()\nwith Mesh(jax.devices(), ('i',)) as other, open('f') as f:\n    run()\n"
    )
    after, _ = fixed(text)
    assert "make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)" in flat(after)
    assert "with jax.set_mesh(mesh):" in after
    assert "with jax.set_mesh((other := Mesh(jax.devices(), ('i',)))), open('f') as f:" in flat(after)
    early, names = fixed(text, target=(0, 6, 1))
    assert "with mesh:" in early
    assert left(names) == [(4, "JM414"), (6, "JM414")]
    entered = text + "with ExitStack() as stack:\n    stack.enter_context(mesh)\nmesh.__enter__()\n"
    after, names = fixed(entered)
    assert "stack.enter_context(jax.set_mesh(mesh))" in after
    assert left(names) == [(10, "JM414")]
    explicit = text + "x = jax.sharding.reshard(x, s)\n"
    assert "axis_types" not in fixed(explicit)[0]


def test_a_mesh_alone_keeps_its_axes_where_releases_differ() -> None:
    text = "import jax\nmesh = jax.make_mesh((8,), ('x',))\n"
    assert fixed(text)[0] == fixed(text, target=(0, 9, 0))[0] == text
    for after, _ in (fixed(text, target=(0, 8)), fixed(text, era="old")):
        assert "jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))" in after


def test_a_target_without_the_replacement() -> None:
    text = "import jax\ny = jax.lax.pvary(x, 'i')\n"
    assert fixed(text)[0] == "import jax\ny = jax.lax.pcast(x, 'i', to='varying')\n"
    after, names = fixed(text, target=(0, 7))
    assert after == text
    assert left(names) == [(2, "JM410")]
    assert "0.8.2" in names[0].reason


def test_what_jax_lacks_and_no_row_has() -> None:
    text = "import jax\np = jax.pmap(f, axis_name='i')\ny = jax.interpreters.xla.translations\nz = jax.numpy.sum\n"
    _, names = fixed(text)
    assert left(names) == [(3, "JM419")]
    guarded = text.replace("y = jax", "y = hasattr(jax, 'x') and 1 if hasattr(jax, 'x') else jax")
    assert left(fixed(guarded)[1]) == []
    assert left(fixed("from jax.numpy import *\n" + text.replace("y = jax", "y = x"))[1]) == []


@pytest.mark.parametrize(
    ("file", "text", "required", "era"),
    [
        ("requirements.txt", "numpy\njax[cuda12]>=0.7.1  # or newer\n", (0, 7, 1), "new"),
        ("requirements.txt", "jax==0.4.30\n", None, "old"),
        ("requirements.txt", "jaxlib>=0.7\n", None, ""),
        ("setup.py", "setup(install_requires=['jax>=0.4.20', 'flax'])\n", None, ""),
        ("setup.py", "setup(install_requires=['jax>=0.4.20,<0.5'])\n", None, "old"),
        ("pyproject.toml", "[project]\ndependencies = ['jax >= 0.6.2']\n", (0, 6, 2), "new"),
        ("setup.cfg", "[options]\ninstall_requires =\n    jax~=0.8.0\n", (0, 8, 0), "new"),
        ("README", "jax>=0.9\n", None, ""),
    ],
)
def test_requirements(tmp_path: Path, file: str, text: str, required: Release | None, era: str) -> None:
    (tmp_path / file).write_text(text)
    (tmp_path / "pkg").mkdir()
    assert required_jax(tmp_path) == required
    assert written_for(tmp_path) == era
    if file != "README":
        assert project_folder(tmp_path / "pkg") == tmp_path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("step = eqx.filter_pmap(f, in_axes=(None, 1))\n", "other axes"),
        ("step = eqx.filter_pmap(f, devices=jax.devices())\n", "do not take"),
        ("run(eqx.filter_pmap)\n", "passed as a value"),
        ("step = eqx.filter_pmap(lambda x: jax.lax.ppermute(x, 'i', p))\n", "ppermute"),
        ("i = jax.process_index()\nstep = eqx.filter_pmap(f)\n", "own rows"),
        ("n = jax.local_device_count()\nstep = eqx.filter_pmap(f)\n", "own rows"),
    ],
)
def test_twins_that_are_left(text: str, told: str) -> None:
    before = "import jax\nimport equinox as eqx\n\n" + text
    after, names = fixed(before)
    assert after == before
    assert told in names[0].reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            SHARD_MAP + "f = shard_map(g, m, (P()), (P() if s else P('a')), check_rep=False)\n",
            NEW + "f = shard_map(\n    g,\n    mesh=m,\n    in_specs=(P()),\n"
            "    out_specs=(P() if s else P('a')),\n    check_vma=False,\n)\n",
        ),
        (
            "import jax\nfrom jax.experimental.pjit import pjit\nf = pjit(g, (P('a')), (P()))\n",
            "import jax\nf = jax.jit(g, in_shardings=(P('a')), out_shardings=(P()))\n",
        ),
        (
            "import jax\nx = jax.tree_map(f, y)\nm = jax.make_mesh((s), (n))  # c\n",
            ("import jax\nx = jax.tree.map(f, y)\n"
            "m = jax.make_mesh((s), (n), axis_types=(jax.sharding.AxisType.Auto,) * len(n))  # c\n"),
        ),
        (
            "import jax\nn = jax.lax.psum((1), ('i')) + (jax.core.axis_frame)('j').size\n",
            "import jax\nn = jax.lax.axis_size(('i')) + jax.lax.axis_size('j')\n",
        ),
        (
            "import jax\nwith (jax.sharding.Mesh(d, 'i')) as m, (open('f')): pass\n",
            "import jax\nwith jax.set_mesh(m := (jax.sharding.Mesh(d, 'i'))), (open('f')): pass\n",
        ),
        (
            "from jax import (\n    jit,  # one\n    tree_map,  # two\n)  # three\n\ny = jit(tree_map(f, x))\n",
            "import jax\n# two\nfrom jax import (\n    jit,  # one\n)  # three\n\ny = jit(jax.tree.map(f, x))\n",
        ),
    ],
)  # fmt: skip
def test_parentheses_and_comments(before: str, after: str) -> None:
    assert fixed(before, era="old")[0] == after
    assert fixed(after, era="old")[0] == after


SHIMS = {
    "compat.py": "import jax\n\njax.tree_map = lambda f, t: jax.tree.map(f, t, is_leaf=lambda x: x is None)\n",
    "main.py": (
        "import jax\nfrom unittest import mock\n\nimport compat\n\n"
        "RESULT = jax.tree_map(lambda x: x is None, {'a': None}), jax.tree_leaves({})\n"
        "with mock.patch('jax.host_id', return_value=3):\n    HOST = jax.host_id()\n"
        "with mock.patch.object(jax, 'host_count', lambda: 4):\n    COUNT = jax.host_count()\n"
    ),
}


def test_names_that_the_program_sets_itself_stay() -> None:
    after = fix_files(SHIMS)["main.py"]
    for name in ("jax.tree_map(", "jax.host_id()", "jax.host_count()"):
        assert name in after
    assert "jax.tree_leaves(" not in after
    shimless = fix_files({"main.py": SHIMS["main.py"].replace("import compat", "")})["main.py"]
    assert "jax.tree_map(" not in shimless


@pytest.mark.parametrize(
    ("patch", "kept", "replaced"),
    [
        ('patch("lib.jax.host_id", return_value=2)', "jax.host_id()", "jax.process_count()"),
        ('patch.object(lib.jax, "host_id")', "jax.host_id()", "jax.process_count()"),
        ('patch("lib.jax")', "jax.host_id()", ""),
        ('patch.object(lib, "jax")', "jax.host_id()", ""),
        ('patch("lib.host_ids")', "host_ids()", "jax.process_index()"),
        ('patch("lib.other")', "", "jax.process_index()"),
    ],
)
def test_names_that_a_test_replaces_through_a_module_stay_there(patch: str, kept: str, replaced: str) -> None:
    lib = (
        "import jax\nfrom jax import host_ids\n\n\ndef who():\n    return jax.host_id(), jax.host_count(), host_ids()\n"
    )
    test = f"from unittest.mock import patch\n\nimport lib\n\nwith {patch}:\n    print(lib.who())\n"
    after = fix_files({"lib.py": lib, "test_lib.py": test})["lib.py"]
    assert kept in after
    assert replaced in after


CALLED_BACK = """
import jax
from jax.experimental import host_callback as hcb

seen = []


def count(x):
    seen.append(float(x))
    return x + len(seen)


@jax.jit
def f(x):
    a = hcb.call(count, x, result_shape=x)
    return a, hcb.call(count, a, result_shape=x)
"""


def test_calls_of_the_host_keep_their_order_where_one_device_makes_them() -> None:
    assert "ordered=True" in fix_files({"main.py": CALLED_BACK})["main.py"]
    for more in ("g = jax.vmap(f)\n", "g = jax.pmap(lambda x: f(x))\n"):
        assert (
            "ordered=True"
            not in fix_files({"main.py": CALLED_BACK, "other.py": f"import jax\nfrom main import f\n{more}"})["main.py"]
        )


MESHES = """
import numpy as np
from jax.sharding import Mesh

import steps

mesh = Mesh(np.array(jax.devices()), ("x",))
with mesh:
    RESULT = steps.step(np.ones((8, 2)))
"""
STEPS = "import jax\n\nstep = jax.pmap(lambda x: jax.lax.pmean(x, 'b'), axis_name='b')\n"


@pytest.mark.parametrize("more", [{}, {"steps.py": "from parts import *\n\n\ndef step(x):\n    return x\n"}])
def test_a_mesh_that_code_asks_for_by_its_old_name_is_entered_as_before(more: dict[str, str]) -> None:
    asks = """\
import jax
from jax.interpreters import pxla


def step(x):
    if pxla.thread_resources.env.physical_mesh.empty:
        return x
    return jax.lax.with_sharding_constraint(x, jax.sharding.PartitionSpec("x"))
"""
    files = {"main.py": f"import jax{MESHES}", "parts.py" if more else "steps.py": asks, **more}
    assert "with mesh:" in fix_files(files)["main.py"]
    asks_anew = asks.replace("pxla.thread_resources.env.physical_mesh.empty", "jax.sharding.get_abstract_mesh().empty")
    files["parts.py" if more else "steps.py"] = asks_anew
    assert "with jax.set_mesh(mesh):" in fix_files(files)["main.py"]


@pytest.mark.parametrize(
    ("imported", "asked", "entered"),
    [
        ("import jax._src.mesh as held", 'getattr(held, "thread_" + "resources")', "with mesh:"),
        ("from jax._src import mesh as held", 'vars(held)["_".join(("thread", "resources"))]', "with mesh:"),
        ("from jax.interpreters import pxla as held", "held.__dict__[NAMES[0]]", "with mesh:"),
        ("from jax import sharding as held", 'getattr(held, "Mesh")', "with jax.set_mesh(mesh):"),
        ("from jax.interpreters import pxla as held", "held.MeshAxisName", "with jax.set_mesh(mesh):"),
    ],
)
def test_so_is_one_that_code_may_ask_for_by_a_name_that_is_put_together(
    imported: str, asked: str, entered: str
) -> None:
    steps = f"import jax\n{imported}\n\nNAMES = []\n\n\ndef step(x):\n    return {asked}, x\n"
    assert entered in fix_files({"main.py": f"import jax{MESHES}", "steps.py": steps})["main.py"]


def test_a_mesh_within_which_a_pmap_may_be_called_is_entered_as_before() -> None:
    files = {"main.py": f"import jax{MESHES}", "steps.py": STEPS}
    assert "with mesh:" in fix_files(files)["main.py"]
    assert "with jax.set_mesh(mesh):" in fix_files({**files, "steps.py": "def step(x):\n    return x\n"})["main.py"]
