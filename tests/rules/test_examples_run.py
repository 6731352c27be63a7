"""What a rule's page says of JAX is what JAX does: bad.py prints it when it runs, and good.py runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.flags import UNOPTIMISED
from tests.forks import Forks

RULES = Path(__file__).parents[2] / "rules"
RUNNING = sorted(p.parent.name for p in RULES.glob("*/bad.py") if "__main__" in p.read_text())
TOLD = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)

Output = Callable[[Path], tuple[int, str]]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def output() -> Iterator[Output]:
    """Exit status and all output of an example on 8 simulated devices."""
    flags = " ".join(("--xla_force_host_platform_device_count=8", *UNOPTIMISED))
    with Forks() as forks:

        def run(program: Path) -> tuple[int, str]:
            status, out, err = forks.run([program], {"XLA_FLAGS": flags})
            return status, out + err

        yield run


@pytest.mark.parametrize("rule", RUNNING)
def test_bad_prints_what_the_page_says(rule: str, output: Output) -> None:
    told = TOLD.findall((RULES / rule / "README.md").read_text())
    assert told, "the page has no block of what JAX gives"
    _, printed = output(RULES / rule / "bad.py")
    for line in "".join(told).splitlines():
        assert line in printed


@pytest.mark.long
@pytest.mark.parametrize("rule", RUNNING)
def test_good_runs(rule: str, output: Output) -> None:
    status, printed = output(RULES / rule / "good.py")
    assert status == 0, printed
