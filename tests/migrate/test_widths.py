"""How long lines may be: what configurations say, the nearest first, else what the lines show."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.import_style import configured
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
        ([79] * 200 + [100] * 4, 79),
        ([79] * 200 + [100] * 5, 100),
        ([130] * 20, 120),
        ([], 79),
    ],
)
def test_lines_show_a_width(lengths: list[int], width: int) -> None:
    assert shown_width(["x" * length for length in lengths]) == width
    assert shown_width([*("x" * length for length in lengths), "# " + "c" * 200]) == width


@pytest.mark.parametrize(
    ("name", "text", "combines"),
    [
        ("pyproject.toml", "[tool.isort]\nprofile = 'black'\n", False),
        ("pyproject.toml", "[tool.isort]\ncombine_as_imports = true\n", True),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['E', 'I']\n", False),
        (
            "pyproject.toml",
            "[tool.ruff.lint]\nselect = ['I']\n[tool.ruff.lint.isort]\ncombine-as-imports = true\n",
            True,
        ),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['E']\n", None),
        ("ruff.toml", "[lint]\nextend-select = ['I001']\n", False),
        ("setup.cfg", "[isort]\ncombine_as_imports = True\n", True),
        (".isort.cfg", "[settings]\nline_length = 80\n", False),
    ],
)
def test_names_with_an_as(tmp_path: Path, name: str, text: str, combines: bool | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    assert configured(tmp_path) is combines


@pytest.mark.parametrize(
    ("text", "combines"),
    [
        ("from a import b, c as d\n", True),
        ("from a import b\nfrom a import c as d\n", False),
        ("from a import b as c\n", True),
        ("import a as b\n", True),
    ],
)
def test_imports_show_it(text: str, combines: bool) -> None:
    assert style_of(parse_module(Path("/nowhere/a.py"), text)).combine_as is combines
