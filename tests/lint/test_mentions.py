"""What is told of a text without parsing it must be true of every text that the rules about old names report."""

from __future__ import annotations

import importlib.resources
import random
from pathlib import Path

import pytest

from jaxmigrate.findings.rule_pages import rule_titles
from jaxmigrate.program.old_mentions import Mentions, dotted, mentions, tails_of_few

OLD, NOTHING = True, False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import jax\njax.tree_map(f, x)", OLD),
        ("import jax\njax \\\n  .tree_map(f, x)", OLD),
        ("import jax as j\nj.tree_map(f, x)", OLD),
        ("from jax import (\n  jit,  # and (others)\n  tree_map as t,\n)", OLD),
        ("from jax import jit, \\\n  tree_map", OLD),
        ("try: from jax import tree_map\nexcept ImportError: pass", OLD),
        ("x = 1; import jax.experimental.maps", OLD),
        ("from jax import experimental\nexperimental.maps.Mesh", OLD),
        ("from jax import *\ntree_map(f, x)", OLD),
        ("from .compat import tree_map\ntree_map(f, x)", OLD),
        ("from . import compat\ncompat.tree_map(f, x)", OLD),
        ("from .import compat\ncompat.tree_map(f, x)", OLD),
        ("import jax.numpy as jnp\njnp.product(x)", OLD),
        ("import jax\njax.api.jit", OLD),
        ("import jax, numpy as np, itertools\nnp.product(x), itertools.product(y)", NOTHING),
        ("import jax\nself.tree_map(f, x)", NOTHING),
        ("import jax\njax.tree.map(f, x)", NOTHING),
        ("import jax\nfrom functools import partial\npartial(f)", NOTHING),
        ("import jax.numpy as jnp\njnp.sum(x)", NOTHING),
        ("# from nets import (\n" + "#     ResNet,\n" * 40 + "# )\n", NOTHING),  # once exponential
    ],
)
def test_mentions_of_old_names(text: str, expected: bool) -> None:
    assert mentions(text).old is expected


@pytest.mark.parametrize("text", ["import jax.numpy.linalgs", "import jax\njax.numpy.linalgs.norm()"])
def test_mentions_of_what_jax_lacks(text: str) -> None:
    assert mentions(text) == Mentions(old=False, lacking=True)


@pytest.mark.parametrize("code", [code for code in rule_titles() if code.startswith("JM41")])
def test_what_a_rule_reports_is_mentioned(code: str) -> None:
    folder = next(
        f for f in Path(str(importlib.resources.files("jaxmigrate.rules"))).iterdir() if code.lower() in f.name
    )
    assert any(mentions((folder / "bad.py").read_text()))


def test_names_that_stand_seldom_are_found_as_by_the_pattern() -> None:
    parts = ["a", "aa", ".", "a.", " ", "\\\n", "_", "://", "é", "b", "\n", '"']
    draw = random.Random(1)
    for _ in range(3_000):
        text = "".join(draw.choices(parts, k=draw.randrange(14)))
        for local in ("a", "aa", "é", "a_"):
            assert list(tails_of_few(local, text)) == dotted(local).findall(text), text
