# ruff: noqa: E501, Q003 - a program reads better in one line
"""Operations on expressions and calls: what stands after them, as text."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.codemod.style import Style
from jaxmigrate.program.operations import (
    DropArgument,
    Mark,
    Marked,
    NameArgument,
    Replace,
    SetKeyword,
    Unbind,
    code,
)
from tests.codemod.nodes import Nodes, Plan, after

REPLACED: list[tuple[str, Plan, str]] = [
    ("y = a.f(x)\n", lambda n: [Replace(n("a.f"), code("b.g"))], "y = b.g(x)\n"),
    ("y = (a.f)(x)\n", lambda n: [Replace(n("a.f"), code("b.g"))], "y = b.g(x)\n"),
    ("y = (  # why\n    a.f\n)(x)\n", lambda n: [Replace(n("a.f"), code("b.g"))], "y = (  # why\n    b.g\n)(x)\n"),
    ("y = f(x).T\n", lambda n: [Replace(n("f(x)"), code("a + $x", x=n("x")))], "y = (a + x).T\n"),
    ("y = -f(x) ** 2\n", lambda n: [Replace(n("f(x)"), code("a if b else c"))], "y = -(a if b else c) ** 2\n"),
    ("y = 2 * f(x)\n", lambda n: [Replace(n("f(x)"), code("a + b"))], "y = 2 * (a + b)\n"),
    ("y = f(x)[0]\n", lambda n: [Replace(n("f(x)"), code("not $x", x=n("x")))], "y = (not x)[0]\n"),
    ("y = [f(x), *f(z)]\n", lambda n: [Replace(n("f(z)"), code("a or b"))], "y = [f(x), *(a or b)]\n"),
    ("y = f(x) if f(x) else 1\n", lambda n: [Replace(n("f(x)"), code("lambda: 1"))], "y = f(x) if (lambda: 1) else 1\n"),
    ("y = f(g(x))\n", lambda n: [Replace(n("g(x)"), code("$itself.T"))], "y = f(g(x).T)\n"),
    ("y = f(a + b)\n", lambda n: [Replace(n("a + b"), code("$itself.T"))], "y = f((a + b).T)\n"),
    ("y = f((a + b))\n", lambda n: [Replace(n("a + b"), code("$itself.T"))], "y = f((a + b).T)\n"),
    (
        "y = f(g(x), h(g(x)))\n",
        lambda n: [Replace(n("f(g(x), h(g(x)))"), code("k($a, $a, $b)", a=n("g(x)"), b=n("h(g(x))")))],
        "y = k(g(x), g(x), h(g(x)))\n",
    ),
    (
        "y = f(g(x))\n",
        lambda n: [Replace(n("f(g(x))"), code("k($a)", a=n("g(x)"))), Replace(n("g"), code("a.g"))],
        "y = k(a.g(x))\n",
    ),
    ("y = f(*rest)\n", lambda n: [Replace(n("f(*rest)"), code("g(1, $a)", a=n.call("f(*rest)").args[0]))], "y = g(1, *rest)\n"),
    ("y = f(i for i in x)\n", lambda n: [Replace(n("f((i for i in x))"), code("g($a, 1)", a=n("(i for i in x)")))], "y = g((i for i in x), 1)\n"),
    ("y = f((i for i in x))\n", lambda n: [Replace(n("(i for i in x)"), code("[1]"))], "y = f([1])\n"),
    ("for (a, b), c in x, y:\n    pass\n", lambda n: [Replace(n("(x, y)"), code("zip($a, y)", a=n("x")))], "for (a, b), c in zip(x, y):\n    pass\n"),
    (
        "def h():\n    y = a.long(x,  # one\n               # two\n               key=[z,\n                    w])\n",
        lambda n: [Replace(n("a.long"), code("a.f"))],
        "def h():\n    y = a.f(x,  # one\n            # two\n            key=[z,\n                 w])\n",
    ),
    ("y = f(x,\n      z)\n", lambda n: [Replace(n("f"), code("long.f"))], "y = long.f(x,\n           z)\n"),
    ("y = f(x, [\n    z])\n", lambda n: [Replace(n("f"), code("long.f"))], "y = long.f(x, [\n    z])\n"),
    ("y = f(x, [\n        z])\n", lambda n: [Replace(n("f"), code("long.f"))], "y = long.f(x, [\n        z])\n"),
    ("y = f(\n      x)\n", lambda n: [Replace(n("f"), code("long.f"))], "y = long.f(\n      x)\n"),
    (
        "y = f(\n    a, g(x.T), key=b\n)\n",
        lambda n: [Replace(n("x"), code("a_longer_name_of_one(" + "another_" * 11 + "name)"))],
        "y = f(\n    a,\n    g(\n        a_longer_name_of_one(\n            " + "another_" * 11 + "name\n        ).T\n    ),\n    key=b,\n)\n",
    ),
    (
        "y = f(\n    a, long_name(x).T, key=b)\n",
        lambda n: [Replace(n("long_name"), code("b")), Replace(n("x"), code("another_" * 7 + "name"))],
        "y = f(\n    a, b(" + "another_" * 7 + "name).T, key=b)\n",
    ),
    ("y = a, b\n", lambda n: [Replace(n("(a, b)"), code("f($itself)"))], "y = f((a, b))\n"),
    ("y = ()\n", lambda n: [Replace(n("()"), code("(1,)"))], "y = (1,)\n"),
    ("y = ((a, b), c)\n", lambda n: [Replace(n("(a, b)"), code("d"))], "y = (d, c)\n"),
    ("y = ((a, b),)\n", lambda n: [Replace(n("((a, b),)"), code("f($i)", i=n("(a, b)")))], "y = f((a, b))\n"),
    ("@a.f(1)\ndef g(): pass\n", lambda n: [Replace(n("a.f"), code("b.h"))], "@b.h(1)\ndef g(): pass\n"),
    ("y = 'ü', f(x)\n", lambda n: [Replace(n("f"), code("g"))], "y = 'ü', g(x)\n"),
    ("y = f('ü😀', f2(x))\n", lambda n: [Replace(n("f2(x)"), code("$itself[0]"))], "y = f('ü😀', f2(x)[0])\n"),
    ("if x: y = f(x); z = f(y)\n", lambda n: [Replace(n("f(y)"), code("g(y)"))], "if x: y = f(x); z = g(y)\n"),
    ("y = f(x)  # c\n", lambda n: [Replace(n("f(x)"), code("g()"))], "y = g()  # c\n"),
    (
        "def h():\n    y = f(  # one\n        x,  # two\n    )  # three\n",
        lambda n: [Replace(n("f(x)"), code("g()"))],
        "def h():\n    # one\n    # two\n    y = g()  # three\n",
    ),
    (
        "y = f(\n    x,  # two\n)\n",
        lambda n: [Replace(n("f"), code("g"))],
        "y = g(\n    x,  # two\n)\n",
    ),
    ("y = f\"{a.f(x)}\"\n", lambda n: [Replace(n("x"), code("z"))], 'y = f"{a.f(z)}"\n'),
    ("async def h():\n    return await f(x)\n", lambda n: [Replace(n("f(x)"), code("a or b"))], "async def h():\n    return await (a or b)\n"),
    ("y = x if f(x) else z\n", lambda n: [Replace(n("f(x)"), code("(v := 1)"))], "y = x if (v := 1) else z\n"),
    ("y = f(x) and g\n", lambda n: [Replace(n("f(x)"), code("a or b"))], "y = (a or b) and g\n"),
    ("y = not f(x)\n", lambda n: [Replace(n("f(x)"), code("a or b"))], "y = not (a or b)\n"),
    ("y = f(x) < 2\n", lambda n: [Replace(n("f(x)"), code("a < b"))], "y = (a < b) < 2\n"),
    ("y = 2 < f(x)\n", lambda n: [Replace(n("f(x)"), code("a < b"))], "y = 2 < (a < b)\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "plan", "expected"), REPLACED, ids=[one[0] for one in REPLACED])
def test_replace(before: str, plan: Plan, expected: str) -> None:
    assert after(before, plan) == expected


CALLS: list[tuple[str, Plan, str]] = [
    ("f(x)\n", lambda n: [SetKeyword(n.call("f(x)"), "a", code("1"))], "f(x, a=1)\n"),
    ("f()\n", lambda n: [SetKeyword(n.call("f()"), "a", code("1"))], "f(a=1)\n"),
    ("f(x, )\n", lambda n: [SetKeyword(n.call("f(x)"), "a", code("1"))], "f(x, a=1, )\n"),
    ("f(x, a=(2))\n", lambda n: [SetKeyword(n.call("f(x, a=2)"), "a", code("1"))], "f(x, a=1)\n"),
    ("f(x, a = 2, b=3)\n", lambda n: [SetKeyword(n.call("f(x, a=2, b=3)"), "a", code("1"))], "f(x, a = 1, b=3)\n"),
    ("f((x))\n", lambda n: [NameArgument(n.call("f(x)"), n("x"), "a")], "f(a=(x))\n"),
    ("f((x, y), z)\n", lambda n: [NameArgument(n.call("f((x, y), z)"), n("(x, y)"), "a"), NameArgument(n.call("f((x, y), z)"), n("z"), "b")], "f(a=(x, y), b=z)\n"),
    ("f(a=(x))\n", lambda n: [NameArgument(n.call("f(a=x)"), n.keyword("a"), "")], "f((x))\n"),
    ("f(a=x, b=y)\n", lambda n: [NameArgument(n.call("f(a=x, b=y)"), n.keyword("b"), "c")], "f(a=x, c=y)\n"),
    ("f(a=x, b=y)\n", lambda n: [DropArgument(n.call("f(a=x, b=y)"), n.keyword("b"))], "f(a=x)\n"),
    ("f(a=x, b=y)\n", lambda n: [DropArgument(n.call("f(a=x, b=y)"), n.keyword("a"))], "f(b=y)\n"),
    ("f((x))\n", lambda n: [DropArgument(n.call("f(x)"), n("x"))], "f()\n"),
    ("f(x)(y)\n", lambda n: [SetKeyword(n.call("f(x)(y)"), "a", code("1")), SetKeyword(n.call("f(x)"), "b", code("2"))], "f(x, b=2)(y, a=1)\n"),
    ("f(*x, **y)\n", lambda n: [SetKeyword(n.call("f(*x, **y)"), "a", code("1"))], "f(*x, **y, a=1)\n"),
    ("f(i for i in x)\n", lambda n: [SetKeyword(n.call("f((i for i in x))"), "a", code("1"))], "f((i for i in x), a=1)\n"),
    (
        "f(\n    x,\n    y\n)\n",
        lambda n: [SetKeyword(n.call("f(x, y)"), "a", code("1"))],
        "f(\n    x,\n    y,\n    a=1\n)\n",
    ),
    (
        "f(\n    x,  # one\n    y,  # two\n)\n",
        lambda n: [SetKeyword(n.call("f(x, y)"), "a", code("1"))],
        "f(\n    x,  # one\n    y,  # two\n    a=1,\n)\n",
    ),
    (
        "f(\n    x,  # one\n    y,  # two\n)\n",
        lambda n: [DropArgument(n.call("f(x, y)"), n("y"))],
        "# two\nf(\n    x,  # one\n)\n",
    ),
    (
        "f(\n    # one\n    x,\n    # two\n    y,\n)\n",
        lambda n: [DropArgument(n.call("f(x, y)"), n("x"))],
        "# two\nf(\n    # one\n    y,\n)\n",
    ),
    ("f(x  # one\n)\n", lambda n: [SetKeyword(n.call("f(x)"), "a", code("1"))], "f(x, a=1  # one\n)\n"),
    (
        "def g():\n    return longer_name(argument_one, argument_two)\n",
        lambda n: [SetKeyword(n.call("longer_name(argument_one, argument_two)"), "argument_three", code("some.value(1)"))],
        "def g():\n    return longer_name(\n        argument_one, argument_two, argument_three=some.value(1)\n    )\n",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "plan", "expected"), CALLS, ids=[one[0] for one in CALLS])
def test_calls(before: str, plan: Plan, expected: str) -> None:
    assert after(before, plan, Style(width=66)) == expected


def test_a_comment_of_a_call_is_never_lost() -> None:
    text = "y = f(  # 0\n    # 1\n    a  # 2\n    = # 3\n    (  # 4\n        x  # 5\n    ),  # 6\n    b=2,  # 7\n    # 8\n)\n"

    def plan(n: Nodes) -> list[Replace | SetKeyword | DropArgument]:
        call = n.call("f(a=x, b=2)")
        return [SetKeyword(call, "a", code("z")), DropArgument(call, n.keyword("b"))]

    found = after(text, plan)
    assert all(f"# {number}\n" in found for number in range(9))
    assert ast.unparse(ast.parse(found)) == "y = f(a=z)"


def test_marks_change_no_line() -> None:
    text = "p = pmap(step, axis_name='i')\nq = p(x)\n"

    def plan(n: Nodes) -> list[Replace | Mark]:
        made = code("jit($made)", made=Marked("a:1", code("shard_map($f)", f=n("step")), mapped=True))
        return [Replace(n("pmap(step, axis_name='i')"), made), Mark(n.call("p(x)").func, "a:2")]

    assert after(text, plan) == "p = jit(shard_map(step))\nq = p(x)\n"
    marked = after(text, plan, marks=True)
    assert marked == (
        "p = jit(__jaxmigrate_mapped__('a:1', shard_map(step)))\nq = __jaxmigrate_transform__('a:2', p)(x)\n"
    )


def test_a_part_that_stands_twice_has_its_comment_once() -> None:
    found = after("y = f((  # why\n    x\n))\n", lambda n: [Replace(n("f(x)"), code("g($a, $a)", a=n("x")))])
    assert ast.unparse(ast.parse(found)) == "y = g(x, x)"
    assert found.count("# why") == 1


def test_quotes_and_indents_are_the_files() -> None:
    text = "def f():\n\treturn g('a', x)\n"
    found = after(text, lambda n: [Replace(n("x"), code('h("b", "it\'s", f"{c}")'))], Style(indent="\t", quote="'"))
    assert found == "def f():\n\treturn g('a', h('b', \"it's\", f\"{c}\"))\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_stay(newline: str) -> None:
    text = "a = 1\nif a:\n    f(  # c\n        x,\n    )\n".replace("\n", newline)
    found = after(text, lambda n: [SetKeyword(n.call("f(x)"), "a", code("1"))])
    assert found == "a = 1\nif a:\n    f(  # c\n        x,\n        a=1,\n    )\n".replace("\n", newline)


def test_with_items() -> None:
    text = "with (f(x)) as (a), (g() as b):\n    pass\n"

    def plan(n: Nodes) -> list[Replace | Unbind]:
        item = next(one for one in n.all if isinstance(one, ast.withitem))
        return [Replace(item.context_expr, code("enter(a := $itself)")), Unbind(item)]

    assert ast.unparse(ast.parse(after(text.replace("(g() as b)", "g() as b"), plan))) == (
        "with enter((a := f(x))), g() as b:\n    pass"
    )


def test_what_is_not_there_is_an_error() -> None:
    other = Nodes("\n\n\nf(x)\n")
    with pytest.raises(LookupError):
        after("g(y)\n\n\ny  \n", lambda _: [Replace(other("f(x)"), code("1"))])
