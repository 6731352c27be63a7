"""Mapped functions that are only called under a jit: what is compared are the calls of that jit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jaxmigrate.verify.model import Verdict, VerifyRequest
from jaxmigrate.verify.run import verify
from tests.verify.marked import by_name, marked, sites_of, verify_program

UNDER_JIT = """
import functools
import jax
import jax.numpy as jnp

rollout = jax.pmap(lambda scale, x: (x * scale).sum())

@jax.jit
def doubled(x):
    return x * 2

@functools.partial(jax.jit, static_argnums=2)
def generation(params, noise, power):
    scores = rollout(jnp.full(8, params["scale"]), noise)
    return {"scale": params["scale"] + scores.mean() ** power}, scores

params = {"scale": jnp.float32(0.5)}
for step in range(3):
    params, scores = generation(params, doubled(jnp.arange(16.0).reshape(8, 2) + step), 2)
print(scores)
"""
BY_HAND = UNDER_JIT.replace(
    "rollout = jax.pmap(lambda scale, x: (x * scale).sum())",
    """
mesh = jax.sharding.Mesh(jax.devices(), ("i",))
P = jax.sharding.PartitionSpec

def score(scale, x):
    return (x.squeeze(0) * scale.squeeze(0)).sum()[None]

rollout = jax.shard_map(score, mesh=mesh, in_specs=(P("i"), P("i")), out_specs=P("i"), check_vma=False)
""",
)


def test_wrong_rewrites_are_refuted_by_the_jit_around_them(tmp_path: Path) -> None:
    evidence = verify_program(tmp_path / "project", UNDER_JIT, [("(x * scale).sum()", "(x * scale).mean()")])
    (site,) = evidence.sites
    assert evidence.verdict is site.verdict is Verdict.DIFFERENT, evidence.message
    assert site.message.startswith("runs inside jit program.py:12 (generation), whose calls were compared: call 0, res")
    assert (site.calls, evidence.coverage.exercised) == (3, 1)
    assert site.first is not None
    assert "`[1]`: the result is 0.5 times the original's" in site.first.hint


@pytest.mark.long
def test_sites_under_jit_of_migrations_made_by_hand(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(BY_HAND)
    original = {"program.py": marked(UNDER_JIT, "jax.pmap").encode()}
    command = (sys.executable, "program.py")
    evidence = verify(VerifyRequest(tmp_path, command, original, {}, sites_of(UNDER_JIT), by_hand=True))
    site = by_name(evidence)["rollout"]
    assert site.verdict is Verdict.EQUAL, site.message
    assert "(generation), whose calls were compared" in site.message
