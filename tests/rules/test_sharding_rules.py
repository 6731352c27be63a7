"""JM501 to JM507 in more forms than their examples have, and what they must not say."""

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
from flax import jax_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""


def codes(text: str, name: str = "a.py") -> list[str]:
    source = decode((PRELUDE + textwrap.dedent(text)).encode(), name, Path("/project") / name)
    return [finding.code for finding in lint([source], Config())]


MAPPED = """
def body(w, x): return {body}
def make(mesh): return {wrap}(jax.shard_map(body, mesh=mesh, in_specs=(P(), P('i')), out_specs={out}))
"""


MAPPED_WITHIN = """
def g(x):
    return jax.shard_map(lambda x: x, mesh=m, in_specs=P(), out_specs=P())(x)
"""


ONCE = "f = jax.shard_map(lambda x: x, mesh=m, in_specs=P(), out_specs=P())\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{ONCE}for x in xs: f(x)", ["JM501"]),
        (f"{ONCE}print([f(x) for x in xs])", ["JM501"]),
        (f"{ONCE}f(1.0)", []),  # once
        (f"{ONCE}for x in f(1.0): print(x)", []),
        (f"{ONCE}f(1.0)\nwhile f(2.0).any(): pass", ["JM501", "JM501"]),
        (
            f"{ONCE}import time\ndef run():\n    t = time.time()\n    f(1.0)\n    print(time.time() - t)\nrun()",
            ["JM501"],
        ),
        (f"{ONCE}import time\ndef run():\n    f(1.0)\ndef wait(): time.time()\nrun()\nwait()", []),
        (f"{ONCE}def run(x): return f(x)\ndef main():\n    run(1.0)\n    for x in xs: run(x)\nmain()", ["JM501"]),
        (f"{ONCE}def run(x): return f(x)\ndef main(): run(1.0)\nmain()", []),
        (f"{ONCE}jax.jit(f)(1.0)", []),
        ("def g(x):\n    return jax.shard_map(lambda x: x, mesh=m, in_specs=P(), out_specs=P())(x)", []),
        (MAPPED_WITHIN + "def main(argv):\n    for x in argv: g(x)\nfrom absl import app\napp.run(main)", ["JM501"]),
        ("@jax.jit" + MAPPED_WITHIN + "g(1.0)", []),
        (
            "@partial(jax.shard_map, mesh=m, in_specs=P(), out_specs=P())\ndef f(x): return x\nfor x in xs: f(x)",
            ["JM501"],
        ),
    ],
)
def test_eager_calls(text: str, expected: list[str]) -> None:
    assert codes(text) == expected
    assert codes(text, "test_a.py") == []


BLOCK = "def f(mesh): return jax.jit(jax.shard_map({function}, mesh=mesh, in_specs={specs}, out_specs=P()))"


@pytest.mark.parametrize(
    ("function", "specs", "expected"),
    [
        ("lambda x: lax.psum(x[0], 'i')", "P('i')", ["JM502"]),
        ("lambda w, x: lax.psum(w * x[0], 'i')", "(P(), P(('i', 'j')))", ["JM502"]),
        ("lambda x: lax.psum(jax.tree.map(lambda a: a[0], x), 'i')", "P('i')", ["JM502"]),
        ("lambda x: lax.psum(x[1:], 'i')", "P('i')", []),
        ("lambda x: lax.psum(x[0], 'i')", "P()", []),
        ("lambda x: lax.psum(x[0], 'i')", "P(None, 'i')", []),
        ("lambda rng: lax.psum(rng[0], 'i')", "P('i')", []),
        ("lambda x: (2 * x[0])[None]", "P('i')", []),
        ("lambda x: jnp.expand_dims(x[0], 0)", "P('i')", []),
        ("lambda x: jax.tree.map(lambda a: a[None, ...], g(x[0]))", "P('i')", []),
        ("lambda x: g(x[0], x[:, None])", "P('i')", ["JM502"]),
        ("lambda w, x: lax.psum(w[0] * x.sum(), 'i')", "(P(), P('i'))", []),
    ],
)
def test_first_rows(function: str, specs: str, expected: list[str]) -> None:
    found = codes(BLOCK.format(function=function, specs=specs))
    assert [code for code in found if code.startswith("JM5")] == expected


