"""What tells devices apart under another name, or in a module loaded by a string, is not taken for a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.disguises import OPTIMISER, disguises

PROGRAMS = disguises()
HONEST = {
    "sgd": "tx = optax.sgd(0.1)",
    "lambdas": "tx = optax.stateless(lambda u, p: jax.tree.map(lambda g: g * 0.5, u))",
    "getattr": "import sys\ntx = getattr(optax, sys.argv[1])(0.1)",
    "config": "import json\ntx = optax.sgd(float(eval(json.load(open('c.json'))['rate'])))",
}


def first_layout(files: dict[str, str]) -> str:
    """The layout of the parameters of the one site."""
    root = Path("/project")
    plan, _ = plan_sources([(name, root / name, text) for name, text in files.items()], PlanOptions("auto"))
    (site,) = plan.sites
    return site.arguments[0].layout


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_tells_devices_apart_is_found(name: str) -> None:
    assert first_layout(PROGRAMS[name]) == "stacked"


@pytest.mark.parametrize("name", HONEST)
def test_what_does_not_is_replicated(name: str) -> None:
    assert first_layout({"main.py": OPTIMISER.replace("@@", HONEST[name])}) == "replicated"
