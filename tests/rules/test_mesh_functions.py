"""Axes of meshes that functions give, and mapped bodies that are handed through functions: linted as if in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import functools
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
"""


def codes(text: str, **others: str) -> list[str]:
    """The codes of what is found in `a.py` with this text, next to other modules."""
    files = {"a.py": PRELUDE + text, **{f"{name}.py": PRELUDE + more for name, more in others.items()}}
    sources = [decode(content.encode(), name, Path("/project") / name) for name, content in files.items()]
    found = [finding.code for finding in lint(sources, Config()) if finding.path == "a.py"]
    return [code for code in found if not code.startswith(("JM5", "JM207"))]  # of axes alone


def step(mesh: str, axis: str = "data", before: str = "") -> str:
    """A program that sums over an axis in a body that is mapped over a mesh."""
    return f"""{before}
def body(x):
    return lax.psum(x, "{axis}")


@jax.jit
def step(x):
    return jax.shard_map(body, mesh={mesh}, in_specs=P(), out_specs=P(), check_vma=False)(x)
"""


MESHES = {
    "a function": ("make_mesh()", 'def make_mesh():\n    return jax.make_mesh((8,), ("data",))\n'),
    "a cached function": ("get()", '@functools.cache\ndef get():\n    return Mesh(jax.devices(), ("data",))\n'),
    "lru_cache": (
        "get()",
        '@functools.lru_cache(maxsize=None)\ndef get():\n    return Mesh(jax.devices(), ("data",))\n',
    ),
    "lru_cache bare": ("get()", '@functools.lru_cache\ndef get():\n    return Mesh(jax.devices(), "data")\n'),
    "an argument": ('get("data")', "def get(axis):\n    return Mesh(jax.devices(), (axis,))\n"),
    "an argument by keyword": (
        'get(axis="data")',
        "def get(n=8, axis='i'):\n    return Mesh(jax.devices()[:n], (axis,))\n",
    ),
    "a literal default": ("get()", "def get(axes=('data',)):\n    return Mesh(jax.devices(), axes)\n"),
    "rows of an array": (
        'mesh_of(x, "data")',
        (
            "def mesh_of(tree, axis):\n    rows, *_ = jax.tree.leaves(tree)[0].shape\n"
            "    return Mesh(jax.devices()[:rows], (axis,))\n"
        ),
    ),
    "a lambda": ("get()", "get = lambda: Mesh(jax.devices(), ('data',))\n"),
    "a lambda with an argument": ("get('data')", "get = lambda axis: Mesh(jax.devices(), (axis,))\n"),
    "a partial": (
        "get()",
        "def of(n, axes):\n    return jax.make_mesh((n,), axes)\nget = functools.partial(of, 8, ('data',))\n",
    ),
    "through another": (
        "outer()",
        "def inner(axis):\n    return Mesh(jax.devices(), (axis,))\ndef outer():\n    return inner('data')\n",
    ),
    "a name in it": ("get()", "def get():\n    mesh = jax.make_mesh((8,), ('data',))\n    return mesh\n"),
    "two of the same axes": (
        "get(8)",
        (
            "def get(n):\n    if n > 1:\n        return jax.make_mesh((n,), ('data',))\n"
            "    return Mesh(jax.devices()[:1], ('data',))\n"
        ),
    ),
    "a module's name": ("MESH", "def get():\n    return Mesh(jax.devices(), ('data',))\nMESH = get()\n"),
}


@pytest.mark.parametrize("form", MESHES)
def test_axes_of_a_mesh_that_a_function_gives(form: str) -> None:
    mesh, made = MESHES[form]
    assert codes(step(mesh, before=made)) == []
    assert codes(step(mesh, "model", made)) == ["JM101"]