@pytest.mark.parametrize(
    ("body", "out", "expected"),
    [
        ("lax.pmean((w * x).mean(), 'i')", "P()", ["JM502"]),
        ("lax.pmean(jnp.mean(w * x), 'i')", "P()", ["JM502"]),
        ("lax.pmean((w * x).mean(0), 'i')", "P()", []),
        ("lax.pmean((w * x).mean(axis=0), 'i')", "P()", []),
        ("lax.pmean((w, x), 'i')", "P()", []),
        ("lax.pmean((w * x).mean(), 'i')[None]", "P('i')", []),
    ],
)
def test_first_elements_of_scalars(body: str, out: str, expected: list[str]) -> None:
    text = MAPPED.format(body=body, wrap="jax.jit", out=out) + "def main(mesh, w, x):\n    f = jax.jit(jax.shard_map("
    text += f"body, mesh=mesh, in_specs=(P(), P('i')), out_specs={out}))\n    y = f(w, x)\n    return y[0]\n"
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("jax_utils.replicate(w)", ["JM503"]),
        ("jax.device_put_replicated(w, jax.devices())", ["JM415", "JM503"]),
        ("jaxline.utils.bcast_local_devices(w)", ["JM503"]),
        ("kfac_jax.utils.replicate_all_local_devices(w)", ["JM503"]),
        ("jax.device_put(w)", []),
        ("w", []),
    ],
)
def test_replicated_arrays(given: str, expected: list[str]) -> None:
    text = f"""
    import jaxline.utils, kfac_jax
    def main(mesh, w, x):
        f = jax.jit(jax.shard_map(lambda w, x: w, mesh=mesh, in_specs=(P(), P('i')), out_specs=P()))
        v = {given}
        return f(v, x)
    """
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("mesh", "given", "expected"),
    [
        ("jax.make_mesh((jax.device_count(),), ('i',))", "np.ones(8)", ["JM504"]),
        ("jax.make_mesh((jax.device_count(),), ('i',))", "jnp.arange(8.0)", ["JM504"]),
        ("jax.make_mesh((jax.device_count(),), ('i',))", "jax.device_put(np.ones(8), s)", []),
        ("jax.make_mesh((jax.device_count(),), ('i',), axis_types=(Auto,))", "np.ones(8)", []),
        ("Mesh(jax.devices(), ('i',))", "np.ones(8)", []),
    ],
)
def test_explicit_meshes(mesh: str, given: str, expected: list[str]) -> None:
    text = f"""
    def main(s):
        mesh = {mesh}
        f = jax.jit(jax.shard_map(lambda w, x: x, mesh=mesh, in_specs=(P(), P('i')), out_specs=P('i')))
        return f(np.ones(3), {given})
    """
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("M = Mesh(jax.devices(), 'i')\nif __name__ == '__main__':\n    app.run(main)", "a.py", ["JM505"]),
        ("M = Mesh(jax.devices(), 'i')\nif __name__ == '__main__':\n    main()", "a.py", []),
        (
            (
                "class C:\n    mesh = Mesh(jax.devices(), 'i')\ndef main():\n    jax.config.update('jax_x', 1)\n"
                "if __name__ == '__main__':\n    main()"
            ),
            "a.py",
            ["JM505"],
        ),
        (
            "jax.distributed.initialize()\nM = Mesh(jax.devices(), 'i')\nif __name__ == '__main__':\n    main()",
            "a.py",
            [],
        ),
        ("M = Mesh(jax.devices(), 'i')\nprint(M)", "a.py", []),
        (
            "for d in jax.devices(): print(d)\nM = Mesh(jax.devices(), 'i')\nif __name__ == '__main__': main()",
            "a.py",
            [],
        ),
        ("A = parser.parse_args()\nM = Mesh(jax.devices(), 'i')\nif __name__ == '__main__': main()", "a.py", []),
        ("M = Mesh(jax.devices(), 'i')\nif __name__ == '__main__':\n    main()", "test_a.py", []),
        ("def f(): return Mesh(jax.devices(), 'i')\nif __name__ == '__main__':\n    main()", "a.py", []),
        ("if __name__ == '__main__':\n    M = Mesh(jax.devices(), 'i')", "a.py", []),
    ],
)
def test_meshes_at_import(text: str, name: str, expected: list[str]) -> None:
    assert codes(text, name) == expected


