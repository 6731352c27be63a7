"""Which of several bindings of a name a read in the same scope sees."""

from __future__ import annotations

import ast
import json
import textwrap
from pathlib import Path

import pytest

from jaxmigrate.program.modules import Module, Project, parse_module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Constant
from jaxmigrate.sources import read_source


def seen(text: str) -> list[str]:
    """The constants that `f` can be where a module says `use(f)`, in order; "?" for what is not known."""
    module = parse_module(Path("/project/a.py"), textwrap.dedent(text))
    return _constants(module)


def _constants(module: Module) -> list[str]:
    resolver = Resolver(Project([module]))
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "use":
            values = resolver.values(node.args[0], module)
            found |= {str(v.value) if isinstance(v, Constant) else "?" for v in values}
    return sorted(found)


BODIES = [
    ("f = 1\nuse(f)\nf = 2", "1"),
    ("f = 1\nf = 2\nuse(f)\nf = 3", "2"),
    ("f = 1\nif c:\n    f = 2\nuse(f)\nf = 3", "12"),
    ("f = 1\nif c:\n    f = 2\n    use(f)", "2"),
    ("f = 1\nif c:\n    f = 2\nelse:\n    use(f)", "1"),
    ("f = 1\nif c:\n    f = 2\n    f = use(f)", "2"),
    ("f = 1\nf = use(f)", "1"),
    ("f = 1\nf, g = use(f), 2", "1"),
    ("f = 1\nfor k in c:\n    use(f)\n    f = 2", "12"),
    ("f = 1\nfor k in c:\n    f = 2\n    use(f)\n    f = 3", "2"),
    ("f = 1\nwhile c:\n    if k:\n        f = 2\n    use(f)\n    f = 3\nf = 4", "123"),
    ("f = 1\nfor k in c:\n    f = 2\nuse(f)\nf = 3", "12"),
    ("f = 1\nwhile use(f):\n    f = 2\nf = 3", "12"),
    ("f = 1\ntry:\n    f = 2\n    go()\n    f = 3\nexcept Exception:\n    use(f)", "123"),
    ("f = 1\ntry:\n    f = 2\n    go()\nfinally:\n    use(f)", "12"),
    ("f = 1\nwith c:\n    f = 2\nuse(f)", "12"),
    ("f = 1\nmatch c:\n    case 1:\n        f = 2\n    case 2:\n        use(f)", "1"),
    ("f = 1\ny = c and (f := 2)\nuse(f)", "12"),
    ("f = 1\ny = (f := 2) + use(f)", "12"),
    ("f: int = 1\nf: int = 2\nuse(f)", "2"),
    ("f = 1\ndef g():\n    use(f)\nif c:\n    f = 2", "12"),
    ("f = 1\nf = 2\ng = lambda: use(f)\ng()\nf = 3", "23"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_in_a_function(body: str, expected: str) -> None:
    assert "".join(seen("def main(c, k):\n" + textwrap.indent(body, "    "))) == expected


@pytest.mark.parametrize(("body", "expected"), BODIES[:-2])
def test_in_a_module(body: str, expected: str) -> None:
    assert "".join(seen(body)) == expected


@pytest.mark.parametrize(("body", "expected"), BODIES[:7])
def test_in_a_class(body: str, expected: str) -> None:
    assert "".join(seen("class C:\n" + textwrap.indent(body, "    "))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "def main():\n    f = 1\n    def g():\n        nonlocal f\n        f = 2\n    f = 3\n    g()\n    use(f)",
            "23",
        ),
        ("f = 1\ndef g():\n    global f\n    f = 2\nf = 3\ng()\nuse(f)", "23"),
        ("def main(f):\n    use(f)\n    f = 1", "?"),
        ("def main(f):\n    f = 1\n    use(f)", "1"),
        ("def main(f):\n    if f:\n        f = 1\n    use(f)", "1?"),
        ("def main(c):\n    for f in c:\n        f = 1\n        use(f)", "1"),
        ("def main(c):\n    f = 1\n    f += c\n    use(f)", "1?"),
        ("def main(c):\n    f = 1\n    for f in c:\n        use(f)", "1?"),
        ("import f\nf = 1\nuse(f)", "1?"),
    ],
)
def test_what_order_does_not_tell(text: str, expected: str) -> None:
    assert "".join(seen(text)) == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["f = 1", "f = 2\nuse(f)", "f = 3"], "2"),
        (["f = 1", "use(f)", "f = 3"], "13"),  # which cell ran last, nobody knows
        (["f = 1", "use(f)\nf = 2"], "12"),
    ],
)
def test_in_the_cells_of_a_notebook(tmp_path: Path, cells: list[str], expected: str) -> None:
    written: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell} for cell in cells
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert "".join(_constants(parse_module(path, read_source(path).text))) == expected
