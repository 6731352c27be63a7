"""What a rewrite does to a file, as plain data: typed operations on the nodes of its `ast`.

Deciding makes them, `codemod` applies them with LibCST, and nothing else changes a text. New source is `Code`: text
in which `$name` stands for a node of the file, which is kept as its author wrote it, with the operations inside it
applied.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from jaxmigrate.records import made, record

HOLE = re.compile(r"\$([A-Za-z_][A-Za-z_0-9]*)")
ITSELF = "itself"  # the hole that stands for the node which is replaced


@record(eq=False)
class Code:
    """Source of an expression or of statements, on lines as short as they come: whoever applies it breaks them."""

    text: str
    parts: Mapping[str, Part] = made(factory=dict)


@record(eq=False)
class Marked:
    """A part whose value a verification records under a site's id.

    `mapped`: it is the mapped function itself; else it is what gives the mapped function when it is called.
    """

    site: str
    part: ast.expr | Code
    mapped: bool = False


Part: TypeAlias = ast.expr | Code | Marked


def code(text: str, **parts: str | Part) -> Code:
    """New source; parts that are strings are put into the text, `$itself` is the node that is replaced."""
    texts = {name: part for name, part in parts.items() if isinstance(part, str)}
    filled = HOLE.sub(lambda match: texts.get(match[1], match[0]), text)
    return Code(filled, {name: part for name, part in parts.items() if not isinstance(part, str)})


@record(eq=False)
class Replace:
    """Puts code in the place of an expression."""

    node: ast.expr
    code: Code


# What the ids of marks begin with on maps that go by other names.
THROUGH = "through "


@record(eq=False)
class Mark:
    """Wraps whatever stands in the place of an expression for a verification; no line moves.

    `host`: it is no map, but what the host makes or gives away.
    """

    node: ast.expr
    site: str
    mapped: bool = False
    host: bool = False


@record(eq=False)
class SetKeyword:
    """Gives a call an argument by keyword, in the place of the one of that name where there is one."""

    call: ast.Call
    name: str
    code: Code


@record(eq=False)
class NameArgument:
    """Passes an argument of a call under another name; by position where the name is empty."""

    call: ast.Call
    argument: ast.expr | ast.keyword
    name: str


@record(eq=False)
class DropArgument:
    """Takes an argument out of a call."""

    call: ast.Call
    argument: ast.expr | ast.keyword


@record(eq=False)
class DropIndex:
    """Takes an index out of a subscript: of `x[:, 0]` the first leaves `x[0]`."""

    subscript: ast.Subscript
    place: int


@record(eq=False)
class Before:
    """Puts statements before a statement; comments above it stay with it."""

    statement: ast.stmt
    code: Code


@record(eq=False)
class After:
    """Puts statements behind a statement."""

    statement: ast.stmt
    code: Code


@record(eq=False)
class First:
    """Puts statements at the beginning of a function's body, after its docstring."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    code: Code


@record(eq=False)
class ReplaceStatement:
    """Puts statements in the place of one."""

    statement: ast.stmt
    code: Code


@record(eq=False)
class DropStatement:
    """Takes a statement out; comments above it stay, but with `commented` those right above that are about it alone."""

    statement: ast.stmt
    commented: bool = False


@record(eq=False)
class Enclose:
    """Puts a function around another one, which keeps its body under a new name right below.

    `code` is the new function without decorators; it takes over those of the old one but for `dropped`, which
    `decorators` replace where the first of them stood, and for `kept`, which stay with the body. `defaults` are the
    parameters whose defaults it has too.
    """

    function: ast.FunctionDef | ast.AsyncFunctionDef
    code: Code
    name: str
    dropped: tuple[ast.expr, ...]
    decorators: tuple[Code, ...]
    kept: tuple[ast.expr, ...] = ()
    defaults: tuple[str, ...] = ()


@record(eq=False)
class Unbind:
    """Takes `as name` off an item of a with statement."""

    item: ast.withitem


@record(eq=False)
class Redecorate:
    """Puts other decorators in the place of one; none drops it, and some more may go with it."""

    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    decorator: ast.expr
    decorators: tuple[Code, ...] = ()
    dropped: tuple[ast.expr, ...] = ()


@record(eq=False)
class Rename:
    """Gives a function another name where it is defined."""

    function: ast.FunctionDef
    name: str


@record(eq=False)
class Import:
    """Imports `name` from `module`, or `module` itself where there is no name; nothing where it is imported already.

    `module` begins with dots where it is relative, and is one of the project's `own` or of another. The import stands
    above the first of `uses`.
    """

    module: str
    name: str = ""
    asname: str = ""
    uses: tuple[ast.AST, ...] = ()
    own: bool = False

    @property
    def bound(self) -> str:
        """The name that the import binds."""
        return self.asname or self.name or self.module.partition(".")[0]

    def for_uses(self, uses: Iterable[ast.AST]) -> Import:
        """The same import for further uses."""
        return Import(self.module, self.name, self.asname, (*self.uses, *uses), self.own)

    @property
    def statement(self) -> str:
        """The import as a statement."""
        bound = f" as {self.asname}" if self.asname else ""
        return f"from {self.module} import {self.name}{bound}" if self.name else f"import {self.module}{bound}"


@record(eq=False)
class DropAlias:
    """Takes a name out of an import, and all of it where that was its only one."""

    statement: ast.Import | ast.ImportFrom
    alias: ast.alias


@record(eq=False)
class ReplaceAlias:
    """Imports something else in the place of a name in an import: `name` as it is written there.

    Where it comes from another module than the rest of the statement, `module` says from which; at the head of a file
    it then goes where the order of imports has it.
    """

    statement: ast.Import | ast.ImportFrom
    alias: ast.alias
    name: str
    asname: str = ""
    module: str = ""


@record(eq=False)
class Define:
    """Adds definitions below the imports, before the first of `uses`; one that the file has already is left out."""

    text: str
    uses: tuple[ast.AST, ...] = ()


Operation: TypeAlias = (
    Replace
    | Mark
    | SetKeyword
    | NameArgument
    | DropArgument
    | DropIndex
    | Before
    | After
    | First
    | ReplaceStatement
    | DropStatement
    | Enclose
    | Unbind
    | Redecorate
    | Rename
    | Import
    | DropAlias
    | ReplaceAlias
    | Define
)


def texts_of(operation: Operation) -> Iterator[str]:
    """The new source of an operation, the parts of it too."""
    if isinstance(operation, Define):
        yield operation.text
    yield from (one.text for one in new_parts(operation) if isinstance(one, Code))


def new_parts(operation: Operation) -> Iterator[Code | ast.AST]:
    """The new code of an operation, the code within it, and the nodes of the file that it has."""
    waiting: list[object] = [getattr(operation, "code", None), *getattr(operation, "decorators", ())]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Marked):
            waiting.append(one.part)
        elif isinstance(one, Code | ast.AST):
            yield one
            waiting += one.parts.values() if isinstance(one, Code) else ()