def test_a_mesh_of_a_module_that_another_imports() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/meshes.py": PRELUDE + "M = Mesh(jax.devices(), 'i')\n",
        "train.py": PRELUDE + "from pkg.meshes import M\ndef main():\n    jax.distributed.initialize()\n    print(M)\n",
    }
    sources = [decode(text.encode(), name, Path("/project") / name) for name, text in files.items()]
    assert [(f.path, f.code) for f in lint(sources, Config())] == [("pkg/meshes.py", "JM505")]


STEP = """
@partial(jax.jit, donate_argnums={donated})
def step(state, batch): return {returned}
def main(state, batch, batches):
{body}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    new, _ = step(state, batch)\n    return state", ["JM506"]),
        ("    old = state\n    state, _ = step(state, batch)\n    return old", ["JM506"]),
        ("    old = state\n    state = batch\n    state, _ = step(state, batch)\n    return old", []),
        ("    old = state.copy()\n    state, _ = step(state, batch)\n    return old", []),
        ("    new, _ = step((state, 1), batch)\n    return state", ["JM506"]),
        ("    new, _ = step((state, 1), batch)\n    return new", []),
        ("    new, _ = step(state, batch)\n    print(new)\n    if batch:\n        print(state.params)", ["JM506"]),
        ("    for b in batches:\n        _, loss = step(state, b)\n        print(loss)", ["JM506"]),
        ("    if batch:\n        new, _ = step(state, batch)\n    print(state)", ["JM506"]),
        ("    state, _ = step(state, batch)\n    return state", []),
        ("    for b in batches:\n        state, loss = step(state, b)\n    return state", []),
        ("    new, _ = step(state, batch)\n    state = new\n    return state", []),
        ("    new, _ = step(state, batch)\n    return state.shape", []),
        ("    new, _ = step(state, batch)\n    del state", []),
        ("    return step(state, batch), state.x", []),
        ("    for b in batches:\n        _, loss = step(state, b)\n        break", []),
        ("    new, _ = step(state, batch)\n    for state in batches:\n        print(state)", []),
        ("    new, _ = step(state, batch)\n    return batch", []),
        ("    state = np.zeros(3)\n    new, _ = step(state, batch)\n    return state", []),
    ],
)
def test_uses_after_donation(body: str, expected: list[str]) -> None:
    assert codes(STEP.format(donated=0, returned="state.replace(x=1), 2.0", body=body)) == expected


MADE = """
def make():
    return jax.jit(partial(lambda c, s, b: s, 1), donate_argnums=0)
class State:
    def __init__(self, x): self.x = x
@partial(jax.jit, donate_argnums=0)
@jax.shard_map(mesh=Mesh(jax.devices(), 'i'), in_specs=(P(), P('i')), out_specs=P())
def rebuild(state, batch):
    return State(compute(state.x, batch))
@partial(jax.jit, donate_argnums=0)
def score(state, batch):
    return compute(state.x, batch)
def train(state, batch):
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    step = make()\n    new = step(state, batch)\n    return state", ["JM506"]),
        ("    step = make()\n    new = step(state, batch)\n    return new", []),
        ("    state = State(1)\n    other = rebuild(state, batch)\n    return state.x", ["JM506"]),
        ("    other = rebuild(state, batch)\n    return state.x", []),
        ("    new_state = score(state, batch)\n    return state.x", ["JM506"]),
        ("    loss = score(state, batch)\n    return state.x", []),
    ],
)
def test_what_donates(body: str, expected: list[str]) -> None:
    assert [code for code in codes(MADE + body) if code == "JM506"] == expected


