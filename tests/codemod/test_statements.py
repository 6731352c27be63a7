# ruff: noqa: E501, ISC004 - a program reads better in one line
"""Operations on statements, definitions and imports: what stands after them, as text."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.codemod.style import Style
from jaxmigrate.program.operations import (
    After,
    Before,
    Define,
    DropAlias,
    DropStatement,
    Enclose,
    First,
    Import,
    Redecorate,
    Replace,
    ReplaceAlias,
    ReplaceStatement,
    code,
)
from tests.codemod.nodes import Nodes, Plan, after

STATEMENTS: list[tuple[str, Plan, str]] = [
    ("a\nb\n", lambda n: [Before(n.statement("b"), code("c"))], "a\nc\nb\n"),
    ("a\n\n# of b\nb\n", lambda n: [Before(n.statement("b"), code("c"))], "a\n\n# of b\nc\nb\n"),
    (
        "a\n\n# of b\nb\n",
        lambda n: [Before(n.statement("b"), code("def c(): pass"))],
        "a\n\n\ndef c(): pass\n\n\n# of b\nb\n",
    ),
    (  # also where blank lines stand below its comment
        "a\n\n\n# part two\n\n\ndef b(): pass\n",
        lambda n: [Before(n.function("b"), code("def c(): pass"))],
        "a\n\n\ndef c(): pass\n\n\n# part two\n\n\ndef b(): pass\n",
    ),
    ("a\nb\n", lambda n: [After(n.statement("a"), code("c = $x", x=n("a")))], "a\nc = a\nb\n"),
    ("a; b; c\n", lambda n: [After(n.statement("b"), code("d"))], "a\nb\nd\nc\n"),
    ("a; b  # x\n", lambda n: [DropStatement(n.statement("b"))], "a\n"),
    ("a; b; c  # x\n", lambda n: [DropStatement(n.statement("b"))], "a\nc  # x\n"),
    (  # a function behind a statement has blank lines around it, which are blank
        "class C:\n    a\n    b\n",
        lambda n: [After(n.statement("a"), code("def f():\n    c\n\ndef g():\n    d"))],
        "class C:\n    a\n\n    def f():\n        c\n\n    def g():\n        d\n\n    b\n",
    ),
    (  # a comment that other new code brings does not stay behind
        "x = {\n    a,  # of a\n    b\n}\n",
        lambda n: [Replace(n("{a, b}"), code("{b}")), After(n.statement("x"), code("y = {\n    a,  # of a\n}"))],
        "x = {b}\ny = {\n    a,  # of a\n}\n",
    ),
    ("if x: a; b\n", lambda n: [Before(n.statement("b"), code("c"))], "if x:\n    a\n    c\n    b\n"),
    ("if x: a\nelse: b\n", lambda n: [DropStatement(n.statement("b"))], "if x: a\nelse:\n    pass\n"),
    ("if x: a  # y\nb\n", lambda n: [After(n.statement("a"), code("c"))], "if x:\n    a  # y\n    c\nb\n"),
    ("def f():\n    a\n", lambda n: [DropStatement(n.statement("a"))], "def f():\n    pass\n"),
    ("def f():\n    # of a\n    a\n    b\n", lambda n: [DropStatement(n.statement("a"))], "def f():\n    # of a\n    b\n"),
    ("a\n\n# of b\nb\n\nc\n", lambda n: [DropStatement(n.statement("b"), commented=True)], "a\n\nc\n"),
    ("c\n# x\n\n# of a\n# too\na\n\n# b\nb\n", lambda n: [DropStatement(n.statement("a"), commented=True)], "c\n# x\n\n# b\nb\n"),
    ("c\n# of both\na\nb\n", lambda n: [DropStatement(n.statement("a"), commented=True)], "c\n# of both\nb\n"),
    ("c\n# noqa\na\n\nb\n", lambda n: [DropStatement(n.statement("a"), commented=True)], "c\n# noqa\n\nb\n"),
    ("def f():\n    b\n    # c\n    a\n", lambda n: [DropStatement(n.statement("a"), commented=True)], "def f():\n    b\n"),
    ("a  # x\nb\n", lambda n: [ReplaceStatement(n.statement("a"), code("c"))], "c  # x\nb\n"),
    ("# y\na\nb\n", lambda n: [ReplaceStatement(n.statement("a"), code("c\nd"))], "# y\nc\nd\nb\n"),
    (
        "b\nx = f(  # one\n    a\n)  # two\n",
        lambda n: [ReplaceStatement(n.statement("x"), code("y = $a", a=n("a")))],
        "b\n# one\ny = a  # two\n",
    ),
    (
        "def g():\n    b\n\n    # zero\n    x = f(  # one\n        a\n    )  # two\n",
        lambda n: [ReplaceStatement(n.statement("x"), code("y = 1\nz = 2"))],
        "def g():\n    b\n\n    # zero\n    # one\n    y = 1\n    z = 2  # two\n",
    ),
    ("a\n\n\ndef f():\n    pass\n", lambda n: [DropStatement(n.statement("a"))], "def f():\n    pass\n"),
    ("def f():\n    '''Doc.'''\n    a\n", lambda n: [First(n.function("f"), code("c"))], "def f():\n    '''Doc.'''\n    c\n    a\n"),
    ("def f():\n    '''Doc.'''\n", lambda n: [First(n.function("f"), code("c"))], "def f():\n    '''Doc.'''\n    c\n"),
    (
        "def f():\n    def g():\n        pass\n",
        lambda n: [First(n.function("f"), code("c"))],
        "def f():\n    c\n\n    def g():\n        pass\n",
    ),
    ("def f(): a; b\n", lambda n: [First(n.function("f"), code("c"))], "def f():\n    c\n    a\n    b\n"),
    (
        "def f():\n\n    # of a\n    a\n",
        lambda n: [First(n.function("f"), code("c"))],
        "def f():\n\n    c\n    # of a\n    a\n",
    ),
    ("@a\n@b(1)  # x\ndef f(): pass\n", lambda n: [Redecorate(n.function("f"), n("b(1)"), (code("c"), code("d($i)", i=n("1"))))], "@a\n@c\n@d(1)  # x\ndef f(): pass\n"),
    ("# z\n@a\n@b\ndef f(): pass\n", lambda n: [Redecorate(n.function("f"), n("a"))], "# z\n@b\ndef f(): pass\n"),
    ("@a\nclass F: pass\n", lambda n: [Redecorate(next(c for c in n.all if isinstance(c, ast.ClassDef)), n("a"))], "class F: pass\n"),
    (
        "# z\n@a\n@b\ndef f(x):\n    '''Doc.'''\n    return x\n",
        lambda n: [Enclose(n.function("f"), code("def f(x):\n    return m(g)(x)"), "g", (n("b"),), (code("c"),))],
        "# z\n@a\n@c\ndef f(x):\n    '''Doc.'''\n    return m(g)(x)\n\n\ndef g(x):\n    return x\n",
    ),
    (
        "class A:\n    @b\n    def f(self, x):\n        return x\n\n    def h(self):\n        pass\n",
        lambda n: [
            Enclose(n.function("f"), code("def f(self, x):\n    return m(self.g)(x)"), "g", (n("b"),), ()),
            Replace(n("x"), code("x[0]")),
        ],
        "class A:\n    def f(self, x):\n        return m(self.g)(x)\n\n    def g(self, x):\n        return x[0]\n\n"
        "    def h(self):\n        pass\n",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "plan", "expected"), STATEMENTS, ids=[one[0] for one in STATEMENTS])
def test_statements(before: str, plan: Plan, expected: str) -> None:
    assert after(before, plan) == expected


def drop(source: str, name: str) -> Plan:
    """Drops a name from an import."""

    def plan(n: Nodes) -> list[DropAlias]:
        statement = n.imported(source)
        return [DropAlias(statement, next(a for a in statement.names if a.name == name))]

    return plan


def move(source: str, name: str, new: Import) -> Plan:
    """Imports something else in the place of a name."""

    def plan(n: Nodes) -> list[ReplaceAlias]:
        statement = n.imported(source)
        alias = next(a for a in statement.names if a.name == name)
        return [ReplaceAlias(statement, alias, new.name or new.module, new.asname, new.module if new.name else "")]

    return plan


MESH = Import("jax.sharding", "Mesh")
IMPORTS: list[tuple[str, Plan, str]] = [
    ("import a\nfrom b import c, d\n", drop("from b", "d"), "import a\nfrom b import c\n"),
    ("import a\nfrom b import c, d\n", drop("from b", "c"), "import a\nfrom b import d\n"),
    ("import a\nfrom b import c\n\nx\n", drop("from b", "c"), "import a\n\nx\n"),
    ("from b import c\n\n\ndef f(): pass\n", drop("from b", "c"), "def f(): pass\n"),
    ("from b import (\n    c,\n    d,\n)\n", drop("from b", "d"), "from b import (\n    c,\n)\n"),
    ("from b import c; x\n", drop("from b", "c"), "x\n"),
    ("def f():\n    from b import c\n", drop("from b", "c"), "def f():\n    pass\n"),
    ("try:\n    from b import c\nexcept ImportError:\n    c = None\n", drop("from b", "c"), "try:\n    pass\nexcept ImportError:\n    c = None\n"),
    ("import a, b as c\n", drop("import", "b"), "import a\n"),
    ("import jax\nfrom jax.maps import Mesh, xmap\n", move("from jax", "Mesh", MESH), "import jax\nfrom jax.maps import xmap\nfrom jax.sharding import Mesh\n"),
    ("from jax.maps import Mesh\nfrom jax.sharding import NamedSharding\n", move("from jax", "Mesh", MESH), "from jax.sharding import Mesh, NamedSharding\n"),
    ("from jax.maps import Mesh  # noqa\nfrom jax.sharding import P\n", move("from jax", "Mesh", MESH), "from jax.sharding import Mesh  # noqa\nfrom jax.sharding import P\n"),
    ("from jax.maps import Mesh\nm = Mesh()\nfrom jax.sharding import P\n", move("from jax", "Mesh", MESH), "from jax.sharding import Mesh\nm = Mesh()\nfrom jax.sharding import P\n"),
    ("def f():\n    from jax.maps import Mesh, xmap\n    g\n", move("from jax", "Mesh", MESH), "def f():\n    from jax.maps import xmap\n    from jax.sharding import Mesh\n    g\n"),
    ("if x: from jax.maps import Mesh\n", move("from jax", "Mesh", MESH), "if x: from jax.sharding import Mesh\n"),
    ("import jax.maps as m\nimport os\n", move("import jax", "jax.maps", Import("jax.sharding", asname="m")), "import jax.sharding as m\nimport os\n"),
    ("from jax.tree import old, map\n", move("from jax", "old", Import("jax.tree", "map")), "from jax.tree import map\n"),
    ("from jax.tree import old\n", move("from jax", "old", Import("jax.tree", "map", "old")), "from jax.tree import map as old\n"),
    ("import jax\n", lambda _: [Import("jax")], "import jax\n"),
    ("import os\nimport jax\n", lambda _: [MESH], "import os\nimport jax\nfrom jax.sharding import Mesh\n"),
    ("import os\n\nimport jax\n\nfrom . import x\n", lambda _: [MESH, Import("functools")], "import functools\nimport os\n\nimport jax\nfrom jax.sharding import Mesh\n\nfrom . import x\n"),
    ("import os\n\nimport jax\n", lambda _: [Import(".sharding", "get_mesh")], "import os\n\nimport jax\n\nfrom .sharding import get_mesh\n"),
    (  # of the project, in a file without an order
        "from typing import Any\nimport numpy\nimport chex\nimport jax\nfrom utils import f\n",
        lambda _: [Import("sharding", "get_mesh", own=True)],
        "from typing import Any\nimport numpy\nimport chex\nimport jax\nfrom utils import f\nfrom sharding import get_mesh\n",
    ),
    ("'''Doc.'''\nx\n", lambda _: [Import("jax")], "'''Doc.'''\nimport jax\nx\n"),
    ("from __future__ import annotations\n\nx = 1\n", lambda _: [Import("jax")], "from __future__ import annotations\n\nimport jax\n\nx = 1\n"),
    ("#!/bin/python\n# License\n\nimport jax\n", lambda _: [Import("functools")], "#!/bin/python\n# License\n\nimport functools\n\nimport jax\n"),
    ("import os\nos.environ['X'] = '1'\nimport jax\n", lambda _: [MESH], "import os\nos.environ['X'] = '1'\nimport jax\nfrom jax.sharding import Mesh\n"),
    ("from jax.sharding import NamedSharding as S, PartitionSpec as P  # why\n", lambda _: [MESH], "from jax.sharding import Mesh, NamedSharding as S, PartitionSpec as P  # why\n"),
    (
        "from jax.sharding import (\n    NamedSharding,  # one\n    PartitionSpec,  # two\n)\n",
        lambda _: [MESH],
        "from jax.sharding import (\n    Mesh,\n    NamedSharding,  # one\n    PartitionSpec,  # two\n)\n",
    ),
    ("import jax\nx = 1\nfrom jax.sharding import P\n", lambda n: [Import("jax.sharding", "Mesh", uses=(n("1"),))], "import jax\nfrom jax.sharding import Mesh\nx = 1\nfrom jax.sharding import P\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "plan", "expected"), IMPORTS, ids=[one[0] for one in IMPORTS])
def test_imports(before: str, plan: Plan, expected: str) -> None:
    assert after(before, plan) == expected


def test_an_import_that_is_too_long_has_a_line_for_each_name() -> None:
    found = after(
        "from jax.sharding import Mesh\n", lambda _: [Import("jax.sharding", "PartitionSpec")], Style(width=40)
    )
    assert found == "from jax.sharding import (\n    Mesh,\n    PartitionSpec,\n)\n"


DEFINED = "def h():\n    return 1\n"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("import a\n\nx = f(1)\n", f"import a\n\n\n{DEFINED}\n\nx = f(1)\n"),
        ("'''Doc.'''\n\nimport a\n# pylint: enable\n\n\nx = f(1)\n", f"'''Doc.'''\n\nimport a\n# pylint: enable\n\n\n{DEFINED}\n\nx = f(1)\n"),
        ("x = f(1)\n", f"{DEFINED}\n\nx = f(1)\n"),
        ("import a\nx = f(1)\nimport b\n", f"import a\n\n\n{DEFINED}\n\nx = f(1)\nimport b\n"),
        (f"import a\n\n\n{DEFINED}\n\nx = f(1)\n", f"import a\n\n\n{DEFINED}\n\nx = f(1)\n"),
        ("import a\n\n# of x\nx = f(1)\n", f"import a\n\n\n{DEFINED}\n\n# of x\nx = f(1)\n"),
    ],
)  # fmt: skip
def test_definitions(before: str, expected: str) -> None:
    assert after(before, lambda n: [Define(DEFINED, (n("f(1)"),))]) == expected


def test_definitions_have_the_files_style() -> None:
    text = "import a\r\nx = f(1)\r\n"
    lines = 'def h():\n    if a:\n        return "b"\n'
    found = after(text, lambda n: [Define(lines, (n("f(1)"),))], Style(indent="\t", quote="'"))
    assert found == "import a\n\n\ndef h():\n\tif a:\n\t\treturn 'b'\n\n\nx = f(1)\n".replace("\n", "\r\n")


@pytest.mark.parametrize(
    "text",
    [
        "\fimport a\n\n\fx = f(1)\n",
        "import a\n\f\nx = f(1)\n",
        "if a:\n\f    x = f(1)\n\f    y = 'ü', f(1)\n",
        "x = '''\n\fimport a\n'''\n\fx = f(1)\n",
    ],
)
def test_form_feeds_stay(text: str) -> None:
    assert after(text, lambda n: [Replace(n("1"), code("2"))]) == text.replace("f(1)", "f(2)", 1)


def test_what_no_operation_names_keeps_every_byte() -> None:
    text = "x   =  [ 1,2 ,3 ]  ;  y=f( 1 )#c\n\n\n\nclass  A ( B ) :\n  def f( self,* ,a = 1 ) : return ( a )\n\n# end\n   "
    assert after(text, lambda n: [Replace(n("f"), code("g"))]) == text.replace("y=f(", "y=g(")


def test_names_with_an_as_stand_apart_where_the_file_has_them_so() -> None:
    wanted = [Import("jax.sharding", "NamedSharding"), Import("jax.sharding", "PartitionSpec", "P")]
    apart = Style(combine_as=False)
    assert after("import jax\n", lambda _: wanted, apart) == (
        "import jax\nfrom jax.sharding import NamedSharding\nfrom jax.sharding import PartitionSpec as P\n"
    )
    before = "import jax\nfrom jax.sharding import PartitionSpec as P\n"
    assert after(before, lambda _: wanted, apart) == (
        "import jax\nfrom jax.sharding import NamedSharding\nfrom jax.sharding import PartitionSpec as P\n"
    )
    assert after(before, lambda _: wanted) == "import jax\nfrom jax.sharding import NamedSharding, PartitionSpec as P\n"
