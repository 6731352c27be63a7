"""JM102 to JM107 in more forms than their examples have, and what they must not say."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """
import jax
import numpy as np
import jax.numpy as jnp
from functools import partial
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jax.experimental import mesh_utils
"""


def codes(text: str, name: str = "a.py") -> list[str]:
    source = decode((PRELUDE + textwrap.dedent(text)).encode(), name, Path("/project") / name)
    return [finding.code for finding in lint([source], Config())]


SPECS_IN_A_TABLE = """
S = {'w': P('model'), 'b': P()}
def f(g):
    m = jax.make_mesh((jax.device_count(),), ('data',))
    return jax.jit(jax.shard_map(lambda w: w, mesh=m, in_specs=(S['w'],), out_specs=S['b']))
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(mesh): return NamedSharding(mesh, P('i'))", []),
        ("def f():\n    m = Mesh(jax.devices(), 'i')\n    return NamedSharding(m, P(None, 'i'))", []),
        ("def f():\n    m = Mesh(jax.devices(), 'i')\n    return NamedSharding(m, P(None, 'j'))", ["JM102"]),
        ("def f():\n    m = Mesh(jax.devices(), 'i')\n    return NamedSharding(spec=P(('i', 'j')), mesh=m)", ["JM102"]),
        ("def f(c):\n    m = Mesh(jax.devices(), 'i')\n    return NamedSharding(m, P('j' if c else 'i'))", []),
        (SPECS_IN_A_TABLE, ["JM102"]),
    ],
)
def test_axes_that_the_mesh_lacks(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s = P('i', None, 'i')", ["JM103"]),
        ("s = P(('i', 'j'), 'i')", ["JM103"]),
        ("A = 'i'\ns = P(A, 'i')", ["JM103"]),
        ("s = P(('i', 'j'), None, None)", []),
        ("assert spec == P('i', 'i')", []),
        ("def f(c):\n    a = 'i' if c else None\n    b = ('j',) if c else ('i', 'j')\n    return P(a, b)", []),
        ("def f(c):\n    a = 'i'\n    b = ('i', 'j')\n    return P(a, b)", ["JM103"]),
        ("self.assertEqual(spec, P('i', 'i'))", []),
        ("def f(a, b): return P(a, b)", []),
        ("from mine import P\ns = P('i', 'i')", []),
    ],
)
def test_axes_named_twice(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f = jax.vmap(jax.vmap(lambda x: x, axis_name='i'), axis_name='i')", ["JM104"]),
        ("def g(x): return jax.vmap(lambda y: lax.psum(y, 'i'), axis_name='i')(x)\nf = jax.pmap(g, 'i')", ["JM104"]),
        ("f = jax.vmap(jax.vmap(lambda x: x, axis_name='i'), axis_name='j')", []),
        ("def main(learn):\n    learn = jax.pmap(learn, axis_name='i')\n    return learn", []),
        ("def f(x): return x\nf = jax.pmap(f, axis_name='i')\ng = f(jnp.ones(8))", []),
        ("f = jax.vmap(jax.vmap(lambda x: x))", []),
    ],
)
def test_names_bound_twice(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


LAYER = """
import flax.linen as nn
class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        {layer}
        return norm()(x)
def step(v, x): return lax.pmean(Model().apply(v, x).mean(), 'batch')
p = jax.pmap(step, axis_name='batch')
{more}
"""


@pytest.mark.parametrize(
    ("layer", "more", "expected"),
    [
        ("norm = partial(nn.BatchNorm, axis_name='bacth')", "", ["JM105"]),
        ("norm = partial(nn.BatchNorm, axis_name='device')", "", ["JM105"]),
        ("norm = partial(nn.BatchNorm, axis_name='batch')", "", []),
        ("norm = partial(nn.BatchNorm, axis_name=None)", "", []),
        ("norm = partial(nn.BatchNorm, axis_name='device')", "AXIS = 'device'", []),
        ("norm = partial(nn.BatchNorm, axis_name='j')", "def q(f, n): return jax.pmap(f, axis_name=n)", ["JM105"]),
        ("norm = partial(mine, axis_name='device')", "", []),
        ("norm = nn.vmap(Frame, variable_axes={}, axis_name='time')", "", []),  # binds it
        ("norm = nn.vmap(partial(nn.BatchNorm, axis_name='time'), axis_name='time')", "", []),
    ],
)
def test_layers(layer: str, more: str, expected: list[str]) -> None:
    assert codes(LAYER.format(layer=layer, more=more)) == expected


def test_layers_of_another_module() -> None:
    files = {
        "models.py": "import flax.linen as nn\ndef norm(): return nn.BatchNorm(axis_name='batch ')\n",
        "train.py": "import jax\nimport models\np = jax.pmap(lambda x: models.norm()(x), axis_name='batch')\n",
    }
    sources = [decode(text.encode(), name, Path("/project") / name) for name, text in files.items()]
    (finding,) = lint(sources, Config())
    assert (finding.path, finding.code) == ("models.py", "JM105")
    assert "did you mean 'batch'" in finding.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): return Mesh(np.array(jax.devices()).reshape(-1, 2), 'i')", ["JM106"]),
        ("def f(): return Mesh(np.array(jax.devices()).reshape((-1, 2)), ('i', 'j', 'k'))", ["JM106"]),
        ("def f():\n    d = mesh_utils.create_device_mesh((n, 2))\n    return Mesh(d, ('i',))", ["JM106"]),
        ("def f(): return jax.make_mesh((n, 2), axis_names=('i',))", ["JM106"]),
        ("def f(): return Mesh(np.reshape(jax.devices(), (-1, 2)), ('i', 'j'))", []),
        ("def f(): return Mesh(jax.devices(), ('i',))", []),
        ("def f(shape): return Mesh(np.array(jax.devices()).reshape(shape), ('i', 'j'))", []),
        ("def f(shape): return Mesh(np.array(jax.devices()).reshape(*shape), ('i', 'j'))", []),
        ("def f(names): return Mesh(jax.devices(), names)", []),
    ],
)
def test_mesh_ranks(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p = jax.pmap(lambda x, y: x, in_axes=(0,))", ["JM107"]),
        ("p = jax.pmap(lambda x: x, in_axes=(0, None))", ["JM107"]),
        ("p = jax.pmap(lambda x, y=1: x, in_axes=(0,))", []),
        ("p = jax.pmap(lambda *xs: xs, in_axes=(0, 0, 0))", []),
        ("p = jax.pmap(lambda x, y: x, in_axes=0)", []),
        ("p = jax.pmap(lambda x, n: x, in_axes=(0,), static_broadcasted_argnums=1)", []),
        ("A = (0,)\np = jax.pmap(lambda x, y: x, in_axes=(*A, 0))", []),
        ("class T:\n    def f(self, x): return x\n    def g(self): return jax.pmap(self.f, in_axes=(0,))", []),
        ("class T:\n    def f(self, x): return x\n    def g(self): return jax.pmap(self.f, in_axes=(0, 0))", ["JM107"]),
    ],
)
def test_lengths_of_specs(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("method", "called"),
    [
        ("@classmethod\n    def mean(cls, x, axis): return lax.pmean(x, axis)", "Net.mean"),
        ("@classmethod\n    def mean(cls, x, axis): return lax.pmean(x, axis)", "Net().mean"),
        ("@staticmethod\n    def mean(x, axis): return lax.pmean(x, axis)", "Net.mean"),
        ("@staticmethod\n    def mean(x, axis): return lax.pmean(x, axis)", "Net().mean"),
        ("def mean(self, x, axis): return lax.pmean(x, axis)", "Net().mean"),
        ("mean = lambda self, x, axis: lax.pmean(x, axis)", "Net().mean"),
    ],
)
def test_the_axis_that_a_method_is_given(method: str, called: str) -> None:
    text = f"class Net:\n    {method}\n\nstep = jax.pmap(lambda x: {called}(x, %r), axis_name='batch')"
    assert [c for c in codes(text % "device") if c == "JM101"] == ["JM101"]
    assert [c for c in codes(text % "batch") if c == "JM101"] == []
