"""Lexical scopes and bindings of one module, as Python's own name resolution sees them.

One walk over the tree records, for every scope, each place that binds a name, and for every expression the scope in
which it is evaluated. Decorators, defaults and annotations belong to the enclosing scope; the first iterable of a
comprehension too; a walrus binds in the enclosing function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from jaxmigrate.records import made, record

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ScopeKind = Literal["module", "class", "function", "comprehension"]
BindingKind = Literal["import", "from", "assign", "def", "class", "param", "other"]
Path: TypeAlias = tuple[int | str, ...]
Reference: TypeAlias = ast.Name | ast.Attribute


@record(eq=False, frozen=False)  # not frozen: there are as many as names are bound, and freezing is half their cost
class Binding:
    """One place that binds a name.

    `node` is the statement, parameter or alias that binds; `value` the expression assigned, if the binding is a plain
    assignment; `path` the indices that lead from `value` to the name when a tuple is unpacked.
    """

    kind: BindingKind
    name: str
    node: ast.AST
    scope: Scope
    value: ast.expr | None = None
    path: Path = ()


@record(eq=False, frozen=False)
class Scope:
    """A scope with its bindings; `parent` is the lexically enclosing one."""

    kind: ScopeKind
    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = made(factory=dict)
    outer_names: set[str] = made(factory=set)
    children: list[Scope] = made(factory=list)

    def lookup(self, name: str) -> Scope | None:
        """The scope that holds `name` as seen from here, or None for a builtin or a star import."""
        scope: Scope | None = self
        while scope is not None:
            visible = scope is self or scope.kind != "class"
            if visible and name in scope.bindings and name not in scope.outer_names:
                return scope
            scope = scope.parent
        return None

    def function(self) -> Scope | None:
        """The nearest enclosing function scope, this one included."""
        scope: Scope | None = self
        while scope is not None and scope.kind != "function":
            scope = scope.parent
        return scope

    def module(self) -> Scope:
        """The module's scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def below(self) -> Iterator[Scope]:
        """All scopes within this one."""
        for one in self.children:
            yield one
            yield from one.below()


@record(eq=False)
class Attribute:
    """An assignment `target.attr = value`, kept for `self.attr` and for module attributes."""

    target: ast.expr
    attr: str
    value: ast.expr
    scope: Scope
    node: ast.AST


@record(eq=False, frozen=False)
class ScopeTable:
    """All that one walk over a module records.

    `references` are the names and attributes that are read, `named` the same by the last part of their names; `imports`
    is every name that an import binds, in functions too. `unpacked` are attributes that get a part of a value each.
    """

    root: Scope
    scope_of: dict[ast.AST, Scope]
    own_scope: dict[ast.AST, Scope]
    parents: dict[ast.AST, ast.AST]
    references: list[Reference]
    named: dict[str, list[Reference]]
    calls: list[ast.Call]
    attributes: list[Attribute]
    star_imports: list[ast.ImportFrom]
    imports: list[Binding]
    import_statements: list[ast.Import | ast.ImportFrom]
    unpacked: list[Attribute]

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is, or stands in."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        return current

    def function_of(self, node: ast.AST) -> FunctionNode | None:
        """The innermost function that a node is, or stands in."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            current = self.parents.get(current)
        return current

    def loop_of(self, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
        """The innermost loop of its function that a node stands in."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
            if isinstance(above, ast.For | ast.AsyncFor | ast.While):
                return above
            above = self.parents.get(above)
        return None

    def block_of(self, statement: ast.AST | None) -> list[ast.stmt]:
        """The statements that one stands among, in their order; none for what is no statement of a block."""
        above = self.parents.get(statement) if statement is not None else None
        blocks = (getattr(above, name, None) for name in ("body", "orelse", "finalbody"))
        return next((block for block in blocks if isinstance(block, list) and statement in block), [])


def build_scopes(tree: ast.Module, text: str | None = None) -> ScopeTable:
    """The scope table of a module's tree; the text, where it is at hand, spares a search for declarations."""
    builder = _Builder(tree)
    builder.declares = text is None or _may_declare(text)
    builder.body(tree.body, builder.table.root, tree)
    return builder.table


def _may_declare(text: str) -> bool:
    """Whether a statement may begin with `global` or `nonlocal`: the first is a word of many comments."""
    for word in ("global ", "nonlocal "):
        at = text.find(word)
        while at >= 0:
            if text[max(0, at - 80) : at].rstrip(" \t\f")[-1:] in ("", "\r", "\n", ";", ":"):
                return True
            at = text.find(word, at + 1)
    return False


def all_parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    """Every parameter in order: positional, *args, keyword-only, **kwargs."""
    yield from arguments.posonlyargs
    yield from arguments.args
    if arguments.vararg:
        yield arguments.vararg
    yield from arguments.kwonlyargs
    if arguments.kwarg:
        yield arguments.kwarg


def positional_names(arguments: ast.arguments) -> list[str]:
    """The names of the parameters that can be passed by position, in order."""
    return [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]


