"""JM115: programs whose shapes JAX refuses, and others like them that run, each tried on 8 devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.findings import Finding
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

HEAD = """
import dataclasses
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
"""


def told(text: str) -> list[Finding]:
    return [
        one for one in lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config()) if one.code == "JM115"
    ]


def marked(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# here")]


def check(body: str) -> None:
    text = HEAD + body
    assert [one.line for one in told(text)] == marked(text)


DICT = """
def forward(p, x):
    return (x @ p["up"]["w"] + p["up"]["b"]) * p["scale"]
def init():
    return {{"up": {{"w": jnp.ones((6, 8)), "b": jnp.zeros((8,))}}, "scale": jnp.ones(())}}
specs = {{"up": {{"w": P(None, "model"),
                 "b": {spec}}}, "scale": P()}}  {mark}
run = jax.jit(jax.shard_map(forward, mesh=mesh, in_specs=(specs, P("data")), out_specs=P("data", "model")))
print(run(init(), np.random.default_rng(0).normal(size=(8, 6))))
"""


@pytest.mark.parametrize(("spec", "mark"), [('P(None, "model")', "# here"), ('P("model")', "")])
def test_specs_of_a_tree(spec: str, mark: str) -> None:
    check(DICT.format(spec=spec, mark=mark))


CONSTRAINED = """
def named(*names):
    return NamedSharding(mesh, P(*names))
@jax.jit
def encode(tokens, table):
    h = lax.with_sharding_constraint(table[tokens], named("data", None, "model"))
    pooled = h.mean(axis=1{kept})
    return lax.with_sharding_constraint(pooled, named("data", None, "model"))  {mark}
print(encode(jnp.zeros((8, 4), jnp.int32), jnp.ones((10, 16))))
"""


@pytest.mark.parametrize(("kept", "mark"), [("", "# here"), (", keepdims=True", "")])
def test_a_spec_that_a_function_makes_stands_where_that_is_called(kept: str, mark: str) -> None:
    check(CONSTRAINED.format(kept=kept, mark=mark))


EXPERTS = """
experts = Mesh(np.array(jax.devices()), ("expert",))
@jax.jit
@functools.partial(jax.shard_map, mesh=experts, in_specs=(P("expert"), P()), out_specs=P("expert"))
def layer(w, x):
    {squeeze}
    return jnp.einsum("{terms}", x, w)  {mark}
print(layer(jax.random.normal(jax.random.key(0), (8, 4, 6)), jnp.ones((5, 4))))
"""


@pytest.mark.parametrize(
    ("squeeze", "terms", "mark"),
    [
        ("pass", "td,df->tf", "# here"),
        ("w = w[0]", "td,df->tf", ""),
        ("w = jnp.squeeze(w, 0)", "td,df->tf", ""),
        ("w = w.reshape(w.shape[1:])", "td,df->tf", ""),
        ("pass", "td,edf->etf", ""),
        ("pass", "...d,edf->etf", ""),
    ],
)
def test_leading_dimension_of_one(squeeze: str, terms: str, mark: str) -> None:
    check(EXPERTS.format(squeeze=squeeze, terms=terms, mark=mark))


STAGES = """
stages = jax.make_mesh((8,), ("stage",), axis_types=(AxisType.Auto,))
class Pipe:
    def __init__(self, axis):
        self.axis = axis
    def tick(self, w, state):
        return lax.ppermute(jnp.tanh(state @ w), self.axis, [(i, (i + 1) % 8) for i in range(8)])
    def __call__(self, w, xs):
        {squeeze}
        start = lax.pcast(jnp.zeros_like(xs[0]), self.axis, to="varying")
        step = lambda state, t: (self.tick(w, state), None)
        return lax.scan(step, start, jnp.arange(10))[0]  {mark}
