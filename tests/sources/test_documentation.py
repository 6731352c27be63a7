"""The Python in documentation is found, and edits of it leave every other line as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.sources import SourceError
from jaxmigrate.sources.documentation import Documentation, groups_of, read_documentation
from jaxmigrate.sources.documentation.blocks import find_blocks

MARKDOWN = """\
# Title

```python
import jax
```

* a list

  ```py title="x.py"
  def f(x):

      return x
  ```

```bash
jax.pmap
```

    import not_this

~~~~ {.python}
x = '''
```
'''
~~~~

```{code-cell} ipython3
:tags: [hide]

!ls
y = %env X
```
"""
RST = """\
.. code-block:: python
   :linenos:

   import jax

   f = jax.pmap(g)

Text::

    import not_this

.. code:: bash

    jax.pmap

>>> import jax
>>> f = jax.pmap(
...     g)
>>> f(x)
Array(...)

.. testcode::

    f(x)
"""
MODULE = '''\
"""A module.

    >>> import jax
    >>> x = 1
    >>> x
    1
"""


def f():
    r"""Raw.

    >>> "\\d"
    """
    return """
    >>> not_this
    """


class A:
    """Escapes.

    >>> "\\n"
    """
'''


def sources(text: str, suffix: str) -> list[tuple[int, str]]:
    return [(block.group, block.source) for block in find_blocks(text.split("\n"), suffix)]


def test_blocks_of_markdown() -> None:
    assert sources(MARKDOWN, ".md") == [
        (0, "import jax\n"),
        (0, "def f(x):\n\n    return x\n"),
        (0, "x = '''\n```\n'''\n"),
        (0, "!ls\ny = %env X\n"),
    ]


def test_blocks_of_restructured_text() -> None:
    assert sources(RST, ".rst") == [
        (0, "import jax\n\nf = jax.pmap(g)\n"),
        (1, "import jax\nf = jax.pmap(\n    g)\nf(x)\n"),
        (0, "f(x)\n"),
    ]


def test_doctests_of_docstrings() -> None:
    assert sources(MODULE, ".py") == [(0, "import jax\nx = 1\nx\n"), (1, '"\\d"\n')]
    assert groups_of(MODULE.encode(), "a.py", Path("a.py")) == [0, 1]


def test_doctests_without_imports_go_on_with_the_code_around() -> None:
    text = RST.replace(">>> import jax\n", "")
    assert {group for group, _ in sources(text, ".rst")} == {0}


def read(text: str, name: str, group: int = 0) -> tuple[Documentation, str, list[SourceError]]:
    source, broken = read_documentation(text.encode(), name, Path(name), group, ("pmap",))
    assert isinstance(source.notebook, Documentation)
    assert source.encode(source.text) == text.encode()
    return source.notebook, source.text, broken


def test_places_are_those_of_the_file() -> None:
    documentation, text, _ = read(MARKDOWN, "a.md")
    line = next(n for n, one in enumerate(text.split("\n"), 1) if "return x" in one)
    assert documentation.located(line, 5)[:3] == (0, 12, 7)
    assert documentation.in_words(f"is given (line {line})") == "is given (line 12)"
    assert documentation.in_words(f"calls pmap (a.md.docs:{line})") == "calls pmap (a.md:12)"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_edited_lines_change(newline: str) -> None:
    documentation, text, _ = read(RST.replace("\n", newline), "a.rst")
    edited = text.replace("import jax\n", "import jax\nimport sys\n").replace("pmap(g)", "smap(g)")
    expected = RST.replace("   import jax\n", "   import jax\n   import sys\n", 1).replace("pmap(g)", "smap(g)", 1)
    assert documentation.rewritten(edited) == expected.replace("\n", newline)


def test_new_lines_of_doctests_have_prompts() -> None:
    documentation, text, _ = read(RST, "a.rst", 1)
    edited = text.replace("f = jax.pmap(\n    g)\n", "\n\ndef h(x):\n\n    return x\n\n\n# now\nf = h(\n    g)\n")
    old = ">>> f = jax.pmap(\n...     g)\n"
    new = ">>> def h(x):\n...\n...     return x\n>>> # now\n>>> f = h(\n...     g)\n"
    assert documentation.rewritten(edited) == RST.replace(old, new)


def test_a_docstring_is_not_ended_by_what_is_put_into_it() -> None:
    documentation, text, _ = read(MODULE, "a.py")
    after = documentation.rewritten(text.replace("x = 1\n", 'x = """1"""\n'))
    assert after == MODULE.replace(">>> x = 1\n", ">>> x = '''1'''\n")


def test_what_would_break_the_text_is_not_written() -> None:
    documentation, text, _ = read("```python\nx = 1\n```\n", "a.md")
    with pytest.raises(SourceError, match="cannot be rewritten without breaking the text around its code"):
        documentation.rewritten(text.replace("x = 1", "x = '''\n```\n'''"))


def test_blocks_that_are_no_python_are_passed_over_but_for_those_with_maps() -> None:
    text = "```python\nx = (\n```\n```python\nf = jax.pmap(\n  ...,, )\n```\n```python\ny = 1\n```\n"
    _, joined, broken = read(text, "a.md")
    assert "y = 1" in joined
    assert "x = (" not in joined
    assert [str(error) for error in broken] == ["a.md:6: this code cannot be parsed: invalid syntax"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


CODE = "import jax\n\nf = jax.pmap(lambda x: -x)\n"
DOCTEST = ">>> import jax\n>>> f = jax.pmap(lambda x: -x)\n"


def test_fix(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.md").write_text(f"# A\n\n```python\n{CODE}```\n\n```pycon\n{DOCTEST}```\nend")
    indented = DOCTEST.replace(">>>", "    >>>")
    functions = [f'def {name}():\n    """Maps.\n\n{indented}    """\n\n\n' for name in "fg"]
    (folder / "b.py").write_text("".join(functions) + "import jax\njax.pmap(f)\n")
    (folder / "c.py").write_text(CODE)
    assert main(["fix", ".", "--docs", "--check", "--layout", "stacked", "--report", "report.json"]) == 1
    assert main(["fix", ".", "--docs", "--layout", "stacked"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "a.md: rewrote 2 sites" in out
    assert "b.py: rewrote 2 sites" in out
    assert "4 sites in 2 files: 4 rewritten, 0 left" in out
    assert (folder / "c.py").read_text() == CODE
    markdown, docstrings = (folder / "a.md").read_text(), (folder / "b.py").read_text()
    assert markdown.startswith("# A\n\n```python\nimport jax\nfrom jax.sharding import Mesh, PartitionSpec as P\n")
    assert markdown.count("jax.shard_map(") == 2
    assert markdown.count("lambda x: (-x.squeeze(0))[None],\n") == markdown.count("def mesh_of(tree):\n") == 2
    assert markdown.endswith(")(x)\n```\nend")
    assert docstrings.count("lambda x: (-x.squeeze(0))[None],\n") == 2
    assert docstrings.count("    >>> def mesh_of(tree):\n") == 2  # each docstring runs by itself
    assert docstrings.endswith("import jax\njax.pmap(f)\n")
    compile(docstrings, "b.py", "exec")
    assert main(["fix", ".", "--docs", "--check", "--layout", "stacked"]) == 0


def test_doctests_that_are_rewritten_still_pass(folder: Path) -> None:
    (folder / "m.py").write_text(
        '"""M.\n\n    >>> import jax\n    >>> jax.tree_map(lambda x: x + 1, {\'a\': 1})\n    {\'a\': 2}\n"""\n'
    )
    assert main(["fix", "m.py", "--docs"]) == 0
    assert "jax.tree.map" in (folder / "m.py").read_text()
    passes = "import doctest, m; assert doctest.testmod(m) == (0, 2)"
    run = subprocess.run([sys.executable, "-c", passes], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_lint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "jax.pmap(lambda x: jax.lax.psum(x, 'j'), axis_name='i')\n"
    (folder / "a.rst").write_text(f".. code-block:: python\n\n    import jax\n\n    {wrong}")
    (folder / "b.py").write_text(f"import jax\n{wrong}")
    assert main(["lint", "--docs", "."]) == 1
    assert capsys.readouterr().out.startswith("a.rst:5:24 JM101 psum: axis 'j' is not bound here")


def test_what_does_not_go_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["fix", ".", "--docs", "--verify"], ["fix", "-", "--docs"], ["lint", "-", "--docs"]):
        assert main(arguments) == 2
        assert "--docs" in capsys.readouterr().err