def defaults_of(arguments: ast.arguments) -> list[tuple[str, ast.expr]]:
    """The parameters that have a default, each with it: positional ones, then keyword-only ones."""
    names = positional_names(arguments)
    found = list(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True))
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found + [(parameter.arg, default) for parameter, default in named if default is not None]


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement says something to readers and does nothing: a docstring, or another constant by itself."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that can hold other nodes; contexts and operators, which all nodes share, do not."""
    return tuple(
        name for name in kind._fields if name not in _LEAVES and not (kind is ast.Constant and name == "value")
    )


_LEAVES = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "lineno", "level", "module"})


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node in the order of its fields, but for contexts and operators."""
    found: list[ast.AST] = []
    for name in _CHILD_FIELDS[type(node)]:
        child = getattr(node, name, None)
        if isinstance(child, list):
            found += [one for one in child if isinstance(one, ast.AST)]
        elif isinstance(child, ast.AST):
            found.append(child)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, level by level: what `ast.walk` gives without contexts and operators."""
    found = [node]
    for one in found:  # which grows as it goes
        found += children(one)
    return found


def inner_statements(node: ast.AST) -> list[ast.AST]:
    """The statements right within one, and the handlers and cases that hold some in their turn."""
    found: list[ast.AST] = []
    for name in _HOLDING.get(type(node), ()):
        found += getattr(node, name)
    return found


_PARTS = ("body", "orelse", "finalbody", "handlers", "cases")
_STATEMENTS: tuple[type[ast.AST], ...] = (ast.Module, *ast.stmt.__subclasses__(), ast.ExceptHandler, ast.match_case)
_HOLDING = {kind: parts for kind in _STATEMENTS if (parts := tuple(name for name in _PARTS if name in kind._fields))}
_KINDS = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
_CHILD_FIELDS = {kind: child_fields(kind) for kind in _KINDS}


