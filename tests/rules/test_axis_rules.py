"""JM102 to JM107 in more forms than their examples have, and what they must not say."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
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
        ("def f(c):\n    m = Mesh(jax.devices(), 'i')\n    return NamedSharding(m, P('j' if c else 'i'))", ["JM102"]),
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


@pytest.mark.parametrize(
    ("net", "expected"),
    [
        ("import flax.linen as nn\ndef norm(): return nn.BatchNorm(axis_name='batch')\n", ["JM105"]),
        ("import flax.linen as nn\ndef norm(): return nn.BatchNorm(axis_name='d')\n", []),
        ("import haiku as hk\ndef norm(c): return hk.BatchNorm(**{**c, 'cross_replica_axis': 'batch'})\n", ["JM105"]),
        ("def config(): return dict(decay=0.9, cross_replica_axis='batch')\n", ["JM105"]),
        ("config = {'decay': 0.9, 'cross_replica_axis': 'd'}\n", []),
        ("config = {'decay': 0.9, 'cross_replica_axis': 'batch'}\ndef f(b): return b['batch']\n", ["JM105"]),
        ("config = {'decay': 0.9, 'cross_replica_axis': 'batch'}\ndef f(m): return m.shape['batch']\n", []),
        ("config = {'decay': 0.9, 'cross_replica_axis': 'batch'}\nAXIS = 'batch'\n", []),
        ("config = {'cross_replica_axis': 'batch'}\ndef f(n): return jax.pmap(g, axis_name=n)\n", []),
    ],
)
def test_layers_of_a_module_that_maps_nothing(net: str, expected: list[str]) -> None:
    files = {"net.py": net, "train.py": "import jax\np = jax.pmap(lambda x: x, axis_name='d')\n"}
    sources = [decode(text.encode(), name, Path("/project") / name) for name, text in files.items()]
    assert [one.code for one in lint(sources, Config()) if one.code == "JM105"] == expected


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
        ("p = jax.pmap(lambda x, y: x, in_axes=(0,))\np(a, z=b)", ["JM107"]),
        ("p = jax.pmap(lambda x, y: x, in_axes=(0,))\np(a, y=b)", []),
        ("p = jax.pmap(lambda x: (x, x), out_axes=(0, 0, None))", ["JM107"]),
        ("p = jax.pmap(lambda x: (x, x), out_axes=(0, 0))", []),
        ("p = jax.pmap(lambda x: (x, x), out_axes=0)", []),
        ("p = jax.pmap(lambda x: other(x), out_axes=(0, 0))", []),
        ("p = jax.pmap(lambda x: (*x, x), out_axes=(0, 0))", []),
        ("p = jax.pmap(lambda x: jnp.sum(x) * 2, out_axes=(0,))", ["JM107"]),
        ("def f(x):\n    if x.ndim: return x, x\n    return g(x)\np = jax.pmap(f, out_axes=(0,))", []),
        ("p = jax.pmap(lambda x: {'a': x, 'b': x}, out_axes={'a': 0})", ["JM107"]),
        ("p = jax.pmap(lambda x: {'a': x, 'b': x}, out_axes={'b': 0, 'a': 0})", []),
        ("p = jax.pmap(lambda x: ({'a': x, 'b': x}, x), out_axes=({'a': 0}, 0))", ["JM107"]),
        ("p = jax.pmap(lambda x: ({'a': x}, x), out_axes=({'a': 0}, 0))", []),
        ("A = (0, 0)\np = jax.pmap(lambda x: x, in_axes=A)", ["JM107"]),
        ("A = (0, 0)\np = jax.pmap(lambda x: x, in_axes=A[:-1])", []),
        ("A = (0, 0)\nA += (None,)\np = jax.pmap(lambda x: x, in_axes=A)", []),
        ("p = jax.pmap(lambda x, y: x, in_axes=(0,) * 3)", ["JM107"]),
        ("p = jax.pmap(partial(lambda c, x: x, 1), in_axes=(0,))", []),
        ("p = jax.pmap(partial(lambda c, x: x, 1), in_axes=(0, 0))", ["JM107"]),
        ("j = jax.jit(lambda x, y: x, in_shardings=(S,))", ["JM107"]),
        ("j = jax.jit(lambda x, y: x, in_shardings=(S, S), out_shardings=S)", []),
        ("j = jax.jit(lambda x, y: x, in_shardings=S)", []),
        ("j = jax.jit(lambda x, n: x, in_shardings=(S,), static_argnums=1)", []),
        ("j = jax.jit(lambda x, n: x, in_shardings=(S,), static_argnames='n')", []),
        ("j = jax.jit(lambda x, n: x, in_shardings=(S,), static_argnums=NUMBERS())", []),
        ("j = jax.jit(partial(lambda c, x, y: (x, y), 1), in_shardings=(S, S), out_shardings=(S,))", ["JM107"]),
        ("@partial(jax.jit, out_shardings=(S, S, S))\ndef f(x): return x, x", ["JM107"]),
        ("@partial(jax.jit, out_shardings=(S, S))\ndef f(x):\n    def g(): return 1\n    return x, x", []),
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


CONTEXT = """
mesh = jax.make_mesh((jax.device_count(),), ("data",))
jax.set_mesh(mesh)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = lax.with_sharding_constraint(x, P('modle'))", ["JM102"]),
        ("x = lax.with_sharding_constraint(x, P('data'))", []),
        ("x = jax.sharding.reshard(x, P('modle'))", ["JM102"]),
        ("x = jax.device_put(x, P('modle'))", ["JM102"]),
        ("f = jax.jit(g, in_shardings=(P('modle'), P('data')))", ["JM102"]),
        ("f = jax.jit(g, in_shardings=P('data'), out_shardings=P('modle'))", ["JM102"]),
        ("y = jnp.einsum('ab,bc->ac', a, b, out_sharding=P('modle'))", ["JM102"]),
        ("y = other(a, b, out_sharding=P('modle'))", ["JM102"]),
        ("with pytest.raises(ValueError):\n    x = lax.with_sharding_constraint(x, P('modle'))", []),
    ],
)
def test_specs_on_the_mesh_in_context(text: str, expected: list[str]) -> None:
    assert codes(CONTEXT + text) == expected


