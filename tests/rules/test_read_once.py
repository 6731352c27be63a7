"""For rules, a function that changes what it is given is read once for calls alike; what it changes changes again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from jaxmigrate.config import Config
from jaxmigrate.flow.variance import calls
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def keep(box, x):
    box["last"] = x
    return x * 2


"""
MAPPED = """

f = jax.shard_map(body, mesh=mesh, in_specs=(specs, P("i")), out_specs={out}, check_vma=False)
"""


def codes(body: str, out: str) -> list[str]:
    """The codes that a mapped function gets."""
    found = lint([decode((TOP + body + MAPPED.format(out=out)).encode(), "a.py", None)], Config())
    return [one.code for one in found]


def test_calls_alike_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six calls of which the last four are alike."""
    read: Counter[str] = Counter()
    inner = calls._read

    def counted(run: Any, closure: Any, arguments: Any) -> Any:
        read[getattr(closure.function.node, "name", "")] += 1
        return inner(run, closure, arguments)

    monkeypatch.setattr(calls, "_read", counted)
    lines = "".join("    keep(box, x)\n" for _ in range(6))
    assert codes(f"def body(p, x):\n    box = {{}}\n{lines}    return x\n", 'P("i")') == []
    assert read["keep"] <= 3 * read["body"]


def test_reductions_of_what_is_not_read_again_count() -> None:
    """A loss that is averaged in a call, in each round of a loop: its parameters may be divided among the devices."""
    body = """\
def forward(p, x):
    box = {}
    keep(box, x)
    return jax.lax.pmean(jnp.mean((x @ p) ** 2), "i")


def body(p, x):
    def one(grads, part):
        loss, new = jax.value_and_grad(forward)(p, part)
        return jax.tree.map(jnp.add, grads, new), loss

    grads, losses = jax.lax.scan(one, jax.tree.map(jnp.zeros_like, p), x)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, grads)
"""
    assert codes(body, "specs") == []
