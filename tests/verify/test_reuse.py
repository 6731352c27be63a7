"""What several rewrites of one program have in common is run once; what may differ is run again."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jaxmigrate.verify.model import VerifyRequest
from jaxmigrate.verify.run import verify
from jaxmigrate.verify.session import Originals
from tests.verify.marked import PROGRAMS, marked, sites_of

PROGRAM = """
import os
import jax, jax.numpy as jnp
with open(os.environ["COUNT"], "a") as file:
    print(os.environ["COUNT"], file=file)
p_step = jax.pmap(lambda x: x * 2)
print(p_step(jnp.arange(8.0)).sum())
"""
IDLE = "VALUE = 1\n"


@pytest.fixture
def asked(tmp_path: Path) -> VerifyRequest:
    root = tmp_path / "project"
    root.mkdir()
    texts = {"program.py": PROGRAM, "idle.py": IDLE, "stacked.py": (PROGRAMS / "stacked.py").read_text()}
    for name, text in texts.items():
        (root / name).write_text(text)
    return VerifyRequest(
        root=root,
        command=(sys.executable, "program.py"),
        original={"program.py": marked(PROGRAM, "jax.pmap").encode(), "idle.py": IDLE.encode()},
        migrated={
            "program.py": marked(PROGRAM, "__import__('stacked').stacked_map").encode(),
            "idle.py": b"VALUE = 2\n",
            "added.py": b"VALUE = 3\n",
        },
        sites=sites_of(PROGRAM),
        environment={"COUNT": str(tmp_path / "count")},
    )


def runs(asked: VerifyRequest) -> int:
    return len(Path(asked.environment["COUNT"]).read_text().splitlines())


def test_a_rewrite_that_only_goes_back_on_what_was_not_loaded_is_not_run_again(asked: VerifyRequest) -> None:
    program = {"program.py": asked.migrated["program.py"]}
    wrong = {"program.py": program["program.py"].replace(b"x * 2", b"x * 3")}
    with Originals() as originals:
        heard: list[str] = []
        assert verify(asked, lambda one: heard.append(one.phase), originals).ok
        assert runs(asked) == 2
        again = verify(
            replace(asked, migrated={**program, "idle.py": IDLE.encode()}),
            lambda one: heard.append(one.phase),
            originals,
        )
        assert again.ok
        assert (runs(asked), again.coverage.equal, "reusing" in heard) == (2, 1, True)
        assert verify(replace(asked, migrated={**program, "idle.py": b"VALUE = 4\n"}), originals=originals).ok
        assert runs(asked) == 3
        assert not verify(replace(asked, migrated={**wrong, "idle.py": IDLE.encode()}), originals=originals).ok
        assert runs(asked) > 3


def test_the_original_is_not_run_again_where_fewer_files_map_without_marks(asked: VerifyRequest) -> None:
    with Originals() as originals:
        assert verify(replace(asked, others=("idle.py", "program.py")), originals=originals).ok
        assert verify(replace(asked, others=("program.py",)), originals=originals).ok
        assert runs(asked) == 3