@pytest.mark.parametrize(
    ("returned", "expected"),
    [("state", ["JM506"]), ("(2.0, state.replace(x=1))", ["JM506"]), ("(state - batch, 1)", ["JM506"]), ("2.0", [])],
)
def test_only_what_is_given_back_is_lost(returned: str, expected: list[str]) -> None:
    body = "    new = step(state, batch)\n    return state"
    assert codes(STEP.format(donated="(0, 1)", returned=returned, body=body)) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("def f(): return jax.make_mesh((8,), ('i',))", "a.py", ["JM507"]),
        ("def f(): return Mesh(np.array(jax.devices()).reshape(4, 2), ('i', 'j'))", "a.py", ["JM507"]),
        ("def f(): return Mesh(np.array(jax.devices()).reshape(-1, 2), ('i', 'j'))", "a.py", []),
        ("def f(): return Mesh(np.array(jax.devices()).reshape(1, 1), ('i', 'j'))", "a.py", []),
        ("assert jax.device_count() == 8\ndef f(): return jax.make_mesh((8,), ('i',))", "a.py", []),
        ("def f(n): return jax.make_mesh((n,), ('i',))", "a.py", []),
        ("def test_f(): return jax.make_mesh((8,), ('i',))", "test_a.py", []),
        ("def f(d): return jax.make_mesh((8,), ('i',), devices=d[:8])", "a.py", []),
        ("assert len(jax.local_devices()) >= 8\ndef f(): return jax.make_mesh((8,), ('i',))", "a.py", []),
        ("jax.config.update('jax_num_cpu_devices', 8)\ndef f(): return jax.make_mesh((8,), ('i',))", "a.py", []),
        ("def f(d): return jax.make_mesh((8,), ('i',), devices=d)", "a.py", []),
    ],
)
def test_fixed_numbers_of_devices(text: str, name: str, expected: list[str]) -> None:
    assert codes(text, name) == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("Trainer(2, mesh)", []),
        ("Trainer(2, mesh=mesh), Trainer(mesh=mesh, size=3)", []),
        ("Trainer(2, mesh=mesh), Trainer(3)", ["JM507"]),
        ("Trainer(2, mesh=None)", ["JM507"]),
        ("", ["JM507"]),  # whoever uses it may leave it out
    ],
)
def test_a_fixed_mesh_that_all_calls_replace(calls: str, expected: list[str]) -> None:
    text = f"""
    class Trainer:
        def __init__(self, size, mesh=None):
            if mesh is None:
                mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("i", "j"))
            self.mesh, self.size = mesh, size
    def main(mesh):
        return [{calls}]
    """
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("names", "expected"), [("{'i'}", []), ("{'i', 'j'}", ["JM504"]), ("chosen", []), ("set(('i', 'j'))", [])]
)
def test_maps_over_some_axes_of_an_explicit_mesh(names: str, expected: list[str]) -> None:
    text = f"""
    def main():
        mesh = jax.make_mesh((4, jax.device_count() // 4), ('i', 'j'))
        f = jax.jit(jax.shard_map(g, mesh=mesh, in_specs=P('i'), out_specs=P('i'), axis_names={names}))
        return f(np.ones(8))
    """
    assert codes(text) == expected


@pytest.mark.parametrize("raises", ["pytest.raises(ValueError)", "self.assertRaisesRegex(ValueError, 'axis')"])
def test_what_a_test_expects_to_raise(raises: str) -> None:
    text = f"""
    def test_it(self, mesh):
        mesh = Mesh(jax.devices(), ('i',))
        spec = P('k')
        with suppress(), {raises}:
            NamedSharding(mesh, spec)
        with {raises}:
            Mesh(jax.devices(), ('i', 'j'))
    """
    assert codes(text) == []
    assert codes(text.replace(raises, "self.subTest()")) == ["JM102", "JM106"]
