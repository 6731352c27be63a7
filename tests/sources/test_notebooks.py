"""Notebooks are read as one module, and its edits go back into the cells without another byte of the file changed."""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxmigrate.program.modules import parse_module
from jaxmigrate.sources import SourceError, SourceFile, decode
from jaxmigrate.sources.notebooks import Notebook, TornError, join
from jaxmigrate.sources.notebooks.magics import mask
from jaxmigrate.sources.notebooks.scanning import lines_of

NAME = Path("book.ipynb")


def document(*cells: object, language: str = "python", **more: Any) -> dict[str, Any]:
    """A notebook with cells given as their sources, or whole."""
    made = [cell if isinstance(cell, dict) else code(cell) for cell in cells]
    return {
        "cells": made,
        "metadata": {"language_info": {"name": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    } | more


def code(source: object, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source} | more


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": [source]}


def read(content: object, **style: Any) -> SourceFile:
    raw = content if isinstance(content, bytes) else json.dumps(content, **style).encode()
    return decode(raw, "book.ipynb", NAME)


def notebook_of(content: object, **style: Any) -> Notebook:
    notebook = read(content, **style).notebook
    assert isinstance(notebook, Notebook)
    return notebook


def sources(raw: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(raw)["cells"] if cell["cell_type"] == "code"]


class TestMagics:
    """What is masked is what is no Python, and nothing else."""

    @pytest.mark.parametrize(
        ("line", "masked"),
        [
            ("%matplotlib inline", "get_ipython()"),
            ("    %cd ..", "    get_ipython()"),
            ("!ls", "get_ipython()"),
            ("!!ls", "get_ipython()"),
            ("!pip install {name} $other $$HOME {a[0]}", "get_ipython(name, other, a[0])"),
            ("jnp.sum?", "get_ipython()"),
            ("?jnp.sum", "get_ipython()"),
            ("jnp.sum??  ", "get_ipython()"),
            ("pip install -U jax", "get_ipython()"),
            ("files = !ls *.py", "files = get_ipython()"),
            ("a, b = %env x", "a, b = get_ipython()"),
            ("best = %timeit -o f(x)", "best = get_ipython(f(x))"),
            ("%time y = f(x)", "y = f(x)"),
            ("%timeit -n10 -r 3 f(x)", "f(x)"),
            ("%prun -l 5 -s cumulative f(x)", "f(x)"),
            ("  %time y = f(x)  # how long?", "  y = f(x)  # how long?"),
            ("timeit -n 5 -r 5 f(x)", "f(x)"),
            ("%timeit", "get_ipython()"),
            ("%time for x in y: f(x)", "for x in y: f(x)"),
            ("%timeit f(", "get_ipython()"),
            ("/f x", "get_ipython()"),
            ("%R -i x", "get_ipython(globals())"),
            ("%run other.py {x}", "get_ipython('other.py', x, globals())"),
            ("%run -i lib/other.py", "get_ipython('lib/other.py', globals())"),
            ("%run {x}.py", "get_ipython(x, globals())"),
            ("x = %store -r y", "x = get_ipython(globals())"),
        ],
    )
    def test_masked(self, line: str, masked: str) -> None:
        assert mask(line).text.partition("  #jaxmigrate")[0].rstrip() == masked

    @pytest.mark.parametrize(
        "source",
        [
            "x = a % b\ny = a \\\n  % b\n",
            "x = (a\n%b)\n",
            "x = '''\n%time f()\n!ls\nwhat?\n'''\n",
            'x = "a\\\n!ls"\n',
            "x != y\nx %= 3\nx = {'a': 1}  # why?\n",
            "f(x=1, *a, **b)\nassert x == -1, 'really?'\n",
            "x = f'{a!r}' \"%s?\" % b\n",
            "ls = 1\nls -1\npip = cd = 2\nif ls in [1]: pass\n",
            "await f()\nasync for x in y:\n    pass\n",
            "get_ipython().run_line_magic('time', 'f()')\n",
            "def f(a: int = 3) -> str: ...\nx: int = 3\n",
            "x = r'\\'\ny = 1\n",
            "time -n\ntime (3)\ntime[0]\ntimeit = time\n",
        ],
    )
    def test_python_stays(self, source: str) -> None:
        found = mask(f"{source}pass\n")
        assert found.text == f"{source}pass\n"
        assert not found.entries

    @pytest.mark.parametrize(
        ("source", "masked"),
        [
            ("x", "display(x)  #jaxmigrate-mask 0"),
            ("y = 1\nx  # why\n\n# end\n", "y = 1\ndisplay(x)  # why  #jaxmigrate-mask 0\n\n# end\n"),
            ("f(\n  é, 'é',\n)", "display(f(\n  é, 'é',\n))  #jaxmigrate-mask 0"),
            ("'é', x", "display('é', x)  #jaxmigrate-mask 0"),
            ("await x", "display(await x)  #jaxmigrate-mask 0"),
        ],
    )
    def test_what_is_shown_is_given_to_display(self, source: str, masked: str) -> None:
        assert mask(source).text == masked
        joined = join([(1, source), (2, "z")])
        edited = joined.text.replace("display(z)", "a = 1\ndisplay(g(\nz))")
        assert joined.sources_of(edited) == [source, "a = 1\ng(\nz)"]

    @pytest.mark.parametrize("source", ["x;", "f(x) ; # not", "x = 1", "'text'", "if x:\n    y", "", "x; y = 1"])
    def test_what_is_not_shown(self, source: str) -> None:
        assert mask(source).text == source

    def test_lines_that_backslashes_join_are_masked_together(self) -> None:
        found = mask("!pip install \\\n  jax \\\n  flax\nx = 1\n")
        assert [line.split("  #")[0].split(" ")[0] for line in found.text.split("\n")] == [
            "get_ipython()",
            "#jaxmigrate-mask",
            "#jaxmigrate-mask",
            "x",
            "",
        ]

    @pytest.mark.parametrize(
        ("source", "opaque"),
        [
            ("%%time\nf(x)\n", False),
            ("\n\n%%capture out\nf(x)\n", False),
            ("%%time\n%%capture\nf(x)\n", False),
            ("%%bash\nls -l\n", True),
            ("%%time\n%%bash\nls -l\n", True),
            ("%%writefile a.py\nimport jax\n", True),
            ("%%html\n<b>?</b>", True),
        ],
    )
    def test_magics_of_whole_cells(self, source: str, opaque: bool) -> None:
        found = mask(source)
        assert found.opaque is opaque
        assert ("f(x)" in found.text) is not opaque
        assert found.body == sum(1 for line in source.split("\n") if not line or line.startswith("%%")) - (
            source.endswith("\n")
        )
        ast.parse(found.text)

    def test_a_cell_magic_that_is_not_at_the_top_is_a_line(self) -> None:
        assert mask("x = 1\n%%time\ny = 2\n").text.split("\n")[2] == "y = 2"

    @settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(
            st.sampled_from(
                [
                    *("x = 1", "%time f(x)", "!ls", "%%time", "%%bash", "'''", '"', "(", ")", "x = !ls \\", "  y"),
                    *("a?", "# %", "", "\\", "#", "%timeit -n 3 f(x)", "@", "\t!ls", "é = '%'", "?", "f(x)?  "),
                ]
            ),
            max_size=8,
        )
    )
    def test_any_text_keeps_its_lines_and_comes_back(self, lines: list[str]) -> None:
        source = "\n".join(lines)
        joined = join([(1, source), (5, "x = 1")])
        assert len(lines_of(mask(source).text)) == len(lines_of(source))
        assert joined.sources_of(joined.text) == [source, "x = 1"]
        # An edit of another cell leaves this one alone, whatever is in it.
        assert joined.sources_of(f"{joined.text[:-2]}2\n") == [source, "x = 2"]


class TestPlaces:
    def test_lines_and_columns_are_those_of_cells(self) -> None:
        book = read(document(text("# A title"), ["%time y = f(x)\n", "z = 1"], "%%time\nw = g(z)"), indent=1)
        notebook = book.notebook
        assert notebook is not None
        module = parse_module(NAME, book.text)
        calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        places = [notebook.located(call.lineno, call.col_offset + 1)[:3] for call in calls]
        assert places == [(2, 1, 11), (3, 2, 5)]
        assert [book.line(line, cell)[column - 1 :] for cell, line, column in places] == ["f(x)", "g(z)"]
        assert [(start.header, start.body) for start in module.cells] == [(1, 1), (4, 5)]

    def test_a_place_is_also_a_line_of_the_file(self) -> None:
        raw = json.dumps(document(["a = 1\n", "b = 2\n"], "c = 3\nd = 4"), indent=1)
        notebook = notebook_of(raw.encode())
        for line, words in ((2, '"a = 1'), (3, '"b = 2'), (6, '"c = 3'), (7, '"c = 3')):
            assert words in raw.split("\n")[notebook.located(line, 1).file_line - 1]


class TestWriting:
    """Bytes stay but where a cell changes."""

    STYLES = tuple(
        {"indent": indent, "ensure_ascii": ascii_only, "separators": separators}
        for indent, ascii_only, separators in itertools.product((None, 1, 2, "\t"), (True, False), (None, (",", ":")))
    )

    @pytest.mark.parametrize("style", STYLES, ids=str)
    @pytest.mark.parametrize("as_text", [True, False])
    @pytest.mark.parametrize("end", ["", "\n", "\r\n"])
    def test_only_the_changed_line_changes(self, style: dict[str, Any], as_text: bool, end: str) -> None:
        cells = ["x = 'é \u2028'\n%matplotlib inline\n# \U0001f600 \\ \"\n", "y = 1\nz = 'ö'\n!ls"]
        forms = cells if as_text else [cell.split("\n") for cell in cells]
        if not as_text:
            forms = [[f"{line}\n" for line in form[:-1]] + ([form[-1]] if form[-1] else []) for form in forms]
        before = document(text("# ü"), *forms, metadata={"z": 1, "a": [1.0, 2e-3, {}]})
        raw = (json.dumps(before, **style) + end).replace("\n", "\r\n" if end == "\r\n" else "\n").encode()
        book = read(raw)
        assert book.encode(book.text) == raw
        after = book.encode(book.text.replace("y = 1\n", "y = 1\nnew = 'ä'\n"))
        expected = document(text("# ü"), *forms, metadata=before["metadata"])
        new = ["y = 1\n", "new = 'ä'\n", "z = 'ö'\n", "!ls"]
        expected["cells"][2]["source"] = "".join(new) if as_text else new
        assert after == (json.dumps(expected, **style) + end).replace("\n", "\r\n" if end == "\r\n" else "\n").encode()

    def test_what_else_escapes_could_be_stays_in_lines_that_stay(self) -> None:
        raw = rb'{"cells":[{"source":["a = \"\u003c\/\"\n" , "b = 1\n"],"cell_type":"code"} ],"nbformat" : 4}'
        book = read(raw)
        assert book.encode(book.text.replace("b = 1", "b = 2")) == raw.replace(b"b = 1", b"b = 2")

    def test_a_line_more_in_a_list_of_one(self) -> None:
        for style, between in (({}, '", "'), ({"indent": 1}, '",\n    "'), ({"separators": (",", ":")}, '","')):
            book = read(document(["a = 1"], ["b = 1\n", "c = 1"]), **style)
            after = book.encode(book.text.replace("a = 1\n", "a = 1\nd = 1\n")).decode()
            assert f"a = 1\\n{between}d = 1" in after

    def test_the_last_of_two_sources_counts_as_it_does_for_json(self) -> None:
        raw = b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "a = 1", "source": "b = 1"}]}'
        book = read(raw)
        assert "a = 1" not in book.text
        assert book.encode(book.text.replace("b = 1", "b = 2")) == raw.replace(b"b = 1", b"b = 2")

    def test_byte_order_mark(self) -> None:
        raw = b"\xef\xbb\xbf" + json.dumps(document("a = 1")).encode()
        book = read(raw)
        assert book.encode(book.text) == raw
        assert book.encode(book.text.replace("a = 1", "a = 2")) == raw.replace(b"a = 1", b"a = 2")

    def test_code_behind_a_magic_is_edited_in_place(self) -> None:
        book = read(document("%%time\nif x:\n    %timeit -n 3 old(x)  # how long?\n!ls"))
        after = book.encode(book.text.replace("old(x)", "new(x)").replace("    new", "    mesh = 1\n    new"))
        assert sources(after) == ["%%time\nif x:\n    mesh = 1\n    %timeit -n 3 new(x)  # how long?\n!ls"]

    @pytest.mark.parametrize(
        ("before", "old", "new"),
        [
            ("%time y = f(x)\n", "f(x)", "f(\n    x)"),  # the magic would end with its line
            ("!ls {x}\n", "get_ipython(x)", "get_ipython(y)"),  # what the shell is given cannot be edited
            ("%%time\nx = 1\n", "#jaxmigrate-mask 0\n", ""),
            ("x = 1\n", " #jaxmigrate-cell 1 0\n", ""),
            ("x = 1\n", "x = 1\n", "%time x\n"),
        ],
    )
    def test_magics_are_not_split(self, before: str, old: str, new: str) -> None:
        book = read(document(before, "z = 1"))
        assert old in book.text
        with pytest.raises(SourceError, match="cannot be rewritten without"):
            book.encode(book.text.replace(old, new))

    def test_blank_lines_are_not_left_at_the_ends_of_cells(self) -> None:
        book = read(document("import jax"))
        after = book.encode(book.text.replace("import jax\n", "\n\nimport jax\n\n\n"))
        assert sources(after) == ["import jax"]