class _Builder:
    """Walks a tree once, iteratively for expressions' children, filling a ScopeTable."""

    def __init__(self, tree: ast.Module) -> None:
        root = Scope("module", tree, None)
        self.table = ScopeTable(root, {tree: root}, {tree: root}, {}, [], {}, [], [], [], [], [], [])
        self.parents, self.scope_of = self.table.parents, self.table.scope_of
        self.references, self.named = self.table.references, self.table.named
        self.declares = True

    def body(self, statements: list[ast.stmt], scope: Scope, parent: ast.AST) -> None:
        for statement in statements:
            self.visit(statement, scope, parent)

    def visit(self, node: ast.AST, scope: Scope, parent: ast.AST) -> None:
        self.parents[node] = parent
        self.scope_of[node] = scope
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node, scope)
        else:
            self.children(node, scope)

    def children(self, node: ast.AST, scope: Scope) -> None:
        for name in _CHILD_FIELDS[type(node)]:
            child = getattr(node, name, None)
            if child.__class__ is list:
                for one in child:
                    if isinstance(one, ast.AST):
                        self.visit(one, scope, node)
            elif isinstance(child, ast.AST):
                self.visit(child, scope, node)

    def bind(
        self,
        kind: BindingKind,
        name: str,
        node: ast.AST,
        scope: Scope,
        value: ast.expr | None = None,
        path: Path = (),
    ) -> None:
        if name in scope.outer_names:
            scope = self._outer(name, scope)
        made = Binding(kind, name, node, scope, value, path)
        known = scope.bindings.get(name)
        if known is None:
            scope.bindings[name] = [made]
        else:
            known.append(made)
        if kind in ("import", "from"):
            self.table.imports.append(made)

    @staticmethod
    def _outer(name: str, scope: Scope) -> Scope:
        module = scope.module()
        enclosing = scope.parent
        while enclosing is not None and enclosing is not module:
            if enclosing.kind == "function" and name in enclosing.bindings and name not in enclosing.outer_names:
                return enclosing
            enclosing = enclosing.parent
        return module

    def new_scope(self, kind: ScopeKind, node: ast.AST, parent: Scope) -> Scope:
        scope = Scope(kind, node, parent)
        parent.children.append(scope)
        self.table.own_scope[node] = scope
        return scope

    # Names and attributes

    def refer(self, name: str, node: Reference) -> None:
        self.references.append(node)
        known = self.named.get(name)
        if known is None:
            self.named[name] = [node]
        else:
            known.append(node)

    def visit_Name(self, node: ast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self.refer(node.id, node)
        else:
            self.bind("other", node.id, node, scope)

    def visit_Attribute(self, node: ast.Attribute, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self.refer(node.attr, node)
        self.visit(node.value, scope, node)

    def visit_Call(self, node: ast.Call, scope: Scope) -> None:
        self.table.calls.append(node)
        self.visit(node.func, scope, node)
        for argument in node.args:
            self.visit(argument, scope, node)
        for keyword in node.keywords:
            self.parents[keyword] = node
            self.scope_of[keyword] = scope
            self.visit(keyword.value, scope, keyword)

    def visit_Constant(self, node: ast.Constant, scope: Scope) -> None:
        """Nothing stands below it."""

    # Assignments

    def target(
        self, target: ast.expr, value: ast.expr, scope: Scope, parent: ast.AST, statement: ast.AST, path: Path = ()
    ) -> None:
        if isinstance(target, ast.Name):
            self.parents[target] = parent
            self.scope_of[target] = scope
            self.bind("assign", target.id, statement, scope, value, path)
        elif isinstance(target, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in target.elts):
            self.table.parents[target] = parent
            self.table.scope_of[target] = scope
            for index, element in enumerate(target.elts):
                self.target(element, value, scope, target, statement, (*path, index))
        else:
            if isinstance(target, ast.Attribute):
                kept = self.table.unpacked if path else self.table.attributes
                kept.append(Attribute(target.value, target.attr, value, scope, statement))
            self.visit(target, scope, parent)

    def visit_Assign(self, node: ast.Assign, scope: Scope) -> None:
        self.visit(node.value, scope, node)
        for target in node.targets:
            self.target(target, node.value, scope, node, node)

    def visit_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.visit(node.annotation, scope, node)
        if node.value is not None:
            self.visit(node.value, scope, node)
            self.target(node.target, node.value, scope, node, node)
        elif isinstance(node.target, ast.Name):
            self.parents[node.target] = node
            self.scope_of[node.target] = scope
            if scope.kind == "class":
                self.bind("other", node.target.id, node, scope)
        else:
            self.visit(node.target, scope, node)

    def visit_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        self.visit(node.target, scope, node)
        self.visit(node.value, scope, node)

    def visit_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> None:
        self.visit(node.value, scope, node)
        holder = scope
        while holder.kind == "comprehension" and holder.parent is not None:
            holder = holder.parent
        self.target(node.target, node.value, holder, node, node)

    # Imports

    def visit_Import(self, node: ast.Import, scope: Scope) -> None:
        self.table.import_statements.append(node)
        for alias in node.names:
            self.bind("import", alias.asname or alias.name.partition(".")[0], alias, scope)

    def visit_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        self.table.import_statements.append(node)
        for alias in node.names:
            if alias.name == "*":
                self.table.star_imports.append(node)
            else:
                self.table.parents[alias] = node
                self.bind("from", alias.asname or alias.name, alias, scope)

    # Definitions

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator, scope, node)
        self.arguments(node.args, scope, node)
        if node.returns is not None:
            self.visit(node.returns, scope, node)
        self.bind("def", node.name, node, scope)
        inner = self.new_scope("function", node, scope)
        self.parameters(node, inner)
        self.declare(node.body, inner)
        self.body(node.body, inner, node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda, scope: Scope) -> None:
        self.arguments(node.args, scope, node)
        inner = self.new_scope("function", node, scope)
        self.parameters(node, inner)
        self.visit(node.body, inner, node)

    def arguments(self, arguments: ast.arguments, scope: Scope, parent: ast.AST) -> None:
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            if default is not None:
                self.visit(default, scope, parent)
        for parameter in all_parameters(arguments):
            if parameter.annotation is not None:
                self.visit(parameter.annotation, scope, parent)

    def parameters(self, node: FunctionNode, inner: Scope) -> None:
        for parameter in all_parameters(node.args):
            self.table.parents[parameter] = node
            self.bind("param", parameter.arg, parameter, inner)

    def declare(self, statements: list[ast.stmt], scope: Scope) -> None:
        """Global and nonlocal declarations hold for the whole function, so they are read before its body."""
        if not self.declares:
            return
        stack: list[ast.AST] = list(statements)
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Global | ast.Nonlocal):
                scope.outer_names.update(node.names)
            elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case) and not isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            ):
                stack += children(node)

    def visit_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        for expression in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(expression, scope, node)
        self.bind("class", node.name, node, scope)
        self.body(node.body, self.new_scope("class", node, scope), node)

    # Comprehensions

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope) -> None:
        inner = self.new_scope("comprehension", node, scope)
        for index, generator in enumerate(node.generators):
            self.table.parents[generator] = node
            self.visit(generator.iter, scope if index == 0 else inner, generator)
            self.visit(generator.target, inner, generator)
            for condition in generator.ifs:
                self.visit(condition, inner, generator)
        for element in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self.visit(element, inner, node)

    visit_SetComp = visit_ListComp
    visit_GeneratorExp = visit_ListComp
    visit_DictComp = visit_ListComp

    # Other binders

    def visit_ExceptHandler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name:
            self.bind("other", node.name, node, scope)
        self.children(node, scope)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
        if node.name:
            self.bind("other", node.name, node, scope)
        self.children(node, scope)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping, scope: Scope) -> None:
        if node.rest:
            self.bind("other", node.rest, node, scope)
        self.children(node, scope)


_HANDLERS: dict[type[ast.AST], Callable[[_Builder, Any, Scope], None]] = {
    getattr(ast, name.removeprefix("visit_")): handler
    for name, handler in vars(_Builder).items()
    if name.startswith("visit_")
}