UNKNOWN = {
    "of a configuration": ("get(cfg)", "def get(cfg):\n    return jax.make_mesh(cfg.shape, cfg.axes)\n"),
    "of a parameter of the step's": ("get(axis)", "def get(axis):\n    return Mesh(jax.devices(), (axis,))\n"),
    "of one kind or another": (
        "get(n)",
        (
            "def get(n):\n    if n:\n        return Mesh(jax.devices(), ('data',))\n"
            "    return Mesh(jax.devices(), ('model',))\n"
        ),
    ),
    "sometimes of another's": (
        "get(n)",
        "import lib\ndef get(n):\n    if n:\n        return lib.mesh()\n    return Mesh(jax.devices(), ('data',))\n",
    ),
    "names that grow": (
        "get(n)",
        (
            "def get(n):\n    axes = ('data',)\n    if n:\n        axes += ('model',)\n"
            "    return Mesh(jax.devices().reshape(n), axes)\n"
        ),
    ),
    "a name that is set later": (
        "get()",
        (
            "import lib\nAXES = ('data',)\ndef main(a):\n    global AXES\n    AXES = lib.axes(a)\n"
            "def get():\n    return Mesh(jax.devices(), AXES)\n"
        ),
    ),
    "a decorator of a library": (
        "get()",
        "import lib\n@lib.meshed\ndef get():\n    return Mesh(jax.devices(), ('data',))\n",
    ),
    "a decorator of the project": (
        "get()",
        (
            "def widen(f):\n    def made():\n        return f() or other()\n    return made\n"
            "@widen\ndef get():\n    return Mesh(jax.devices(), ('data',))\n"
        ),
    ),
    "a function that is replaced": (
        "get()",
        "import lib\ndef get():\n    return Mesh(jax.devices(), ('data',))\nif lib.tpu:\n    get = lib.get\n",
    ),
    "stars": ("get(*a)", "def get(axis='data'):\n    return Mesh(jax.devices(), (axis,))\n"),
    "itself": ("get(8)", "def get(n):\n    return get(n - 1)\n"),
    "async": ("get()", "async def get():\n    return Mesh(jax.devices(), ('data',))\n"),
    "a generator": ("get()", "def get():\n    yield 1\n    return Mesh(jax.devices(), ('data',))\n"),
}


@pytest.mark.parametrize("form", UNKNOWN)
def test_silence_where_the_axes_cannot_be_known(form: str) -> None:
    mesh, made = UNKNOWN[form]
    assert codes(step(mesh, "model", made)) == []


TRAINER = """
{made}
class Trainer:
    def __init__(self, cfg):
        self.mesh = {mesh}
        self.step = jax.jit(jax.shard_map(self._step, mesh=self.mesh, in_specs=P(), out_specs=P(), check_vma=False))
    def _step(self, x):
        return lax.psum(x, "{axis}")
"""


@pytest.mark.parametrize("axis", ["data", "model"])
def test_a_mesh_that_an_object_keeps(axis: str) -> None:
    made = "def build_mesh(cfg):\n    return jax.make_mesh((cfg.devices,), ('data',))\n"
    text = TRAINER.format(made=made, mesh="build_mesh(cfg)", axis=axis)
    assert codes(text) == (["JM101"] if axis == "model" else [])


METHOD = """
class Base:
    def mesh(self):
        return Mesh(jax.devices(), ("data",))
    def run(self, x):
        return jax.jit(jax.shard_map(self.body, mesh=self.mesh(), in_specs=P(), out_specs=P(), check_vma=False))(x)
    def body(self, x):
        return lax.psum(x, "model")
"""
OTHER = """
class Wide(Base):
    def mesh(self):
        return Mesh(jax.devices().reshape(2, 4), ("data", "model"))
"""


@pytest.mark.parametrize("decorator", ["", "@property", "@functools.cached_property"])
def test_a_mesh_of_a_method(decorator: str) -> None:
    """A subclass with a mesh of its own may be whose method runs."""
    text = METHOD
    if decorator:
        text = text.replace("    def mesh", f"    {decorator}\n    def mesh").replace("self.mesh()", "self.mesh")
    assert codes(text) == ["JM101"]
    assert codes(text + OTHER) == []


def test_a_function_of_another_module() -> None:
    sharding = "@functools.cache\ndef get_mesh():\n    return Mesh(jax.devices(), ('data',))\n"
    for line, mesh in (
        ("from sharding import get_mesh", "get_mesh()"),
        ("import sharding", "sharding.get_mesh()"),
        ("from sharding import get_mesh as mesh", "mesh()"),
    ):
        assert codes(step(mesh, "model", line), sharding=sharding) == ["JM101"]
        assert codes(step(mesh, "data", line), sharding=sharding) == []