run = jax.jit(jax.shard_map(Pipe("stage"), mesh=stages, in_specs=(P("stage"), P()), out_specs=P("stage")))
print(run(jnp.ones((8, 4, 4)), jnp.ones((3, 2, 4))).shape)
"""


@pytest.mark.parametrize(("squeeze", "mark"), [("pass", "# here"), ("w = w[0]", ""), ("w = w.squeeze(axis=0)", "")])
def test_what_a_scan_carries(squeeze: str, mark: str) -> None:
    check(STAGES.format(squeeze=squeeze, mark=mark))


FSDP = """
fsdp = jax.make_mesh((8,), ("fsdp",), axis_types=(AxisType.Auto,))
def forward(p, x):
    w1, w2 = (lax.all_gather(p[k], "fsdp", tiled=True) if k in {gathered} else p[k] for k in ("w1", "w2"))
    return jax.nn.relu(x @ w1) @ w2  {mark}
run = jax.shard_map(forward, mesh=fsdp, in_specs=({{"w1": P("fsdp"), "w2": P("fsdp")}}, P("fsdp")), out_specs=P("fsdp"))
def main():
    return jax.jit(run)({{"w1": jnp.ones((16, 32)), "w2": jnp.ones((32, 16))}}, jnp.ones((8, 16)))
if __name__ == "__main__":
    main()
"""


def test_all_gather_makes_blocks_whole() -> None:
    check(FSDP.format(gathered="('w1', 'w2')", mark=""))


@pytest.mark.parametrize(
    "line",
    [
        'jax.device_put(jnp.ones((6, 3)), NamedSharding(mesh, P("data")))  # here',
        'jax.device_put(jnp.ones((8, 3)), NamedSharding(mesh, P("data")))',
        'jax.device_put([np.ones(8)], NamedSharding(mesh, P("data", None)))  # here',
        'jax.device_put({"a": np.ones(8)}, {"a": NamedSharding(mesh, P(("data", "model")))})',
        "jax.jit(jnp.add, in_shardings=(NamedSharding(mesh, P()),))(1.0, 2.0)  # here",
        "jax.jit(jnp.add, in_shardings=(None, None))(1.0, 2.0)",
        'jax.tree.map(lambda x: lax.pmean(x, "data"), {"loss": jnp.ones(())})  # here',
        'jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.ones(3))',
        'jax.jit(jax.shard_map(lambda x: x, in_specs=P("data"), out_specs=P("data")))(jnp.ones(8))  # here',
        'jax.jit(jax.shard_map(lambda x: x, mesh=mesh, in_specs=P("data"), out_specs=P("data")))(jnp.ones(8))',
        "jnp.ones((4, 3)) @ jnp.ones((4, 3))  # here",
        "jnp.ones((4, 3)) @ jnp.ones((4, 3)).T",
        "jnp.ones((4, 3)).reshape(2, -1, 3) + jnp.ones((2, 1))",
        "jnp.ones((4, 3)).reshape(-1, 5)  # here",
        "jnp.concatenate([jnp.ones((4, 3)), jnp.ones((5, 3))]).sum(axis=1) * jnp.ones(9)",
        "print(jnp.ones(3) + jnp.ones(4)) if len(jax.devices()) > 1 else None",
    ],
)
def test_single_lines(line: str) -> None:
    check(line + "\n")


AROUND = """
{before}
    jnp.ones(3) + jnp.ones(4)  {mark}
"""


@pytest.mark.parametrize(
    ("before", "mark"),
    [
        ("if True:", "# here"),
        ("if jax.device_count() > 3:", ""),
        ("for _ in range(2):", "# here"),
        ("for _ in range(jax.device_count() - 1):", ""),
        ("while jax.device_count():", ""),
        ("with pytest.raises(TypeError):", ""),
        ("with mesh:", "# here"),
        ("def test_it():", "# here"),
        ("def helper(x):", ""),
        ("def test_it(capsys):", ""),
        ("def gives():\n    if jax.device_count() > 1:\n        return\n", ""),
        ("class Test:\n  def test_it(self):", ""),
    ],
)
def test_only_what_is_certain_to_run(before: str, mark: str) -> None:
    check(AROUND.format(before=before, mark=mark))


CONTEXT = """
@jax.jit
@functools.partial(jax.shard_map, in_specs=P("data"), out_specs=P("data"))
def double(x):
    return 2 * x
def main():
    other = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    for m in ({meshes}):
        with jax.set_mesh(m):
            double(jnp.ones(8))  {mark}
