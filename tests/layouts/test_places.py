"""Reasons that stand for a whole site, or for a mixture, name the value and the line, and what a user can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import ArrayLayout
from jaxmigrate.migrate.project import plan_sources

PROGRAM = """import jax
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

FEW = jax.devices()[4:]


def axes(of):
    return tuple(0 for _ in of)


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch"), x * 2


p_step = jax.pmap(step, axis_name="batch"OPTION)
w = jax_utils.replicate(np.ones(3, np.float32))
w, y = p_step(w, shard(np.ones((16, 3), np.float32)))
USE
"""
DEVICES = "if these are all devices, leave `devices=` out here and where its arrays are made"
PROCESSES = "if the program never runs as several processes, write `processes = 1` in pyproject.toml"
PART = "is taken apart on the host, where each of several processes would have only a part of a global array"


def stacked(option: str, use: str) -> list[ArrayLayout]:
    """The arrays that stay stacked."""
    text = PROGRAM.replace("OPTION", option).replace("USE", use)
    plan, errors = plan_sources([("main.py", Path("/nowhere/main.py"), text)], PlanOptions("auto"))
    assert not errors
    (site,) = plan.sites
    return [one for one in (*site.arguments, *site.outputs) if one.layout == "stacked"]


@pytest.mark.parametrize(
    ("option", "why", "advice"),
    [
        (
            ", devices=FEW[len(input()):]",
            "pmap is given `devices=` (line 17): `FEW[len(input()):]`",
            DEVICES,
        ),
        (
            ", in_axes=axes(FEW)",
            "its in_axes are only known at run time (line 17): `axes(FEW)`",
            "write `in_axes` as a literal, such as a number or a tuple of them",
        ),
        (
            ", static_broadcasted_argnums=axes(FEW)",
            "its static arguments are only known at run time (line 17): `axes(FEW)`",
            "write `static_broadcasted_argnums` as a literal, such as a number or a tuple of them",
        ),
        (
            ", axis_size=len(FEW)",
            "pmap is given `axis_size=` (line 17): `len(FEW)`",
            "leave `axis_size=` out, which the arrays say",
        ),
    ],
)
def test_what_speaks_against_a_whole_site(option: str, why: str, advice: str) -> None:
    found = stacked(option, "print(w[0])")
    assert [(one.reason, one.advice) for one in found[-1:]] == [(why, advice)]


def test_a_part_of_one_process() -> None:
    """What may run as several processes keeps what the host takes apart, unless it is said that it never does."""
    use = "if jax.process_index() == 0:\n    print(np.asarray(y.reshape(-1)))"
    told = [(one.reason, one.advice) for one in stacked("", use)]
    assert (f"{PART} (line 21)", PROCESSES) in told


def test_a_mixture_names_a_place() -> None:
    told = [one.reason for one in stacked("", "print(np.asarray(y.reshape(-1, 3)), y[0])")]
    assert "is used as stacked in one place and as replicated in another (line 20)" in told


@pytest.mark.parametrize("devices", ["jax.local_devices()", "jax.devices()"])
def test_devices_of_one_process(devices: str) -> None:
    """Several processes that map over devices of their own reduce over these alone, and keep their arrays there."""
    text = PROGRAM.replace("OPTION", f", devices={devices}").replace("USE", "print(w[0], jax.process_index())")
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), text)], PlanOptions("auto"))
    assert plan.sites[0].arguments[0].layout == "replicated"
    assert ("Mesh(jax.local_devices(), " in plan.files[0].after) is ("local" in devices)
