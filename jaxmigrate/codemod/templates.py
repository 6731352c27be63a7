"""Turns `Code` into LibCST nodes: its holes become nodes of the file, its quotes and indents are the file's."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence

import libcst as cst

from jaxmigrate.codemod.binding import ATOMS, bound, in_brackets
from jaxmigrate.codemod.joined import joined
from jaxmigrate.codemod.layout import source
from jaxmigrate.codemod.marks import marked
from jaxmigrate.codemod.style import Style
from jaxmigrate.program.operations import HOLE, ITSELF, Code, Marked, Part

PREFIX = "hole__"
NAMED = re.compile(r"^\w{1,4} = \$(\w+)$", re.MULTILINE)  # which stands no further right than behind `return`
Finder = Callable[[Part], cst.BaseExpression]


class Templates:
    """Builds new code for one file; `find` gives what a node of `ast` has become by then."""

    def __init__(self, module: cst.Module, style: Style, find: Finder, *, marks: bool) -> None:
        self._config = cst.PartialParserConfig(default_newline=module.default_newline)
        self._style = style
        self._indent = None if style.indent == module.default_indent else style.indent
        self._find = find
        self._marks = marks
        self.settings = (module.default_newline, style, self._indent)  # what code without parts depends on

    def expression(self, code: Code, itself: cst.BaseExpression | None = None) -> cst.BaseExpression:
        """The expression that some code is."""
        parsed = cst.parse_expression(_named(code.text), config=self._config)
        built = self._filled(parsed, code, itself)
        assert isinstance(built, cst.BaseExpression)
        return built

    def statements(self, code: Code) -> Sequence[cst.BaseStatement]:
        """The statements that some code is."""
        parsed = cst.parse_module(_named(code.text), config=self._config)
        built = [self._filled(statement, code, None) for statement in parsed.body]
        return [statement for statement in built if isinstance(statement, cst.BaseStatement)]

    def _filled(self, node: cst.CSTNode, code: Code, itself: cst.BaseExpression | None) -> cst.CSTNode:
        whole = HOLE.fullmatch(code.text) is not None  # which stays where it is
        named = NAMED.findall(code.text)
        parts = {
            name: self._find(part) if whole and isinstance(part, ast.expr) else self._part(part, name in named)
            for name, part in code.parts.items()
        }
        if itself is not None:
            parts[ITSELF] = joined(itself, commas=not self._style.fills)
        found = node.visit(_Filler(parts, self._style, self._indent))
        assert isinstance(found, cst.CSTNode)
        return found

    def _part(self, part: Part, is_named: bool = False) -> cst.BaseExpression:
        """A part as nodes; what gets a short name where it was returned may keep its lines."""
        if isinstance(part, Code):
            return self.expression(part)
        if isinstance(part, Marked):
            inner = self._part(part.part)
            return marked(inner, part.site, mapped=part.mapped) if self._marks else inner
        found = self._find(part)
        if is_named and isinstance(found, cst.Call) and _hangs(found):
            return found
        return joined(found, commas=not self._style.fills)


def _hangs(call: cst.Call) -> bool:
    """Whether the lines of a call that is returned do not stand below what is behind its opening bracket."""
    first, *others = source(call).split("\n")
    opening = len("return ") + first.find("(") + 1
    return first.endswith("(") or not any(len(line) - len(line.lstrip()) == opening for line in others)


def _named(text: str) -> str:
    return HOLE.sub(lambda match: f"{PREFIX}{match[1]}", text)


class _Filler(cst.CSTTransformer):
    def __init__(self, parts: Mapping[str, cst.BaseExpression], style: Style, indent: str | None) -> None:
        super().__init__()
        self._indent = indent
        self._parts = parts
        self._style = style
        self._put: set[int] = set()

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        if not original_node.value.startswith(PREFIX):
            return updated_node
        part = self._parts[original_node.value.removeprefix(PREFIX)]
        part = _copy(part) if id(part) in self._put else part
        self._put.add(id(part))
        if _needs_brackets(part):
            part = in_brackets(part)
            self._put.add(id(part))
        return part

    def leave_SimpleString(self, _original: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        value = updated_node.value
        plain = value.startswith('"') and not value.startswith('"""') and "'" not in value and "\\" not in value
        return (
            updated_node.with_changes(value=f"'{value[1:-1]}'") if plain and self._style.quote == "'" else updated_node
        )

    def leave_IndentedBlock(self, _original: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        return updated_node.with_changes(indent=self._indent)

    def leave_EmptyLine(self, _original: cst.EmptyLine, updated_node: cst.EmptyLine) -> cst.EmptyLine:
        return updated_node if updated_node.comment else updated_node.with_changes(indent=False)

    def leave_Newline(self, _original: cst.Newline, updated_node: cst.Newline) -> cst.Newline:
        return updated_node.with_changes(value=None)

    def leave_Arg(self, _original: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        value = updated_node.value
        if isinstance(value, cst.StarredElement):  # `*rest` of a call
            return updated_node.with_changes(star="*", value=value.value)
        return updated_node

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> cst.CSTNode:  # type: ignore[override]
        left = super().on_leave(original_node, updated_node)
        assert isinstance(left, cst.CSTNode)
        node = bound(left, lambda part: id(part) in self._put)
        if isinstance(node, cst.Return | cst.Assign | cst.AnnAssign | cst.Expr | cst.AugAssign):
            value = node.value
            if value is not None and id(value) in self._put and _has_break(value):
                return node.with_changes(value=in_brackets(value))
        return node


class _WithoutComments(cst.CSTTransformer):
    def leave_Comment(self, _original: cst.Comment, _updated: cst.Comment) -> cst.RemovalSentinel:  # type: ignore[override]
        return cst.RemoveFromParent()


def _copy(part: cst.BaseExpression) -> cst.BaseExpression:
    """An expression once more; its comments stand once."""
    found = part.deep_clone().visit(_WithoutComments())
    assert isinstance(found, cst.BaseExpression)
    return found


def _needs_brackets(part: cst.BaseExpression) -> bool:
    """Whether an expression can stand bare only where its author put it."""
    return isinstance(part, cst.GeneratorExp | cst.NamedExpr | cst.Yield | cst.Tuple) and not part.lpar


def _has_break(part: cst.BaseExpression) -> bool:
    """Whether an expression goes over lines outside of brackets of its own."""
    return not isinstance(part, ATOMS) and not part.lpar and "\n" in cst.Module(body=()).code_for_node(part)
