"""What the code of a function makes of containers, run by statements on what is known of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from jaxmigrate.flow.layout.container_expressions import Call, ContainerExpressions
from jaxmigrate.flow.layout.container_shapes import (
    Dictionary,
    Meeting,
    Names,
    Shape,
    escape,
    escape_below,
    fixed_names,
    fork,
    met,
)
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External, Function


class ContainerCode(ContainerExpressions):
    """The code of one function, while it runs on shapes."""

    def __init__(self, function: Function, resolver: Resolver, call_value: Call) -> None:
        super().__init__(function, resolver, call_value)
        self.results: list[Shape] = []
        self.left: list[list[Names]] = []  # how loops are left, or begun anew, before their end

    def run(self, start: Names) -> Shape:
        """What the function returns, given these arguments."""
        self.names = start
        for name in self.shared:
            escape(start.get(name))
        if isinstance(self.node, ast.Lambda):
            return self.value(self.node.body)
        if self.block(self.node.body):
            self.results.append(None)
        result, *others = self.results or [None]
        for other in others:
            result = Meeting().of(result, other)
        return result

    def block(self, statements: Iterable[ast.stmt]) -> bool:
        """Runs statements; whether control gets behind them."""
        return all(self.statement(one) for one in statements)

    def statement(self, node: ast.stmt) -> bool:  # noqa: C901 - one case a statement
        """Runs a statement; whether control gets behind it."""
        match node:
            case ast.Return(value=value):
                self.results.append(self.value(value) if value is not None else None)
                return False
            case ast.Raise():
                self.others(node)
                return False
            case ast.Break() | ast.Continue():
                self.left[-1].append(fork(self.names))
                return False
            case ast.Assign(targets=targets, value=value):
                shape = self.value(value)
                for target in targets:
                    self.bind(target, shape)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.bind(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self.change(target, op, value)
            case ast.Expr(value=value):
                self.value(value)
            case ast.Assert(test=test):
                self.value(test)
            case ast.If(test=test, body=body, orelse=orelse):
                self.value(test)
                return self.ways([body, orelse])
            case ast.For(target=target, iter=source, body=body, orelse=orelse):
                shape = self.value(source)
                escape_below(shape)
                return self.loop(body, orelse, target)
            case ast.While(test=test, body=body, orelse=orelse):
                self.value(test)
                return self.loop(body, orelse, None)
            case ast.With(items=items, body=body):
                for item in items:
                    escape(self.value(item.context_expr))
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, None)
                if all(map(self.is_of_jax, items)):
                    return self.block(body)
                return self.ways([body, []])  # it may end early
            case ast.Delete(targets=targets):
                for target in targets:
                    self.delete(target)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.names[name] = None
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    self.names[(alias.asname or alias.name).partition(".")[0]] = None
            case ast.Pass() | ast.Global() | ast.Nonlocal():
                pass
            case _:
                self.unknown(node)
        return True

    def is_of_jax(self, item: ast.withitem) -> bool:
        """Whether a context names what is computed in it, say, and keeps no exceptions to itself."""
        called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
        value = self.resolver.value(called, self.module)
        return isinstance(value, External) and value.name.startswith("jax.")

    def unknown(self, node: ast.stmt) -> None:
        """A statement of another kind: what it mentions is not known any more, and it may return anything."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                escape(self.names.get(one.id))
                self.names[one.id] = None
        if any(isinstance(one, ast.Return) for one in ast.walk(node)):
            self.results.append(None)

    def ways(self, bodies: Sequence[Sequence[ast.stmt]]) -> bool:
        """Runs one of several bodies."""
        before, after = self.names, None
        for body in bodies:
            self.names = fork(before)
            if self.block(body):
                after = met(after, self.names)
        self.leave(before)
        self.names = after if after is not None else {}
        return after is not None

    def loop(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], target: ast.expr | None) -> bool:
        """Runs a body any number of times: what it makes of the names has to be what they are."""
        for last in (False, False, True):
            if last:
                self.leave(self.names)
            before, kept = self.names, len(self.results)
            known = fixed_names(before)
            self.left.append([])
            self.names = fork(before)
            if target is not None:
                self.bind(target, None)
            after = met(fork(before), self.names if self.block(body) else None)
            for one in self.left.pop():
                after = met(after, one)
            assert after is not None
            self.leave(before)
            self.names = after
            if fixed_names(after) == known:
                break
            if not last:
                del self.results[kept:]
        return self.block(orelse)

    def change(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        """`target op= value`."""
        added = self.value(value)
        known = self.value(target) if isinstance(target, ast.Name) else None
        if isinstance(known, Dictionary) and isinstance(op, ast.BitOr):
            self.update(known, added)
        elif isinstance(target, ast.Name):
            escape(known)
            escape(added)
            self.names[target.id] = None
        else:
            self.bind(target, added)

    def delete(self, target: ast.expr) -> None:
        """`del target`, of a name, an entry or something else."""
        match target:
            case ast.Name(id=name):
                self.names[name] = None
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
                shape = self.value(owner)
                if isinstance(shape, Dictionary) and shape.entries is not None:
                    shape.entries.pop(key, None)
                else:
                    escape(shape)
            case _:
                self.others(target)
