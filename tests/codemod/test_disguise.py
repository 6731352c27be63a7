# ruff: noqa: E501 - a program reads better in one line
"""Parentheses, comments and line breaks change nothing of a rewrite, and no comment is lost.

Another kind of program joins by a line in PROGRAMS.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files
from tests.campaigns.old_name_cases import CANNOT, PRELUDE, USES
from tests.codemod.disguise import disguised

MAPS = "import functools\nimport jax\nfrom jax.experimental.shard_map import shard_map\nfrom jax.sharding import PartitionSpec as P\n"
XMAP = "import jax\nfrom jax.experimental.maps import xmap\nfrom jax.sharding import PartitionSpec as P\n"
POSITIONAL = "import jax\nfrom jax.sharding import PositionalSharding\n"
PROGRAMS = {
    **{name: PRELUDE + use for name, use in USES.items() if name not in CANNOT},
    "shard_map": MAPS + "f = shard_map(jax.numpy.sin, m, (P(),), (P() if s else P('a')), check_rep=False)\n",
    "shard_map auto": MAPS + "f = shard_map(g, m, in_specs=s, out_specs=s, check_rep=False, auto=frozenset({'y'}))\n",
    "shard_map partial": MAPS + "f = functools.partial(shard_map, jax.numpy.sin, m)(s, out_specs=s)\n",
    "shard_map keyword": MAPS + "f = shard_map(f=g, mesh=m, in_specs=s, out_specs=s, check_rep=False)\n",
    "xmap": XMAP + "g = xmap(lambda x: x, ['b', ...], ['b', ...], axis_resources={'b': 'i'}, donate_argnums=0)\n",
    "xmap names": XMAP + "g = xmap(lambda x: jax.lax.pmean(x, 'b'), ({1: 'b'},), {}, axis_resources={'b': ('i', 'j')})\n",
    "positional": POSITIONAL + "s = PositionalSharding(jax.devices())\ny = jax.device_put(x, s.reshape(-1, 1), src=s.replicate())\n",
    "sizes": "import jax\nn = jax.lax.psum(1, axis_name='i') * jax.lax.psum(x=1, axis_name=a) + jax.core.axis_frame('j').size\n",
    "bounds": "import jax.numpy as jnp\ny = jnp.clip(x, a_min=0, a_max=1), jnp.clip(a=x, a_max=a_min)\n",
    "meshes": (
        "import jax\nx = jax.tree_map(f, y)\nm = jax.make_mesh((4, 2), ('x', 'y'))\n"
        "with m:\n    run()\nwith jax.sharding.Mesh(jax.devices(), ('i',)) as o, open('f') as f:\n    run()\n"
    ),
}  # fmt: skip

FIXTURES = Path(__file__).parents[2] / "fixtures"
WITH_MAPS = (
    "anakin/before/ff_a2c.py",
    "class_trainer/before/trainer.py",
    "collectives_tour/before/collectives.py",
    "eight_device_psum/before/psum.py",
    "gradient_accumulation/before/train.py",
    "image_classifier/before/train.py",
    "imported_step/before/steps.py",
    "mcmc_chains/before/sample.py",
    "padded_evaluation/before/main.py",
    "replay_buffers/before/dqn.py",
    "variational_monte_carlo/before/qmc/train.py",
)


def parts(text: str) -> tuple[str, set[tuple[str, str]]]:
    """A program without its imports, and what those bind to which name, in whatever order: comments hold them apart."""
    tree = ast.parse(text)
    bound = set()
    for statement in [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]:
        home = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
        bound |= {(home + alias.name, alias.asname or alias.name) for alias in statement.names}
        tree.body.remove(statement)
    return ast.unparse(tree), bound


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_rewrite(name: str) -> None:
    text = PROGRAMS[name]
    other = disguised(text)
    assert ast.dump(ast.parse(other)) == ast.dump(ast.parse(text))
    plain, found = (fix_files({"a.py": one})["a.py"] for one in (text, other))
    assert plain != text
    assert parts(found) == parts(plain)
    assert sorted(re.findall(r"# note \d+", found)) == sorted(re.findall(r"# note \d+", other))


CASES = [
    pytest.param(file, layout, marks=[pytest.mark.long] if layout == "stacked" else [])
    for file in WITH_MAPS
    for layout in ("stacked", "auto")
]


@pytest.mark.parametrize(("file", "layout"), CASES)
def test_maps_are_rewritten_the_same(file: str, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new function says twice may bring its comment twice; of the style, which a disguise changes, it is one."""
    monkeypatch.setattr("jaxmigrate.migrate.style.line_width", lambda _: 100)
    monkeypatch.setattr("jaxmigrate.migrate.style._fills", lambda _: layout == "auto")
    monkeypatch.setattr("jaxmigrate.migrate.style._hangs", lambda _: (False, ""))
    text = (FIXTURES / file).read_text(encoding="utf-8")
    other = disguised(text)
    plain, found = (fix_files({"a.py": one}, layout=layout)["a.py"] for one in (text, other))
    assert plain != text
    assert parts(found) == parts(plain)
    assert set(re.findall(r"# note \d+", found)) == set(re.findall(r"# note \d+", other))
