"""Many files in several processes give what one file after the other gives."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxmigrate import rules
from jaxmigrate.cli import main
from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.lint import examine, linting, pool
from jaxmigrate.lint.examine import concerns
from jaxmigrate.lint.work_units import MOST_FILES, pieces

WRONG = "import jax\np = jax.pmap(lambda x: jax.lax.psum(x, 'j{n}'), axis_name='i')\n"


def test_files_are_divided_by_folder() -> None:
    root = Path("/project")
    files = [
        (f"{folder}/{n}.py", root / folder / f"{n}.py")
        for folder in ("a", "b/c", "b/d", "e")
        for n in range(MOST_FILES // 2)
    ]
    random.Random(0).shuffle(files)
    divided = pieces(files, root)
    assert sorted(file for piece in divided for file in piece.files) == sorted(files)
    assert [{path.parent for _, path in piece.files} for piece in divided] == [
        {root / "a"},
        {root / "b/c", root / "b/d"},
        {root / "e"},
    ]


def test_a_folder_with_too_many_files_stays_together() -> None:
    files = [(f"{n}.py", Path(f"/project/{n}.py")) for n in range(2 * MOST_FILES)]
    assert sum(len(piece.files) for piece in pieces(files, Path("/project"))) == 2 * MOST_FILES


def test_processes_agree_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for n in range(600):
        path = tmp_path / f"folder{n % 7}" / f"m{n}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(WRONG.format(n=n) if n % 50 == 0 else "x = 1\n")
    (tmp_path / "folder1" / "broken.py").write_text("import jax\njax.pmap(\n")
    monkeypatch.setattr(pool, "workers", lambda files: 1)
    assert main(["lint", "--no-cache", "."]) == 2
    alone = capsys.readouterr()
    monkeypatch.setattr(pool, "workers", lambda files: 2)
    assert main(["lint", "--no-cache", "."]) == 2
    assert capsys.readouterr() == alone
    assert alone.out.count("JM101") == 12


def many(root: Path) -> None:
    for n in range(600):
        path = root / f"folder{n % 7}" / f"m{n}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("x = 1\n")


def test_what_goes_wrong_in_a_process_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh no")

    many(tmp_path)
    monkeypatch.setattr(pool, "workers", lambda files: 2)
    monkeypatch.setattr(pool, "examine", broken)
    assert main(["lint", "--no-cache", str(tmp_path)]) == 2
    assert "internal error: ZeroDivisionError: oh no, while checking " in capsys.readouterr().err


@pytest.mark.parametrize("cached", [False, True])
def test_a_file_at_which_a_rule_fails_keeps_no_other_from_being_told(
    cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is the failure remembered."""
    wrong = "import jax\n\nf = jax.pmap(lambda x: jax.lax.psum(x, 'j'), axis_name='i')\n"
    for name in ("a.py", "bad.py", "c.py"):
        (tmp_path / name).write_text(wrong)
    real = rules.checks()

    def broken(facts: Facts) -> Iterator[Finding]:
        if any(module.path.name == "bad.py" for module in facts.modules):
            raise ZeroDivisionError("oh no")
        yield from ()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(linting, "checks", lambda: {**real, "jm999_broken": broken})
    options = [] if cached else ["--no-cache"]
    assert main(["lint", *options, "."]) == 2
    told = capsys.readouterr()
    assert [line.partition(":")[0] for line in told.out.splitlines() if "JM101" in line] == ["a.py", "c.py"]
    assert "bad.py: jaxmigrate failed at this file (ZeroDivisionError: oh no)" in told.err
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert main(["lint", *options, "."]) == 1
    assert capsys.readouterr().out.count("JM101") == 3


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked there alone")
def test_a_process_that_dies_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    many(tmp_path)
    monkeypatch.setattr(pool, "workers", lambda files: 2)
    monkeypatch.setattr(pool, "examine", lambda *_: os._exit(9))
    assert main(["lint", "--no-cache", str(tmp_path)]) == 2
    assert "a lint process died before it was done" in capsys.readouterr().err


def test_few_files_start_no_process() -> None:
    assert examine.workers(1) == 1
    assert examine.workers(10_000) >= 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import jax\njax.pmap(f)", True),
        ("import haiku as hk\nhk.BatchNorm(cross_replica_axis='i')", True),
        ("import jax\njax.jit(f)", False),
        ("accelerator.process_index == 0", False),
    ],
)
def test_what_is_worth_a_look(text: str, expected: bool) -> None:
    assert concerns(text) is expected


def test_a_file_without_a_map_counts_if_it_imports_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("from .parallel import spread\n")
    (tmp_path / "tools" / "parallel.py").write_text(
        "import jax\ndef spread(f, axis): return jax.pmap(f, axis_name=axis)\n"
    )
    (tmp_path / "a.py").write_text(
        "import jax\nfrom tools import spread\np = spread(lambda x: jax.lax.psum(x, 'j'), 'i')\n"
    )
    (tmp_path / "b.py").write_text("import jax\nimport json\ndef f(x): return jax.lax.psum(x, 'j')\n")
    assert main(["lint", "--no-cache", "."]) == 1
    assert capsys.readouterr().out.startswith("a.py:3:22 JM101")