class TestBroken:
    @pytest.mark.parametrize(
        ("raw", "message"),
        [
            (b"", "book.ipynb:1:1: is empty, not a notebook"),
            (b'{"cells": [}', "book.ipynb:1:12: is not JSON: Expecting value"),
            (b"[]", "book.ipynb: is JSON but not a notebook: it holds no object"),
            (b"{}", "book.ipynb: is JSON but not a notebook: it has no list of cells"),
            (b'{"nbformat": 4, "cells": {}}', "book.ipynb: is JSON but not a notebook: it has no list of cells"),
            (
                b'{"nbformat": 3, "worksheets": []}',
                (
                    "book.ipynb: is a notebook of nbformat 3, and only nbformat 4 is read; "
                    "convert it with `jupyter nbconvert --to notebook --nbformat 4`"
                ),
            ),
            (b'{"nbformat": 5, "cells": []}', "book.ipynb: is a notebook of nbformat 5, and only nbformat 4 is read"),
            (b'{"cells": [3]}', "book.ipynb: cell 1 is not a cell: it has no cell_type"),
            (b'{"cells": [{"cell_type": "code"}]}', "book.ipynb: cell 1 has no source that is text"),
            (
                b'{"cells": [{"cell_type": "code", "source": [1]}]}',
                "book.ipynb: cell 1 has no source that is text",
            ),
            (b'{"cells": [\n\xff]}', "book.ipynb:2: byte 0xff is not utf-8, which notebooks are"),
            (b"[" * 100_000, "book.ipynb: is nested too deeply for a notebook"),
        ],
    )
    def test_is_told(self, raw: bytes, message: str) -> None:
        with pytest.raises(SourceError) as caught:
            read(raw)
        assert str(caught.value) == message

    def test_a_comment_of_our_own(self) -> None:
        with pytest.raises(SourceError, match=r"book.ipynb:cell 2: contains a comment that jaxmigrate uses"):
            read(document("x = 1", "y = 1  #jaxmigrate-mask 0"))
        with pytest.raises(TornError):
            join([(1, " #jaxmigrate-cell 3 0")])

    @pytest.mark.parametrize(
        ("cells", "place"),
        [
            (["x = 1", "def f(:\n"], (2, 1)),
            (["x = '''", "'''"], (1, 1)),  # together they would be a module
            (["if x:", "    y = 1"], (1, 1)),
            (["x = 1", "if x:\n    pass", "else:\n    pass"], (3, 1)),
            (["x = (", ")"], (1, 1)),
            (["x = 1 + \\", "2"], (1, 1)),
        ],
    )
    def test_a_cell_that_does_not_parse(self, cells: Sequence[str], place: tuple[int, int]) -> None:
        book = read(document(*cells))
        with pytest.raises(SyntaxError) as caught:
            parse_module(NAME, book.text)
        assert book.notebook is not None
        assert book.notebook.located(caught.value.lineno or 0, 1)[:2] == place


