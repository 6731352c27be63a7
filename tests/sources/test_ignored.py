"""`.gitignore` files are read as git reads them, wherever git itself can be asked."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from jaxmigrate.sources import discover
from jaxmigrate.sources.ignored import rules_in

FILES = (
    "a.py", "b_pb2.py", "keep_pb2.py", "gen/x.py", "gen/y/z.py", "src/gen/w.py", "src/out/v.py", "src/local.py",
    "src/deep/local.py", "data/one.py", "data/two/three.py", "third/a.py", "docs/conf.py", "docs/a/b/conf.py",
)  # fmt: skip


def tree(root: Path, ignores: dict[str, str]) -> None:
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    for folder, text in ignores.items():
        (root / folder / ".gitignore").write_text(text)


CASES = [
    {"": "gen/\n"},
    {"": "/gen\n"},
    {"": "*_pb2.py\n!keep_pb2.py\n"},
    {"": "# a comment\n\nlocal.py\n"},
    {"": "src/*/local.py\n"},
    {"": "docs/**/conf.py\n"},
    {"": "data/*\n!data/two\n"},
    {"": "local.py\nthird/\n", "src": "!local.py\n"},
    {"src": "out\n/local.py\n"},
    {"": "third/\n", "docs": "a/b/\n"},
    {"": "*.py\n!a.py\n"},
    {"": "gen\n!gen/x.py\n"},
]


@pytest.mark.parametrize("ignores", CASES)
def test_as_git_does(ignores: dict[str, str], tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    tree(tmp_path, ignores)
    subprocess.run([git, "init", "-q", "."], cwd=tmp_path, check=True)
    told = subprocess.run(
        [git, "ls-files", "--others", "--exclude-standard"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    expected = sorted(name for name in told.stdout.split() if name.endswith(".py"))
    assert expected != sorted(FILES)
    assert sorted(f.path.relative_to(tmp_path).as_posix() for f in discover([str(tmp_path)]).files) == expected


NAMES = ("a", "b", "ab", "a.py", ".x", "a b", "build", "!c", "#d", "[z]")
PARTS = (
    "a", "b", "ab", "*", "**", "***", "?", "a.py", "*.py", "[ab]", "[!a]", "[^a]", "[a-c]*", "build", ".x", r"\!c",
    r"\#d", r"a\*", r"\a", "a b", "[z]", r"\[z\]", "[]a]", "[[:alpha:]]", "[a", "**b",
)  # fmt: skip


def pattern(choose: random.Random) -> str:
    parts = "/".join(choose.choice(PARTS) for _ in range(choose.choice((1, 1, 2, 2, 3))))
    ends = [
        choose.choice(one) for one in (("", "", "", "!"), ("", "", "/"), ("", "", "/"), ("",) * 9 + (" ", r"\ ", "\t"))
    ]
    return f"{ends[0]}{ends[1]}{parts}{ends[2]}{ends[3]}"


@pytest.mark.parametrize("seed", range(4))
def test_patterns_as_git_takes_them(seed: int, tmp_path: Path) -> None:
    """Sixty files of patterns that few write, asked of one tree of names that are patterns themselves."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    choose = random.Random(seed)
    every = {"/".join(choose.choice(NAMES) for _ in range(choose.choice((1, 2, 3)))) for _ in range(60)}
    paths = sorted(path for path in every if not any(other.startswith(f"{path}/") for other in every))
    subprocess.run([git, "init", "-q", "."], cwd=tmp_path, check=True)
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for _ in range(60):
        text = "\n".join(pattern(choose) for _ in range(choose.choice((1, 1, 2, 3))))
        (tmp_path / ".gitignore").write_text(f"{text}\n")
        asked = [git, "check-ignore", "--stdin", "-z", "--no-index"]
        told = subprocess.run(asked, cwd=tmp_path, input="\0".join(paths), capture_output=True, text=True, check=False)
        expected = [path for path in told.stdout.split("\0") if path]
        assert [path for path in paths if is_left_out(tmp_path, path)] == expected, text


def is_left_out(root: Path, path: str) -> bool:
    """Whether a file is, or one of the folders that it lies in."""
    rules = rules_in(root, None)
    names = path.split("/")
    return rules is not None and any(
        rules.covers(f"{root}/{'/'.join(names[:depth])}", depth < len(names)) for depth in range(1, len(names) + 1)
    )


def test_rules_of_the_repository_hold_for_a_folder_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, {"": "local.py\nsrc/out/\n"})
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert [file.name for file in discover(["src"]).files] == ["src/gen/w.py"]
    assert [file.name for file in discover(["src/local.py"]).files] == ["src/local.py"]  # named itself


def test_what_lies_above_a_folder_without_a_repository_says_nothing(tmp_path: Path) -> None:
    tree(tmp_path, {"": "*.py\n"})
    assert len(discover([str(tmp_path / "docs")]).files) == 2


def test_a_pattern_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    tree(tmp_path, {"": "[z-a]\ngen/\n"})
    assert len(discover([str(tmp_path)]).files) < len(FILES)
