"""Shards add up to the run that they divide, in every format, and know of one another's files what that run knows."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.lint import work_units
from jaxmigrate.lint.cache import Examined
from jaxmigrate.lint.examine import examine
from jaxmigrate.lint.shards import Shard, owned, parse_shard

LAYER = "import jax\n\n\ndef mean(x):\n    return jax.lax.pmean(x, '{axis}')\n"
STEP = "import jax\nfrom {package} import layer{n}\n\np = jax.pmap(lambda x: layer{n}.mean(x), axis_name='batch')\n"
LAZY = "import jax\nif True: from {package} import layer{n}; p = jax.pmap(layer{n}.mean, axis_name='batch')\n"
WRONG = "import jax\np = jax.pmap(lambda x: jax.lax.psum(x, 'j'), axis_name='i')\n"
NOTEBOOK = {
    "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": [WRONG]}],
    "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 4,
}
FORMATS = (
    *(["--format", name] for name in ("text", "json", "github", "gitlab", "sarif", "junit")),
    ["--statistics"],
    ["--format", "json", "--statistics"],
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Steps at the end of the names whose findings lie in layers at their beginning, and all that can go wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work_units, "MOST_FILES", 4)
    for n in range(6):
        write(tmp_path / f"a{n}" / "__init__.py", "")
        write(tmp_path / f"a{n}" / f"layer{n}.py", LAYER.format(axis="batch" if n == 3 else f"bacth{n}"))
        write(tmp_path / f"z{n}" / "step.py", (STEP if n % 2 else LAZY).format(package=f"a{n}", n=n))
    write(tmp_path / "m" / "wrong one.py", WRONG)
    write(tmp_path / "m" / "silent.py", WRONG.replace("'i')", "'i')  # jaxmigrate: ignore[JM101]"))
    write(tmp_path / "m" / "useless.py", "import jax\nx = 1  # jaxmigrate: ignore[JM101]\n")
    write(tmp_path / "m" / "broken.py", "import jax\njax.pmap(\n")
    write(tmp_path / "m" / "latin.py", "# é\n".encode("latin-1"))
    write(tmp_path / "m" / "notes.ipynb", json.dumps(NOTEBOOK))
    write(tmp_path / "m-n" / "wrong.py", WRONG)
    write(tmp_path / "inner" / "pyproject.toml", "[tool.jaxmigrate]\nignore = ['JM2']\n")
    write(tmp_path / "inner" / "wrong.py", WRONG)
    return tmp_path


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def lint(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["lint", *arguments])
    return status, *capsys.readouterr()


def shards(capsys: pytest.CaptureFixture[str], count: int, *arguments: str) -> list[tuple[int, str, str]]:
    return [lint(capsys, "--shard", f"{n}/{count}", *arguments) for n in range(1, count + 1)]


def merged(
    capsys: pytest.CaptureFixture[str], folder: Path, texts: list[str], options: Sequence[str] = ()
) -> tuple[int, str]:
    paths = [folder.parent / f"{folder.name}-part{n}" for n in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    random.Random(0).shuffle(paths)
    status = main(["merge", *options, *map(str, paths)])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("options", FORMATS, ids=" ".join)
@pytest.mark.parametrize(
    ("counts", "paths"),
    [((2, 5), ["."]), ((3,), ["missing", "z1", "inner", "a1", "m", "z1/step.py"])],
    ids=["all", "some"],
)
def test_shards_merge_to_what_one_run_prints(
    project: Path, options: list[str], counts: tuple[int, ...], paths: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, whole, _ = lint(capsys, *options, *paths)
    assert status == 2
    assert "JM101" in whole
    options = options if "--format" in options else ["--format", "text", *options]
    for count in counts:
        found = shards(capsys, count, "--format", "json", *paths)
        assert max(one for one, _, _ in found) == status
        assert merged(capsys, project, [text for _, text, _ in found], options) == (status, whole)


def test_what_goes_to_the_user_beside_the_format_adds_up(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = [line for line in lint(capsys, ".", "gone")[2].splitlines() if "checked" not in line]
    parts = [line for _, _, said in shards(capsys, 5, ".", "gone") for line in said.splitlines()]
    assert sorted(line for line in parts if "checked" not in line) == sorted(told)
    assert sum("gone" in line for line in parts) == 1


def test_the_status_of_a_merge_is_that_of_the_whole(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for paths, status in ((["z0", "a0"], 1), (["z3", "a3"], 0), (["m"], 2)):
        assert lint(capsys, *paths)[0] == status
        found = shards(capsys, 2, "--format", "json", *paths)
        for form in ("json", "junit", "text"):
            assert merged(capsys, project, [text for _, text, _ in found], ["--format", form])[0] == status


def test_a_shard_finds_in_its_files_what_others_lead_to(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = lint(capsys, "--shard", "1/2", ".")[1]
    named = [line.split(":")[0] for line in first.splitlines()]
    assert named == [*(f"a{n}/layer{n}.py" for n in (0, 1, 2, 4, 5)), "inner/wrong.py"]


def test_a_shard_leaves_alone_what_leads_nowhere_near(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []

    def noted(piece: work_units.Piece, *rest: Any) -> Examined:
        seen.extend(name for name, _ in piece.files)
        return examine(piece, *rest)

    monkeypatch.setattr("jaxmigrate.lint.pool.examine", noted)
    lint(capsys, "--no-cache", "--shard", "3/3", ".")
    assert "z5/step.py" in seen
    assert not any(name.startswith("a1") for name in seen)
    assert len(seen) < 20


def test_shards_share_a_cache_with_the_whole(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fresh = [lint(capsys, "--no-cache", "--shard", f"{n}/3", ".") for n in (1, 2, 3)]
    lint(capsys, ".")
    assert shards(capsys, 3, ".") == fresh


def test_baselines_add_up(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, parts = Path("whole.baseline"), [Path(f"part{n}.baseline") for n in (1, 2, 3)]
    lint(capsys, "--baseline", str(whole), "--write-baseline", ".")
    for n, part in enumerate(parts, 1):
        lint(capsys, "--shard", f"{n}/3", "--baseline", str(part), "--write-baseline", ".")
    assert main(["merge", *map(str, parts)]) == 0
    assert capsys.readouterr().out == whole.read_text()


def test_a_shard_counts_its_own_entries_of_a_baseline(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lint(capsys, "--baseline", "b", "--write-baseline", ".")
    (project / "m" / "wrong one.py").unlink()
    (project / "m-n" / "wrong.py").write_text("x = 1\n")
    (project / "z0" / "new.py").write_text(WRONG)
    assert ", 2 of its entries no longer found" in lint(capsys, "--baseline", "b", ".")[2]
    found = shards(capsys, 4, "--baseline", "b", "--format", "json", ".")
    gone = [int(said.split(" of its entries")[0].rsplit(", ", 1)[1]) for _, _, said in found if " of its" in said]
    assert sum(gone) == 2
    assert [f["path"] for _, text, _ in found for f in json.loads(text)["findings"]] == ["z0/new.py"]


def test_documentation_is_divided_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(f"```python\n{WRONG}```\n")
    whole = lint(capsys, "--docs", "--format", "json", ".")[1]
    assert len(json.loads(whole)["findings"]) == 3
    found = shards(capsys, 3, "--docs", "--format", "json", ".")
    assert [len(json.loads(text)["findings"]) for _, text, _ in found] == [1, 1, 1]
    assert merged(capsys, tmp_path, [text for _, text, _ in found]) == (1, whole)


def test_every_file_is_in_one_shard_and_none_is_much_larger() -> None:
    names = [f"{n:04}.py" for n in range(103)]
    for count in (1, 2, 5, 103, 200):
        parts = [owned(reversed(names), Shard(n, count)) for n in range(1, count + 1)]
        assert sorted(name for part in parts for name in part) == names
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        assert all(max(a) < min(b) for a, b in itertools.pairwise(parts) if a and b)


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "-1/2", "1/2/3", "a/b", "1/", "٣/٤", "1 /2"])
def test_no_shard(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="is not a shard I/N, such as 2/4"):
        parse_shard(text)
    assert main(["lint", f"--shard={text}", "."]) == 2
    assert "is not a shard I/N, such as 2/4" in capsys.readouterr().err


def test_standard_input_has_no_shards(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--shard", "1/2", "-"]) == 2
    assert "--shard goes with files and folders" in capsys.readouterr().err


def test_a_merge_misses_a_shard(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [text for _, text, _ in shards(capsys, 3, "--format", "json", "m-n", "inner")]
    other = lint(capsys, "--format", "json", "m-n")[1]
    for given, said in (
        (texts[:2], "shard 3/3 is missing"),
        ([*texts, texts[0]], "shard 1/3 is given more than once"),
        ([*texts, other], "is not the output of `lint --shard`"),
        ([*texts, lint(capsys, "--format", "json", "--shard", "1/2", "m-n")[1]], "these are shards of different runs"),
    ):
        for n, text in enumerate(given):
            Path(f"given{n}").write_text(text)
        assert main(["merge", *(f"given{n}" for n in range(len(given)))]) == 2
        assert said in capsys.readouterr().err


BASELINE = '{"version": 1, "findings": []}'
TOLD = '{"version": 1, "files": 0, "findings": [], "errors": [], "warnings": []}'


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("{}", TOLD, "first: is not what `jaxmigrate lint --format json` prints"),
        ("[]", TOLD, "first: is not what `jaxmigrate lint --format json` prints"),
        ("a.py:1:1 JM101 x\n", TOLD, "first: is not JSON: "),
        ("", TOLD, "; shards need `lint --shard I/N --format json`"),
        (TOLD, BASELINE, "second: is a baseline, unlike others that were given"),
        (TOLD, TOLD, "first: is not the output of `lint --shard`"),
    ],
)
def test_what_cannot_be_merged(
    first: str,
    second: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first").write_text(first)
    Path("second").write_text(second)
    assert main(["merge", "first", "second"]) == 2
    assert said in capsys.readouterr().err
    assert main(["merge", "absent"]) == 2
    assert "absent: no such file" in capsys.readouterr().err


def test_a_baseline_has_no_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("known").write_text(BASELINE)
    assert main(["merge", "--format", "text", "known"]) == 2
    assert "baselines are printed as a baseline" in capsys.readouterr().err
    assert main(["merge", "--format", "sarif", "--statistics", "known"]) == 2
    assert "--statistics goes with the formats text and json" in capsys.readouterr().err


def test_junit_of_a_shard_is_valid_and_names_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = ET.fromstring(lint(capsys, "--format", "junit", "--shard", "2/3", ".")[1])[0]
    assert suite[0].tag == "properties"
    assert suite[0][0].attrib == {"name": "shard", "value": "2/3"}
    assert len(suite) - 1 == int(suite.get("tests", ""))


def test_merge_needs_neither_jax_nor_rules() -> None:
    code = "import sys, jaxmigrate.commands.merge; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "libcst", "jaxmigrate.rules"} & set(loaded)
