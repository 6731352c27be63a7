"""A rewrite goes only into what it changes, however large the file around it is."""

from __future__ import annotations

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper

from jaxmigrate.codemod.apply import ApplyOperations
from jaxmigrate.migrate import fix_files

BESIDE = "    print([{n}, (1, 2, 3), dict(a=4, b=[5, 6], c=lambda x: x + {n}), f'{n} of {{8}}'], end='')\n"


def visits(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """The nodes that LibCST asks about while a file is fixed."""
    counted = 0
    ask = ApplyOperations.on_visit

    def on_visit(self: ApplyOperations, node: cst.CSTNode) -> bool:
        nonlocal counted
        counted += 1
        return ask(self, node)

    with monkeypatch.context() as patched:
        patched.setattr(ApplyOperations, "on_visit", on_visit)
        assert "jax.tree.map" in fix_files({"main.py": text})["main.py"]
    return counted


def test_statements_and_expressions_beside_a_change_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    change = "    return jax.tree_map(abs, x), [1, 2, 3], dict(a=4, b=[5, 6, 7])\n"
    short, long = ("".join(BESIDE.format(n=n) for n in range(count)) for count in (10, 40))
    asked = [visits(monkeypatch, f"import jax\n\n\ndef f(x):\n{beside}{change}") for beside in (short, long)]
    assert asked[1] - asked[0] <= 30  # the statements themselves
    plain = visits(monkeypatch, f"import jax\n\n\ndef f(x):\n{short}    return jax.tree_map(abs, x)\n")
    assert asked[0] - plain < 40  # of what stands beside the call, its outermost nodes


def test_positions_are_found_without_a_walk_that_builds_the_tree_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(MetadataWrapper, "visit_batched", never)
    assert "jax.tree.map" in fix_files({"main.py": "import jax\n\nprint(jax.tree_map(abs, [1]))\n"})["main.py"]
