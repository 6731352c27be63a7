"""The table of what functions of libraries do: its form, and that it is where their names stand."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from jaxmigrate.program import library
from jaxmigrate.program.words import MAPS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "jaxmigrate/program/library.csv").read_text()
HEAD, _, ROWS = TEXT.partition("\nname,kind,effect,value,layout\n")
COLUMNS = ("kind", "effect", "value", "layout")
SOURCES = [
    path
    for room in ("jaxmigrate/flow", "jaxmigrate/program", "rules")
    for path in sorted((ROOT / room).rglob("*.py"))
    if path.name not in ("bad.py", "good.py")
]


def words() -> dict[str, set[str]]:
    """The columns in which each word stands."""
    found: dict[str, set[str]] = {}
    for row in ROWS.splitlines():
        for column, cell in zip(COLUMNS, row.split(",")[1:], strict=True):
            for word in cell.split():
                found.setdefault(word.partition("=")[0], set()).add(column)
    return found


def test_each_name_has_one_row_in_order() -> None:
    names = [row.partition(",")[0] for row in ROWS.splitlines()]
    assert names == sorted(set(names), key=lambda name: (name.split(".")[0] != "jax", name))


def test_each_word_is_of_one_column_explained_there_and_asked_for() -> None:
    found = words()
    assert {word: columns for word, columns in found.items() if len(columns) > 1} == {}
    sections = re.split(r"^# (\w+): ", HEAD, flags=re.MULTILINE)[1:]
    explained = {
        name: set(re.findall(r"[\w-]+", text)) for name, text in zip(sections[::2], sections[1::2], strict=True)
    }
    assert {word for word, (column,) in found.items() if word not in explained[column]} == set()
    code = "\n".join(path.read_text() for path in [*SOURCES, *(ROOT / "jaxmigrate/migrate").rglob("*.py")])
    assert {word for word in found if f'"{word}"' not in code} == set()


def test_the_words_of_maps() -> None:
    """These are written out, so that a text without one of them is passed over before the table is read."""
    assert library.last_names("pmap", "like-pmap", "shard-map", "one-axis", "other-map") == set(MAPS)


def test_what_is_asked() -> None:
    assert library.the("unreplicates") == "flax.jax_utils.unreplicate"
    assert library.named("gradient") >= {"jax.grad", "jax.value_and_grad"}
    assert "jax.lax.psum" in library.named("no-wait", "reduction")
    assert "optax." in library.starting("pure")
    assert library.valued("axis")["jax.lax.axis_index"] == "0"
    with pytest.raises(KeyError):
        library.named("replicate")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lists_of_names_stand_in_the_table_alone(path: Path) -> None:
    """A name or two in the code of what is done with them is no list."""
    rows = {row.partition(",")[0] for row in ROWS.splitlines()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict):
            held = node.keys if isinstance(node, ast.Dict) else node.elts
            names = [n.value for n in held if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            assert sum(name in rows for name in names) < 3, f"line {node.lineno}"