main()
"""


@pytest.mark.parametrize(("meshes", "mark"), [("mesh, other", "# here"), ("mesh, mesh", ""), ("other,", "")])
def test_a_map_without_a_mesh_keeps_the_first(meshes: str, mark: str) -> None:
    check(CONTEXT.format(meshes=meshes, mark=mark))


RULES = """
RULES = {{"embed": "data", "mlp": {axis!r}, None: None}}
@dataclasses.dataclass
class Layout:
    rules: dict
    names: tuple = ("embed", "mlp")
    def sharding(self):
        return NamedSharding(mesh, P(*(self.rules[name] for name in self.names)))
jax.device_put(jnp.ones((8, 8)), Layout(RULES).sharding())
"""


@pytest.mark.parametrize(("axis", "said"), [("model", ""), ("mdl", "the mesh has no axis 'mdl'"), ("data", "two dim")])
def test_axes_by_rules(axis: str, said: str) -> None:
    found = told(HEAD + RULES.format(axis=axis))
    assert [said in one.message for one in found] == [True] * bool(said)


def test_a_finding_of_another_rule_on_the_same_line_is_enough() -> None:
    line = 'jax.device_put(jnp.ones((8,)), NamedSharding(mesh, P("data", "model")))\n'
    found = lint([decode((HEAD + line).encode(), "a.py", Path("/project/a.py"))], Config())
    assert [one.code for one in found if one.code.startswith("JM1")] == ["JM110"]


GROUPED = """
eight = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
def body(x):
    return {value}  {mark}
run = jax.shard_map(body, mesh=eight, in_specs=P("i"), out_specs=P("i"), check_vma={checked})
jax.jit(run)(jnp.ones(64))
"""


@pytest.mark.parametrize(
    ("value", "checked", "mark"),
    [
        ("lax.psum(x, 'i', axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]])", True, "# here"),
        ("lax.psum(x, 'i', axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]])", False, ""),
        ("lax.pmax(x, 'i', axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]])", True, ""),
        ("lax.pmean(x, 'i', axis_index_groups=[range(n, n + 2) for n in range(0, 6, 2)])", False, "# here"),
        ("lax.pmean(x, 'i', axis_index_groups=None)", True, ""),
        ("jax.vmap(lambda r: r - lax.pmean(r, 'v'), axis_name='v')(x)", True, "# here"),
        ("jax.vmap(lambda r: r - lax.pmean(r, 'v'), axis_name='v')(x)", False, ""),
        ("jax.vmap(lambda r: r - lax.axis_index('v'), axis_name='v')(x)", True, ""),
        ("jax.vmap(lambda r: r - lax.pmean(r, 'i'))(x)", True, ""),
    ],
)
def test_groups_and_axes_of_vmap(value: str, checked: bool, mark: str) -> None:
    text = HEAD + GROUPED.format(value=value, checked=checked, mark=mark)
    found = {one.line for one in told(text)}
    beside = {one.line for one in lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())}
    assert set(marked(text)) <= beside
    assert bool(mark) or not found


SIMULATED = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={count}"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), ("i",))
jax.device_put(jnp.ones(12), NamedSharding(mesh, P("i")))  {mark}
"""


@pytest.mark.parametrize(("count", "mark"), [(8, "# here"), (4, ""), ("{n}", "")])
def test_the_number_of_devices_that_a_module_simulates(count: object, mark: str) -> None:
    text = SIMULATED.format(count=count, mark=mark)
    assert [one.line for one in told(text)] == marked(text)