OUT_OF_SIGHT = """
def f(mesh, x, y):
    return NamedSharding(mesh, P({!r})), jax.shard_map(lambda x: x, mesh=mesh, in_specs=P({!r}))
class Run:
    def __init__(self, mesh): self.mesh = mesh
    def go(self, x, y): return f(self.mesh, x, y)
"""


@pytest.mark.parametrize(
    ("known", "axis", "expected"),
    [
        ("m = Mesh(jax.devices(), 'data')", "batch", ["JM102", "JM102"]),
        ("m = Mesh(jax.devices(), 'data')", "data", []),
        ("m = Mesh(jax.devices(), 'data')\np = jax.pmap(g, axis_name='batch')", "batch", []),
        ("m = Mesh(jax.devices(), names())", "batch", []),
        ("def make(names='batch'): return Mesh(jax.devices(), names)\nm = make('data')", "batch", ["JM102", "JM102"]),
        ("def make(names='batch'): return Mesh(jax.devices(), names)\nm = make()", "batch", []),
        ("", "batch", []),
    ],
)
def test_meshes_out_of_sight(known: str, axis: str, expected: list[str]) -> None:
    text = OUT_OF_SIGHT.format(axis, axis)
    assert codes(f"{text}\n{known}") == expected


UNSEEN = "m = Mesh(jax.devices(), names())\nn = Mesh(jax.devices(), 'data')\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s = NamedSharding(m, P('dta'))", ["JM102"]),
        ("s = NamedSharding(m, P('dat'))", ["JM102"]),
        ("s = NamedSharding(m, P('adta'))", ["JM102"]),
        ("s = NamedSharding(m, P('data1'))", []),
        ("s = NamedSharding(m, P('model'))", []),
        ("s = NamedSharding(m, P('dta'))\nnames = ('dta',)", []),
    ],
)
def test_slips_where_other_names_may_be_bound(text: str, expected: list[str]) -> None:
    assert codes(UNSEEN + text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("init = nnx.with_partitioning(g, (None, 'tp'))", ["JM102"]),
        ("init = nnx.with_partitioning(g, (None, 'data'))", []),
        ("init = nnx.with_partitioning(g, (None, 'embed'))\nsharding_rules = [('embed', 'data')]", []),
    ],
)
def test_names_on_parameters(text: str, expected: list[str]) -> None:
    assert codes("from flax import nnx\n" + CONTEXT + text) == expected


