"""What a rule's page says of JAX is what JAX does: bad.py prints it when it runs, and good.py runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RULES = Path(__file__).parents[2] / "rules"
RUNNING = sorted(p.parent.name for p in RULES.glob("*/bad.py") if "__main__" in p.read_text())
TOLD = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.slow


def output(program: Path) -> tuple[int, str]:
    """Exit status and all output of an example on 8 simulated devices."""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "NPROC": "64"}
    environment |= {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("rule", RUNNING)
def test_bad_prints_what_the_page_says(rule: str) -> None:
    told = TOLD.findall((RULES / rule / "README.md").read_text())
    assert told, "the page has no block of what JAX gives"
    _, printed = output(RULES / rule / "bad.py")
    for line in "".join(told).splitlines():
        assert line in printed


@pytest.mark.parametrize("rule", RUNNING)
def test_good_runs(rule: str) -> None:
    status, printed = output(RULES / rule / "good.py")
    assert status == 0, printed
