"""Maps that tests run under a fake of pmap stay: shard_map has no fake, and devices may be fewer than rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

LIBRARY = """import functools

import jax

mapped = functools.partial(jax.pmap, axis_name="i")


def gathered(tree):
    return jax.pmap(lambda tree: jax.lax.all_gather(tree, "i"), "i")(tree)


class Check:
    def run(self, tree):
        return gathered(tree)[0]


@functools.partial(jax.pmap, axis_name="i")
def step(x):
    return jax.lax.pmean(x, "i")


def total(x):
    return jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")(x)
"""
WITHIN = """import chex

import library


def test():
    with chex.fake_pmap():
        library.Check().run([[1.0]] * 16)
    library.total([1.0] * 8)
"""
STARTED = """import chex

import library

fake = chex.fake_pmap_and_jit()


def setup():
    fake.start()


def test():
    assert library.total([1.0] * 16)
"""


def left(test: str) -> set[int]:
    root = Path("/project")
    texts = {"library.py": LIBRARY, "test_library.py": test}
    plan, _ = plan_sources([(name, root / name, text) for name, text in texts.items()], PlanOptions())
    for site in plan.sites:
        assert site.code in ("", "JM404")
        assert not site.code or "runs under a fake of pmap (test_library.py:" in site.reason
    return {site.line for site in plan.sites if site.status == "left"}


@pytest.mark.parametrize(("test", "lines"), [(WITHIN, {9}), (STARTED, {23}), ("import library\n", set())])
def test_what_runs_under_a_fake_is_left(test: str, lines: set[int]) -> None:
    assert left(test) == lines
