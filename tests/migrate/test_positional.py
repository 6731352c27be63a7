# ruff: noqa: E501 - a program reads better in one line
"""`PositionalSharding` by names: what is followed, and what is left with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files, plan_sources
from jaxmigrate.migrate.options import PlanOptions
from tests.texts import flat

OPENING = "import jax\nfrom jax.sharding import PositionalSharding\n\n"
NEW = "import jax\nfrom jax.sharding import Mesh, NamedSharding\nfrom jax.sharding import PartitionSpec as P\n\n"
MESH = 'Mesh(jax.devices(), ("devices",))'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s = PositionalSharding(jax.devices())\n", f's = NamedSharding({MESH}, P("devices"))\n'),
        (
            "y = jax.device_put(x, PositionalSharding(jax.devices()).replicate())\n",
            f"y = jax.device_put(x, NamedSharding({MESH}, P()))\n",
        ),
        (
            "s = PositionalSharding(jax.devices())\nr = s.replicate()\ny = jax.device_put(x, s.reshape(-1, 1, 1), src=r)\n",
            (f's = NamedSharding({MESH}, P("devices"))\nr = NamedSharding(s.mesh, P())\n'
            'y = jax.device_put(x, NamedSharding(s.mesh, P("devices")), src=r)\n'),
        ),
        (
            "s = PositionalSharding(jax.devices())\ng = s.reshape(2, 1, 4)\nf = jax.jit(f, None, (g.replicate(0), s))\n",
            (f's = NamedSharding({MESH}, P("devices"))\n'
            'g = NamedSharding(Mesh(s.mesh.devices.reshape(2, 4), ("x", "y")), P("x", None, "y"))\n'
            'f = jax.jit(f, None, (NamedSharding(g.mesh, P(None, None, "y")), s))\n'),
        ),
        (
            ("if f:\n    s = PositionalSharding(jax.devices()).reshape(n, 1)\n    y = jax.device_put(x, s.replicate())\n"
            "s = PositionalSharding(jax.devices()).reshape(n, 1)\nz = jax.device_put(x, s)\n"),
            (f'if f:\n    s = NamedSharding({MESH}, P("devices"))\n    y = jax.device_put(x, NamedSharding(s.mesh, P()))\n'
            f's = NamedSharding({MESH}, P("devices"))\nz = jax.device_put(x, s)\n'),
        ),
    ],
)  # fmt: skip
def test_what_is_made_of_one_is_followed(before: str, after: str) -> None:
    found = fix_files({"a.py": OPENING + before})["a.py"]
    assert flat(found.rpartition("\n\n")[2]) == flat(after)
    assert fix_files({"a.py": found})["a.py"] == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("s = PositionalSharding(jax.devices())\nrun(s)\n", "is passed to code"),
        ("def f():\n    return PositionalSharding(jax.devices())\n", "is passed to code"),
        ("self.s = PositionalSharding(jax.devices())\n", "is passed to code"),
        ("s = PositionalSharding(jax.devices())\ns = s.reshape(4, 2)\n", "is assigned again"),
        ("s = PositionalSharding(jax.devices())\ns = PositionalSharding(jax.devices()[:2])\n", "is assigned again"),
        ("for s in PositionalSharding(jax.devices()), 3:\n    pass\n", "is passed to code"),
        ("s = PositionalSharding(jax.devices())\nprint(s.shape)\n", "cannot write as a PartitionSpec"),
        ("s = PositionalSharding(jax.devices())\nprint(s.reshape(shape))\n", "cannot write as a PartitionSpec"),
        (
            "s = PositionalSharding(jax.devices())\nprint(s.reshape(4, 2).T.reshape(2, 4))\n",
            "cannot write as a PartitionSpec",
        ),
        ("s = PositionalSharding(jax.devices())\nprint(s.replicate(axis))\n", "cannot write as a PartitionSpec"),
        ("def f(x, devices):\n    return jax.device_put(x, PositionalSharding(devices))\n", "is passed to code"),
        ("s = PositionalSharding(jax.devices(), memory_kind='device')\n", "is not written as"),
    ],
)
def test_what_is_left(text: str, told: str) -> None:
    plan, errors = plan_sources([("a.py", Path("/project/a.py"), OPENING + text)], PlanOptions(marks=True))
    assert not errors
    assert plan.files[0].after == OPENING + text
    (one, *_) = [name for name in plan.files[0].names if name.line > 2]
    assert one.status == "left"
    assert told in one.reason


def test_one_that_another_module_imports_is_left() -> None:
    files = {"a.py": OPENING + "s = PositionalSharding(jax.devices())\n", "b.py": "from a import s\nprint(s.shape)\n"}
    assert fix_files(files) == files
