# ruff: noqa: E501 - a program reads better in one line
"""`xmap` in all that its axes can say: what becomes of a call, and which calls are left.

tests/campaigns/old_names.py compares the numbers with a JAX that has xmap.
"""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.migrate import fix_files
from jaxmigrate.migrate.api_updates.xmap_axes import axes_of, positions
from tests.texts import flat

OPENING = "import jax\nfrom jax.experimental.maps import xmap\nfrom jax.sharding import PartitionSpec as P\n\n\n"


def fixed(call: str, opening: str = OPENING) -> str:
    """What becomes of a call, without the lines above it, on one line."""
    after = fix_files({"a.py": f"{opening}g = {call}\n"})["a.py"]
    assert fix_files({"a.py": after})["a.py"] == after
    return flat(after.rpartition("\ng = ")[2].strip())


@pytest.mark.parametrize(
    ("call", "after"),
    [
        (
            "xmap(lambda x: x, ['b', ...], ['b', ...], axis_resources={'b': 'i'}, donate_argnums=0)",
            (
                "jax.jit(jax.shard_map(jax.vmap(lambda x: x, in_axes=0, out_axes=0), in_specs=P('i'), out_specs=P('i'),"
                " check_vma=False), donate_argnums=0)"
            ),
        ),
        (
            "xmap(lambda x: jax.lax.psum(x, 'b'), fun_axes, [...])".replace("fun_axes", "({0: 'b'},)"),
            "jax.jit(jax.vmap(lambda x: jax.lax.psum(x, 'b'), in_axes=(0,), out_axes=None, axis_name='b'))",
        ),
        (
            "xmap(lambda x: jax.lax.pmean(x, 'b'), ({1: 'b'},), {}, axis_resources={'b': ('i', 'j')})",
            (
                "jax.jit(_laid_out(jax.vmap(lambda x: jax.lax.pmean(x, 'b'), in_axes=(1,), out_axes=None, axis_name='b',"
                " spmd_axis_name=('i', 'j')), (P(None, ('i', 'j')),)), out_shardings=P())"
            ),
        ),
        (
            "xmap(out_of_sight, ['b', ...], ['b', ...], axis_resources={'b': 'i'})",
            (
                "jax.jit(_laid_out(jax.vmap(out_of_sight, in_axes=0, out_axes=0, axis_name='b', spmd_axis_name='i'),"
                " P('i')), out_shardings=P('i'))"
            ),
        ),
        (
            "xmap(lambda x: x, ['i', ...], ['i', ...], axis_resources={'i': 'i'})",
            (
                "jax.jit(_laid_out(jax.vmap(lambda x: x, in_axes=0, out_axes=0, axis_name='i', spmd_axis_name='i'),"
                " P('i')), out_shardings=P('i'))"
            ),
        ),
    ],
)
def test_what_becomes_of_a_call(call: str, after: str) -> None:
    assert fixed(call) == flat(after)


@pytest.mark.parametrize(
    "call",
    [
        "xmap(f, in_axes=axes, out_axes=['b', ...])",
        "xmap(f, in_axes=['b', ...], out_axes=['b', ...], axis_resources={'b': SerialLoop(2)})",
        "xmap(f, in_axes=(['a', ...], ['b', ...]), out_axes=[...], axis_resources={'a': 'i', 'b': 'i'})",
        "xmap(f, in_axes=['b', ...], out_axes=['c', ...])",
        "xmap(f, in_axes=[...], out_axes=[...])",
        "xmap(lambda: psum(x, 'b'), in_axes=(), out_axes={}, axis_sizes={'b': 8}, axis_resources={'b': 'i'})",
        "xmap(f, in_axes={-1: 'b'}, out_axes=['b', ...])",
        "xmap(f, in_axes=['b', 'b'], out_axes=['b', ...])",
        "xmap(*given)",
        "xmap(f, **given)",
        "xmap(f, in_axes=['b', ...], out_axes=['b', ...], backend='cpu')",
        "partial(xmap, in_axes=['b', ...], out_axes=['b', ...])(f)",
    ],
)
def test_what_is_left(call: str) -> None:
    assert fixed(call) == flat(call)


def test_a_mesh_that_stays_entered_keeps_the_maps_that_need_it() -> None:
    opening = OPENING + "def run(mesh, f):\n    with jax.sharding.Mesh(mesh, 'i') as self.mesh:\n        pass\n\n\n"
    split = "xmap(f, ['b', ...], ['b', ...], axis_resources={'b': 'i'})"
    assert fixed(split, opening) == flat(split)
    whole = fixed("xmap(f, ['b', ...], ['b', ...])", opening)
    assert whole == "jax.jit(jax.vmap(f, in_axes=0, out_axes=0, axis_name='b'))"


def test_another_axis_of_a_name_in_the_module_is_not_taken_for_the_meshs() -> None:
    opening = OPENING + "AXIS = 'b'\n\n\ndef f(x):\n    return x.sum(axis=AXIS)\n\n\n"
    assert "axis_name='b'" in fixed("xmap(f, ['b', ...], ['b', ...], axis_resources={'b': 'i'})", opening)


def test_positions_count_what_is_already_mapped() -> None:
    call = ast.parse("xmap(f, in_axes=({2: 'a', 0: 'b'}, {'w': ['c', 'a']}), out_axes=['c', 'b', 'a'])").body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    axes = axes_of(call.value)
    assert axes is not None
    assert axes.names == ("a", "b", "c")
    assert positions(axes.ins, "a", ("b", "c")) == (2, {"w": 1})
    assert positions(axes.ins, "b", ("c",)) == (0, {"w": None})
    assert [positions(axes.outs, n, axes.names[i + 1 :]) for i, n in enumerate(axes.names)] == [2, 1, 0]
