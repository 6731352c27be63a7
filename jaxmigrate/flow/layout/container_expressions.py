"""What expressions make of containers, and do to them: displays, entries, comprehensions, calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from jaxmigrate.flow.layout.container_shapes import (
    Dictionary,
    Meeting,
    Names,
    Shape,
    escape,
    escape_below,
    fork,
)
from jaxmigrate.flow.layout.mapped_bodies import unwrapped
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import External, Function, Value

Call: TypeAlias = Callable[[Value, Sequence[Shape], Mapping[str, Shape]], Shape]


class ContainerExpressions:
    """The expressions of one function, while its code runs on shapes; `call_value` is what a call of a value gives."""

    def __init__(self, function: Function, resolver: Resolver, call_value: Call) -> None:
        self.module: Module = function.module
        self.node: FunctionNode = function.node
        self.resolver = resolver
        self.call_value = call_value
        self.names: Names = {}
        self.shared = self._shared_names()

    def _shared_names(self) -> set[str]:
        """The variables with which functions inside do more than read entries."""
        table, found = self.module.table, set[str]()
        own = table.own_scope[self.node]
        for node in ast.walk(self.node):
            if not isinstance(node, ast.Name) or node.id in found or node not in table.scope_of:
                continue
            if table.scope_of[node] is own or table.scope_of[node].lookup(node.id) is not own:
                continue
            scope = table.scope_of[node]
            above = table.parents.get(node)
            reads = isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Load) and above.value is node
            if not reads and not (scope.kind == "comprehension" and isinstance(node.ctx, ast.Load)):
                found.add(node.id)
        for node in ast.walk(self.node):
            if isinstance(node, ast.Global | ast.Nonlocal):
                found.update(node.names)
        return found

    def value(self, node: ast.expr) -> Shape:  # noqa: C901 - one case an expression
        """The shape of an expression, and what it does to others."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Tuple(elts=elements) if not any(isinstance(one, ast.Starred) for one in elements):
                return tuple([self.value(one) for one in elements])
            case ast.Dict(keys=keys, values=values):
                return self.display(keys, values)
            case ast.Call():
                return self.call(node)
            case ast.Subscript(value=owner, slice=index):
                return self.item(self.value(owner), index)
            case ast.Attribute(value=owner):
                escape(self.value(owner))
            case ast.NamedExpr(target=target, value=inner):
                shape = self.value(inner)
                self.bind(target, shape)
                return shape
            case ast.Compare(left=left, comparators=others):
                for one in (left, *others):
                    self.value(one)
            case ast.UnaryOp(operand=operand):
                self.value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operation(self.value(left), op, self.value(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.value(test)
                return self.either(body, orelse)
            case ast.DictComp() if (made := self.each(node)) is not None:
                return made
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self.comprehension(node)
            case ast.Constant() | ast.Lambda():
                pass
            case _:
                self.others(node)
        return None

    def either(self, one: ast.expr, other: ast.expr) -> Shape:
        """The value of one of two expressions."""
        before = self.names
        self.names = fork(before)
        first, names = self.value(one), self.names
        self.names = fork(before)
        second, others = self.value(other), self.names
        meeting = Meeting()
        self.names = {name: meeting.of(names.get(name), others.get(name)) for name in {**names, **others}}
        found = meeting.of(first, second)
        self.leave(before)
        return found

    def others(self, node: ast.AST) -> None:
        """All that stands in something, which may do with it whatever it likes."""
        for one in ast.iter_child_nodes(node):
            if isinstance(one, ast.expr):
                escape(self.value(one))
            elif not isinstance(one, ast.expr_context | ast.operator):
                self.others(one)

    @staticmethod
    def leave(names: Names) -> None:
        """Forgets the dictionaries of before several ways: what else holds them does not follow these."""
        for shape in names.values():
            escape(shape)

    def bind(self, target: ast.expr, shape: Shape) -> None:
        """Gives a value to a name, to several, or to an entry of a dictionary."""
        match target:
            case ast.Name(id=name):
                if name in self.shared:
                    escape(shape)
                self.names[name] = None if name in self.shared else shape
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                fits = isinstance(shape, tuple) and len(shape) == len(elements)
                fits = fits and not any(isinstance(one, ast.Starred) for one in elements)
                if not fits:
                    escape(shape)
                for index, one in enumerate(elements):
                    inner = one.value if isinstance(one, ast.Starred) else one
                    self.bind(inner, shape[index] if fits and isinstance(shape, tuple) else None)
            case ast.Subscript(value=owner, slice=index):
                held = self.value(owner)
                self.value(index)
                if isinstance(held, Dictionary) and held.entries is not None and is_text(index):
                    held.entries[index.value] = shape  # type: ignore[attr-defined]
                else:
                    escape(held)
                    escape(shape)
            case _:
                escape(shape)
                self.others(target)

    def display(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Shape:
        """`{"loss": loss, **others}`."""
        made = Dictionary()
        for key, value in zip(keys, values, strict=True):
            shape = self.value(value)
            if key is None:
                self.update(made, shape, is_copied=True)
            elif made.entries is not None and is_text(key):
                made.entries[key.value] = shape  # type: ignore[attr-defined]
            else:
                self.value(key)
                escape(made)
                escape(shape)
        return made

    def update(self, owner: Dictionary, added: Shape, *, is_copied: bool = False) -> None:
        """Puts the entries of one dictionary into another."""
        if owner.entries is not None and isinstance(added, Dictionary) and added.entries is not None:
            owner.entries |= added.entries
        else:
            escape(owner)
            (escape_below if is_copied else escape)(added)

    def operation(self, left: Shape, op: ast.operator, right: Shape) -> Shape:
        """`a | b` of dictionaries, `a + b` of tuples."""
        if isinstance(op, ast.BitOr) and isinstance(left, Dictionary) and isinstance(right, Dictionary):
            made = Dictionary()
            self.update(made, left)
            self.update(made, right)
            return made
        if isinstance(op, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        escape(left)
        escape(right)
        return None

    def item(self, owner: Shape, index: ast.expr) -> Shape:
        """`owner[index]`."""
        match owner, index:
            case Dictionary(entries=dict(entries)), ast.Constant(value=str(key)):
                return entries.get(key)
            case tuple(), ast.Constant(value=int(at)) if 0 <= at < len(owner):
                return owner[at]
            case tuple(), ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(at))) if 0 < at <= len(owner):
                return owner[-at]
        self.value(index)
        escape_below(owner)
        return None

    def each(self, node: ast.DictComp) -> Shape:
        """`{k: f(v) for k, v in metrics.items()}`: a dictionary of the same keys; None of any other."""
        match node:
            case ast.DictComp(
                key=ast.Name(id=key),
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
                        iter=ast.Call(func=ast.Attribute(value=owner, attr="items"), args=[], keywords=[]),
                        ifs=[],
                    )
                ],
            ) if key == first != second:
                shape = self.value(owner)
                if isinstance(shape, Dictionary) and shape.entries is not None:
                    keys = [*shape.entries]
                    escape_below(shape)
                    self.mentioned(node.value)
                    return Dictionary(dict.fromkeys(keys))
        return None

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        """What a comprehension goes through, and what it mentions."""
        escape_below(self.value(node.generators[0].iter))
        first = {*ast.walk(node.generators[0].iter)}
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and one not in first:
                escape(self.names.get(one.id))

    def mentioned(self, node: ast.expr) -> None:
        """What the element of a comprehension mentions."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                escape(self.names.get(one.id))

    def call(self, node: ast.Call) -> Shape:
        """The value of a call."""
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, Dictionary):
                return self.method(owner, node.func.attr, node)
            escape(owner)
        elif not isinstance(node.func, ast.Name):
            escape(self.value(node.func))
        if has_stars(node):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                escape(self.value(argument.value if isinstance(argument, ast.Starred) else argument))
            return None
        given = [self.value(one) for one in node.args]
        by_name = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        values = self.resolver.values(node.func, self.module)
        value = unwrapped(values[0], self.resolver) if len(values) == 1 else None
        match value:
            case External(name="builtins.dict") if len(given) <= 1:
                made = Dictionary({**by_name})
                if given:
                    made = Dictionary()
                    self.update(made, given[0], is_copied=True)
                    self.update(made, Dictionary({**by_name}))
                return made
            case External(name="builtins.tuple") if len(given) == 1 and isinstance(given[0], tuple):
                return given[0]
            case None:
                for one in (*given, *by_name.values()):
                    escape(one)
                return None
        return self.call_value(value, given, by_name)

    def method(self, owner: Dictionary, name: str, node: ast.Call) -> Shape:
        """A method of a dictionary."""
        stars, words = has_stars(node), {str(one.arg): self.value(one.value) for one in node.keywords}
        given = [self.value(one.value if isinstance(one, ast.Starred) else one) for one in node.args]
        key = node.args[0].value if node.args and is_text(node.args[0]) else None  # type: ignore[attr-defined]
        entries = owner.entries
        if entries is not None and not stars:
            match name:
                case "items" | "keys" | "values" if not given:
                    escape_below(owner)
                    return None
                case "copy" if not given:
                    return Dictionary({**entries})
                case "update" if len(given) <= 1:
                    for one in given:
                        self.update(owner, one)
                    self.update(owner, Dictionary(words))
                    return None
                case "pop" if key in entries:
                    return entries.pop(key)
                case "get" if key in entries:
                    return entries[key]
        escape(owner)
        for one in (*given, *words.values()):
            escape(one)
        return None


def is_text(node: ast.expr) -> bool:
    """Whether an expression is a string that is written out: a known key."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