class TestOthers:
    @pytest.mark.parametrize("language", ["R", "julia", "scala"])
    def test_other_languages_are_skipped(self, language: str) -> None:
        raw = json.dumps(document("library(jax)", language=language)).encode()
        book = read(raw)
        assert book.text == ""
        assert book.encode("") == raw
        assert book.notebook is not None
        assert book.notebook.skipped == f"skipped: its kernel's language is {language.lower()}, not Python"

    def test_cells_in_other_languages_and_kinds_are_passed_over(self) -> None:
        shell = code("ls -l", metadata={"vscode": {"languageId": "shellscript"}})
        raw = {"cell_type": "raw", "metadata": {}, "source": "x ="}
        book = read(document(shell, raw, text("y ="), "z = 1"))
        assert book.text == " #jaxmigrate-cell 4 0\nz = 1\n"

    def test_no_code_at_all(self) -> None:
        book = read(document(text("words")))
        assert book.text == ""
        assert parse_module(NAME, book.text).cells == ()

    def test_a_cell_that_is_indented_as_a_whole(self) -> None:
        book = read(document("    x = 1\n    y = f(x)", "z = 1"))
        parse_module(NAME, book.text)
        assert sources(book.encode(book.text.replace("f(x)", "g(x)"))) == ["    x = 1\n    y = g(x)", "z = 1"]

    @pytest.mark.parametrize(("counts", "in_order"), [([1, 2, 9], True), ([None, 2, None], True), ([3, 2, 4], False)])
    def test_the_order_in_which_cells_ran(self, counts: list[int | None], in_order: bool) -> None:
        notebook = notebook_of(document(*(code("x = 1", execution_count=count) for count in counts)))
        assert notebook.ran_in_order is in_order
        assert parse_module(NAME, notebook.joined.text).runs_in_order is in_order

    def test_what_authors_expect_to_fail(self) -> None:
        notebook = notebook_of(document("x", code("y", metadata={"tags": ["raises-exception"]})))
        assert notebook.may_fail == {2}

    def test_what_is_not_run_and_not_looked_into(self) -> None:
        notebook = notebook_of(document("!ls\nx = !ls\n%time x\n%cd ..", "%%writefile a.py\njax.pmap(f)"))
        assert notebook.unrun == [(1, "!ls"), (1, "x = !ls"), (1, "%cd .."), (2, "%%writefile a.py")]
        assert notebook.passed_over("pmap") == [2]