@pytest.mark.parametrize(
    ("spec", "names", "expected"),
    [("'data'", "{'data'}", ["JM102"]), ("'model'", "{'data'}", []), ("None", "{'data'}", [])],
)
def test_constraints_within_a_shard_map(spec: str, names: str, expected: list[str]) -> None:
    text = f"""
    def f(x):
        m = jax.make_mesh((2, jax.device_count() // 2), ('data', 'model'))
        body = lambda x: lax.with_sharding_constraint(x, P({spec}))
        return jax.jit(jax.shard_map(body, mesh=m, in_specs=P('data'), out_specs=P('data'), axis_names={names}))(x)
    """
    assert codes(text) == expected


OWN = """
def mesh_of(tree, axis_name):
    return Mesh(jax.devices()[: len(tree)], (axis_name,))
def per_device(fun):
    @functools.wraps(fun)
    def block(*args):
        return fun(*args)
    return block
jax.jit(lambda *args: jax.shard_map(
    per_device({fun}), mesh=mesh_of(args, 'data'), in_specs=P('data'), out_specs=P('data'), check_vma=False)(*args))(1)
"""
JITTED = """
def step(x):
    return helper(x)
def helper(x):
    return lax.psum(x, 'data')
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f = jax.jit(step, donate_argnums=0)", ["JM101"]),
        (OWN.format(fun="partial(step)"), []),
        (OWN.format(fun="jax.vmap(lambda x: lax.psum(x, ('data', 'j')), axis_name='j')"), []),
        ("f = jax.jit(step)\ndef main(x): return f(x)", ["JM101"]),
        ("def main(x): return jax.jit(step)(x)", ["JM101"]),
        ("f = jax.jit(step)", []),  # it may be for others to map
        ("f = jax.jit(step, donate_argnums=0)\np = jax.pmap(f, axis_name='data')", []),
        ("f = jax.jit(step)\ndef g(x): return f(x)\np = jax.pmap(g, axis_name='data')", []),
        ("def main(x):\n    try:\n        return jax.jit(step)(x)\n    except NameError:\n        return x", []),
    ],
)
def test_collectives_that_nothing_maps(text: str, expected: list[str]) -> None:
    assert [code for code in codes(JITTED + text) if code == "JM101"] == expected


@pytest.mark.parametrize(
    "call",
    [
        "jax.debug.callback(log, x)",
        "jax.pure_callback(log, x, x)",
        "jax.experimental.io_callback(log, x, x)",
        "jax.debug.callback(lambda v: print(lax.psum(v, 'i')), x)",
    ],
)
def test_collectives_on_the_host(call: str) -> None:
    text = "def log(v): print(lax.psum(v, 'i'))\ndef f(x):\n    {}\n    return {}\np = jax.pmap(f, axis_name='i')"
    assert codes(text.format(call, "x")) == ["JM101"]
    assert codes(text.format("v = lax.psum(x, 'i')", "v").replace("print(lax.psum(v, 'i'))", "print(v)")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f = jax.shard_map(g, mesh=m, in_specs=P(), out_specs=P(), check_rep=False)", ["JM412"]),
        (
            "@partial(jax.shard_map, mesh=m, in_specs=P(), out_specs=P(), check_rep=False)\ndef f(x): return x",
            ["JM412"],
        ),
        ("f = jax.shard_map(g, mesh=m, in_specs=P(), out_specs=P(), auto=frozenset({'i'}))", ["JM412"]),
        ("f = jax.shard_map(g, mesh=m, in_specs=P(), out_specs=P(), check_vma=False)", []),
        ("f = other(g, check_rep=False)", []),
        ("try:\n    f = jax.shard_map(g, mesh=m, in_specs=P(), check_rep=False)\nexcept TypeError:\n    f = g", []),
    ],
)
def test_arguments_of_the_old_shard_map(text: str, expected: list[str]) -> None:
    assert codes(text) == expected
