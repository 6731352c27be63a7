"""Programs in today's style, right and wrong, and the rules about values that tell of each.

`spmd_programs.txt` has them one after the other: `=== name | codes`, and the program.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

IMPORTS = """import functools
from functools import partial
from typing import Any, NamedTuple
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""
CODES = ("JM1", "JM2", "JM3", "JM502")
BLOCKS = re.split("^=== ", Path(__file__).with_name("spmd_programs.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]
PROGRAMS = [(head.split("|"), body) for head, _, body in (block.partition("\n") for block in BLOCKS)]


@pytest.mark.parametrize(("head", "body"), PROGRAMS, ids=[head[0].strip() for head, _ in PROGRAMS])
def test_programs_in_todays_style(head: list[str], body: str) -> None:
    found = lint([decode((IMPORTS + body).encode(), "a.py", Path("/project/a.py"))], Config())
    assert {finding.code for finding in found if finding.code.startswith(CODES)} == set(head[1].split())


def test_a_message_names_the_axes_that_are_missing() -> None:
    bodies = {head[0].strip(): body for head, body in PROGRAMS}

    def messages(name: str) -> list[str]:
        found = lint([decode((IMPORTS + bodies[name]).encode(), "a.py", Path("/project/a.py"))], Config())
        return [finding.message for finding in found if finding.code == "JM201"]

    assert all("'data'" in one and "'model'" not in one for one in messages("x_none_reduced"))
    assert all("'model'" in one and "'data'" not in one for one in messages("x_contract"))
    assert any("'data', 'model'" in one for one in messages("x_both_missing"))