@pytest.mark.parametrize("axis", ["data", "model"])
def test_a_function_around_it_knows_the_axis(axis: str) -> None:
    text = f"""
def mesh_of(axis):
    return Mesh(jax.devices(), (axis,))
def make(axis):
    def body(x):
        return lax.psum(x, "{axis}")
    return jax.jit(jax.shard_map(body, mesh=mesh_of(axis), in_specs=P(), out_specs=P(), check_vma=False))
step = make("data")
"""
    assert codes(text) == (["JM101"] if axis == "model" else [])


WRAPPED = """
def per_device(fun):
    @functools.wraps(fun)
    def block(*args):
        out = fun(*jax.tree.map(lambda x: x.squeeze(0), args))
        return jax.tree.map(lambda x: x[None], out)
    return block
def host_local(mapped):
    @functools.wraps(mapped)
    def call(*args):
        if jax.process_count() == 1:
            return mapped(*args)
        return convert(mapped(*to_global(args)))
    return call
def get_mesh():
    return Mesh(jax.devices(), ("data",))
@host_local
@{jit}
def evaluate(x):
    return jax.shard_map(
        per_device({body}), mesh=get_mesh(), in_specs=P("data"), out_specs=P("data"), check_vma=False
    )(x)
def main(x):
    {main}
"""


@pytest.mark.parametrize(
    ("body", "main", "expected"),
    [
        ("lambda x: lax.pmean(x, 'data')", "evaluate(x)", []),
        ("lambda x: lax.pmean(x, 'model')", "evaluate(x)", ["JM101"]),
        ("lambda x: lax.psum(lax.psum(x, 'data'), 'data')", "evaluate(x)", ["JM202"]),
        ("lambda x: lax.pmean(x, 'data')", "if jax.process_index() == 0: evaluate(x)", ["JM301"]),
        ("lambda x: lax.pmean(x, 'data')", "if jax.process_count() == 1: evaluate(x)", []),
    ],
)
@pytest.mark.parametrize("jit", ["jax.jit", "functools.partial(jax.jit, donate_argnums=0)"])
def test_bodies_and_maps_that_are_handed_through_functions(body: str, main: str, expected: list[str], jit: str) -> None:
    assert codes(WRAPPED.format(body=body, main=main, jit=jit)) == expected


STACKED = """
def get_mesh():
    return Mesh(jax.devices(), ("data",))
def mean(params, batch):
    {squeeze}
    return params, lax.pmean(batch.mean(), "data")
@jax.jit
def step(params, batch):
    specs = P("data")
    return jax.shard_map(mean, mesh=get_mesh(), in_specs=specs, out_specs=P(), check_vma=False)(params, batch)
"""


@pytest.mark.parametrize(
    ("squeeze", "expected"),
    [
        ("params, batch = jax.tree.map(lambda x: x.squeeze(0), (params, batch))", []),
        ("params, batch = params.squeeze(axis=0), batch.squeeze(axis=0)", []),
        ("params, batch = jnp.squeeze(params, 0), lax.squeeze(batch, dimensions=(0,))", []),
        ("params, batch = params.squeeze(-1), batch.squeeze(-1)", ["JM201"]),
        ("pass", ["JM201"]),
    ],
)
def test_rows_of_stacked_parameters_may_be_equal(squeeze: str, expected: list[str]) -> None:
    """As under pmap: each device may hold the same parameters in its row."""
    assert codes(STACKED.format(squeeze=squeeze)) == expected


PENALTY = """
def step(params, batch, rate):
    params, batch = params.squeeze(0), batch.squeeze(0)
    grads = lax.{reduce}(jax.grad(lambda p: ((batch @ p) ** 2).mean())(params), {axis})
    params = params - 0.1 * (grads + jax.grad(lambda p: rate * (p ** 2).sum())(params))
    return params[None]
@functools.partial(jax.jit, static_argnums=2)
def p_step(params, batch, rate):
    return jax.shard_map(
        step, mesh=Mesh(jax.devices(), ("data",)), in_specs=(P("data"), P("data"), None), out_specs=P("data"),
        check_vma=False
    )(params, batch, rate)
"""


def test_a_static_argument_is_equal_everywhere() -> None:
    """A penalty with a static rate needs no reduction: its gradient is what the parameters make it."""
    assert codes(PENALTY.format(reduce="pmean", axis='"data"')) == []
    assert codes(PENALTY.format(reduce="stop_gradient", axis="").replace(", )", ")")) == ["JM201"]
