"""Faults in every form in which a function comes to be mapped, and their repair, which nothing is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """
from functools import partial
import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
"""
MESH = 'mesh = Mesh(jax.devices(), ("data",))\n'
STEP = "def step(w, x):\n    {body}\n"
SHARDED = {
    "call": MESH + STEP + "f = jax.jit(jax.shard_map(step, mesh=mesh, {specs}))",
    "decorator with arguments": MESH + "@jax.shard_map(mesh=mesh, {specs})\n" + STEP,
    "under jit": MESH + "@jax.jit\n@jax.shard_map(mesh=mesh, {specs})\n" + STEP,
    "under partial": MESH + "@partial(jax.jit, donate_argnums=0)\n@partial(jax.shard_map, mesh=mesh, {specs})\n" + STEP,
    "under jit with arguments": MESH + "@jax.jit(donate_argnums=0)\n@jax.shard_map(mesh=mesh, {specs})\n" + STEP,
    "mesh of the module": MESH + "jax.set_mesh(mesh)\n@jax.jit\n@jax.shard_map({specs})\n" + STEP,
    "mesh of a with": MESH
    + STEP
    + "def main(a, b):\n    with jax.set_mesh(mesh):\n        return jax.jit(jax.shard_map(step, {specs}))(a, b)",
    "mesh of the function": STEP
    + "def main(a, b):\n    mesh = jax.make_mesh((jax.device_count(),), ('data',))\n    jax.set_mesh(mesh)\n"
    + "    return jax.jit(jax.shard_map(step, {specs}))(a, b)",
    "some axes": 'mesh = jax.make_mesh((2, jax.device_count() // 2), ("data", "model"))\n'
    + STEP
    + "f = jax.jit(jax.shard_map(step, mesh=mesh, axis_names={{'data'}}, {specs}))",
    "nnx": MESH + STEP + "f = nnx.jit(nnx.shard_map(step, mesh=mesh, {specs}))",
    "nnx decorator": MESH + "@nnx.jit\n@partial(nnx.shard_map, mesh=mesh, {specs})\n" + STEP,
    "mesh from callers": "def make(mesh):\n    @jax.jit\n    @partial(jax.shard_map, mesh=mesh, {specs})\n"
    "    def step(w, x):\n        {body}\n    return step\n" + MESH + "f = make(mesh)",
    "wrapper": MESH
    + "def sharded(fn, **options):\n    return jax.jit(jax.shard_map(fn, mesh=mesh, **options))\n"
    + STEP
    + "f = sharded(step, {specs})",
}
PMAP = 'AX = "data"\ndef pmap(fn, axis_name=AX, **kw):\n    return jax.pmap(fn, axis_name, **kw)\n'
MAKER = "def pmap(axis, **kw):\n    def wrap(fn):\n        return jax.pmap(fn, axis_name=axis, **kw)\n    return wrap\n"
STACKED = {
    "pmap": STEP + 'f = jax.pmap(step, "data", in_axes=(None, 0))',
    "nnx": STEP + 'f = nnx.pmap(step, axis_name="data", in_axes=(None, 0))',
    "nnx decorator": '@nnx.pmap(axis_name="data", in_axes=(None, 0))\n' + STEP,
    "wrapper in a partial": PMAP + "@partial(pmap, in_axes=(None, 0))\n" + STEP,
    "wrapper": PMAP + STEP + "f = pmap(step, in_axes=(None, 0))",
    "decorator factory": MAKER + '@pmap("data", in_axes=(None, 0))\n' + STEP,
}
IN, OUT = "in_specs=(P(), P('data'))", "out_specs=P()"
LOSS = "jax.grad(lambda w: ((x @ w) ** 2).mean())(w)"
FAULTS = {  # the code, the body, its repair, specs
    "JM101": ("return lax.psum(x @ w, 'dta')", "return lax.psum(x @ w, 'data')", f"{IN}, {OUT}"),
    "JM201": (f"return w - {LOSS}", f"return w - lax.pmean({LOSS}, 'data')", f"{IN}, {OUT}, check_vma=False"),
    "JM202": (
        "return lax.psum(lax.pmean(x @ w, 'data'), 'data')",
        "return lax.psum(x @ w, 'data')",
        f"{IN}, {OUT}, check_vma=False",
    ),
    "JM204": (f"return w - lax.pmean({LOSS}, 'data')", f"return w - {LOSS} / lax.axis_size('data')", f"{IN}, {OUT}"),
    "JM205": (
        "return x + jax.random.normal(w, x.shape)",
        "return x + jax.random.normal(jax.random.fold_in(w, lax.axis_index('data')), x.shape)",
        f"{IN}, out_specs=P('data')",
    ),
    "JM301": (
        "return lax.cond(lax.axis_index('data') == 0, lambda v: lax.psum(v, 'data'), lambda v: v, x)",
        "return lax.cond(lax.axis_index('data') == 0, lambda v: 2 * v, lambda v: v, x)",
        f"{IN}, out_specs=P('data'), check_vma=False",
    ),
}


def codes(text: str) -> set[str]:
    source = decode((PRELUDE + text).encode(), "a.py", Path("/project/a.py"))
    return {finding.code for finding in lint([source], Config()) if finding.code < "JM4"}


@pytest.mark.parametrize("form", SHARDED)
@pytest.mark.parametrize("code", FAULTS)
def test_shard_maps(form: str, code: str) -> None:
    fault, repair, specs = FAULTS[code]
    assert code in codes(SHARDED[form].format(body=fault, specs=specs))
    assert codes(SHARDED[form].format(body=repair, specs=specs)) == set()


@pytest.mark.parametrize("form", SHARDED)
def test_specs(form: str) -> None:
    body = "return lax.psum(x @ w, 'data')"
    assert "JM107" in codes(SHARDED[form].format(body=body, specs=f"in_specs=(P(), P('data'), P()), {OUT}"))
    if form != "mesh from callers":
        assert "JM102" in codes(SHARDED[form].format(body=body, specs=f"in_specs=(P(), P('date')), {OUT}"))


@pytest.mark.parametrize("form", STACKED)
@pytest.mark.parametrize("code", ["JM101", "JM201", "JM202", "JM205", "JM301"])
def test_pmaps(form: str, code: str) -> None:
    fault, repair, _ = FAULTS[code]
    assert code in codes(STACKED[form].format(body=fault))
    assert codes(STACKED[form].format(body=repair)) == set()


SMAP = MESH + STEP + "def main(a, b):\n    with jax.set_mesh(mesh):\n        return jax.jit({map})(a, b)"


@pytest.mark.parametrize("code", ["JM202", "JM204", "JM205", "JM301"])
def test_smap(code: str) -> None:
    fault, repair, _ = FAULTS[code]
    mapped = "jax.smap(step, in_axes=(None, 0), out_axes=0, axis_name='data')"
    assert code in codes(SMAP.format(body=fault, map=mapped))
    assert codes(SMAP.format(body=repair, map=mapped)) == set()


def test_meshes_that_differ() -> None:
    """A map without a mesh in a program that sets several may run on any of them."""
    library = (
        "@jax.jit\n@jax.shard_map(in_specs=P('data'), out_specs=P())\ndef step(x):\n    return lax.psum(x, 'data')\n"
    )
    users = "def one():\n    jax.set_mesh(Mesh(jax.devices(), 'data'))\n    return step\n"
    assert codes(library + users + users.replace("one", "two").replace("'data'", "'x'")) == set()
    assert codes(library + users.replace("'data'", "'date'")) == {"JM101", "JM102"}


def test_a_misspelt_axis_is_told_once() -> None:
    """That nothing is reduced over the right one follows from it."""
    body = f"return w - lax.pmean({LOSS}, 'dta')"
    assert codes(SHARDED["call"].format(body=body, specs=f"{IN}, {OUT}, check_vma=False")) == {"JM101"}
    assert codes(STACKED["pmap"].format(body=body)) == {"JM101"}


def test_a_mesh_axis_that_several_specs_misspell_is_told_once() -> None:
    body = "return lax.psum(x @ w, 'data')"
    text = SHARDED["call"].format(body=body, specs="in_specs=(P('dta'), P('dta')), out_specs=P('dta')")
    found = lint([decode((PRELUDE + text).encode(), "a.py", Path("/project/a.py"))], Config())
    (one,) = [finding for finding in found if finding.code == "JM102"]
    assert [note.message for note in one.notes] == ["in_specs here, too", "out_specs here, too"]
