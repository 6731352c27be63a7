"""How long lines may be: what configurations say, the nearest first, else what the lines show."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.style import style_of
from jaxmigrate.migrate.widths import configured_width, shown_width
from jaxmigrate.program.modules import parse_module


@pytest.mark.parametrize(
    ("name", "text", "width"),
    [
        ("pyproject.toml", "[tool.black]\nline-length = 90\n", 90),
        ("pyproject.toml", "[tool.black]\n", 88),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", 100),
        ("pyproject.toml", "[tool.yapf]\ncolumn_limit = 81\n", 81),
        ("pyproject.toml", "[tool.yapf]\nbased_on_style = 'google'\n", 80),
        ("pyproject.toml", "[project]\nname = 'x'\n", None),
        ("pyproject.toml", "[tool.black\n", None),
        ("ruff.toml", "line-length = 99\n", 99),
        ("setup.cfg", "[flake8]\nmax-line-length = 101\n", 101),
        ("setup.cfg", "[yapf]\ncolumn_limit = 82\n", 82),
        ("tox.ini", "[pycodestyle]\nmax-line-length = 102\n", 102),
        (".flake8", "[flake8]\nmax-line-length = 103  \n", 103),
        (".flake8", "no section\n", None),
        (".pylintrc", "[FORMAT]\nmax-line-length=80\n", 80),
        (".style.yapf", "[style]\nbased_on_style = pep8\n", 79),
        (".editorconfig", "root = true\n[*]\nmax_line_length = 70\n[*.{py,pyi}]\nmax_line_length = 71\n", 71),
        (".editorconfig", "[*.md]\nmax_line_length = 70\n", None),
        (".editorconfig", "[*]\nmax_line_length = off\n", None),
    ],
)
def test_configurations(tmp_path: Path, name: str, text: str, width: int | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    (tmp_path / "pkg").mkdir()
    assert configured_width(tmp_path / "pkg") == width


def test_the_nearest_configuration_counts(tmp_path: Path) -> None:
    (tmp_path / ".flake8").write_text("[flake8]\nmax-line-length = 103\n")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "ruff.toml").write_text("line-length = 99\n")
    path = tmp_path / "pkg" / "a.py"
    assert style_of(parse_module(path, "x = 1\n")).width == 99
    assert configured_width(tmp_path) == 103


@pytest.mark.parametrize(
    ("lengths", "width"),
    [
        ([79] * 200, 79),
        ([79] * 200 + [80], 79),
        ([88] * 10, 88),
        ([79] * 200 + [100] * 4, 100),
        ([130] * 20, 88),
        ([], 79),
    ],
)
def test_lines_show_a_width(lengths: list[int], width: int) -> None:
    assert shown_width(["x" * length for length in lengths]) == width
    assert shown_width([*("x" * length for length in lengths), "# " + "c" * 200]) == width