EXPLICIT = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, reshard

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
auto = Mesh(mesh.devices, ("data", "model"))
x = jax.device_put(jnp.ones((8, 16)), NamedSharding(mesh, P("data", None)))
y = jax.device_put(jnp.ones((8, 16)), NamedSharding(mesh, P("model", None)))
h = jax.device_put(jnp.ones((8, 32)), NamedSharding(mesh, P("data", "model")))
w = jax.device_put(jnp.ones((32, 16)), NamedSharding(mesh, P("model", None)))
jax.set_mesh(mesh)
"""


@pytest.mark.parametrize(
    "body",
    [
        "jax.jit(lambda a, b: a + b)(x, y)  # here",
        "jax.jit(lambda a, b: a * 2 + jnp.exp(b))(x, y)  # here",
        "jax.jit(lambda a, b: a + b)(x, reshard(y, P('data', None)))",
        "jax.jit(lambda a, b: a + b)(x, jax.device_put(jnp.ones((8, 16)), P('data', 'model')))",
        "jax.jit(lambda a: a + jnp.ones((8, 16)))(x)",
        "jax.jit(lambda a: 2 * a)(x) + jax.device_put(jnp.ones((8, 16)), P())",
        "jax.jit(lambda a, b: a @ b)(h, w)  # here",
        "jax.jit(lambda a, b: jnp.einsum('bf,fd->bd', a, b))(h, w)  # here",
        "jax.jit(lambda a, b: jnp.einsum('bf,fd->bd', a, b, out_sharding=P('data', None)))(h, w)",
        "jax.jit(lambda a, b: jnp.dot(a, b, out_sharding=P('data')))(h, w)",
        "jax.jit(lambda a, b: a @ b)(x, jax.device_put(jnp.ones((16, 4)), P(None, 'model')))",
        "jax.jit(lambda a: a[0])(x)  # here",
        "jax.jit(lambda a: a[:, 0])(x)",
        "jax.jit(lambda a: a[:4])(x)",
        "jax.jit(lambda a: a[0])(reshard(x, P()))",
        "jax.jit(lambda a: lax.scan(lambda c, r: (c + r.sum(), r), 0.0, a))(x)  # here",
        "jax.jit(lambda a: lax.scan(lambda c, r: (c + r.sum(), r), 0.0, a))(reshard(x, P()))",
        "jax.jit(lambda a: lax.with_sharding_constraint(a * 2, P('model', None)))(x)  # here",
        "jax.jit(lambda a: lax.with_sharding_constraint(a * 2, P('data')))(x)",
        "jax.jit(lambda a: reshard(a * 2, P('model', None)))(x)",
        "jax.jit(jax.shard_map(lambda a: a, in_specs=P('model'), out_specs=P('model')))(x)  # here",
        "jax.jit(jax.shard_map(lambda a: a, in_specs=P('data'), out_specs=P('data')))(x)",
        "jax.jit(jax.shard_map(lambda a: a, out_specs=P('data')))(x)",
        "jax.pmap(lambda a: a)(jnp.ones((8, 2)))  # here",
        "jax.jit(lambda a: reshard(a, NamedSharding(auto, P('data'))))(jnp.ones(8))  # here",
        "jax.make_mesh((4, 2), ('data', 'model'), axis_types=(AxisType.Auto,))  # here",
    ],
)
def test_explicit_axes(body: str) -> None:
    text = EXPLICIT + body
    assert [one.line for one in told(text)] == marked(text)


BARE = "import jax\nimport jax.numpy as jnp\nfrom jax.sharding import Mesh, PartitionSpec as P, reshard\n"


@pytest.mark.parametrize(
    "body",
    [
        "x = jax.device_put(jnp.ones(8), P('data'))  # here",
        "x = reshard(jnp.ones(8), P('data'))  # here",
        "f = jax.jit(lambda a: a, in_shardings=P('data'))  # here\nf(jnp.ones(8))",
        "f = jax.jit(lambda a: a, out_shardings=P('data'))  # here\nf(jnp.ones(8))",
        "f = jax.jit(lambda a: a, in_shardings=P('data'))",
        "f = jax.jit(lambda a: jax.lax.with_sharding_constraint(a, P('data')))  # here\nf(jnp.ones(8))",
        (
            "f = jax.jit(lambda a: jax.lax.with_sharding_constraint(a, P('data')))\n"
            "with Mesh(jax.devices(), ('data',)):\n    f(jnp.ones(8))"
        ),
        (
            "from training import entered\n"
            "f = jax.jit(lambda a: jax.lax.with_sharding_constraint(a, P('data')))\nwith entered():\n    f(jnp.ones(8))"
        ),
        (
            "mesh = Mesh(jax.devices(), ('data',))\n@jax.jit\ndef f(a):\n"
            "    with jax.set_mesh(mesh):  # here\n        return a\nf(jnp.ones(8))"
        ),
        "def main():\n    return jax.device_put(jnp.ones(8), P('data'))",
    ],
)
def test_specs_and_the_mesh_in_context(body: str) -> None:
    text = BARE + body
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "# here" in line]
    assert [one.line for one in told(text)] == lines
