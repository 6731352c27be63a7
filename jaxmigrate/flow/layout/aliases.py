"""Names of a list, and whether something changes it in place under one of them, in any module of the program."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jaxmigrate.flow.layout import set_by_name
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, Function
from jaxmigrate.records import record

CHANGES = frozenset(
    {
        "append",
        "clear",
        "extend",
        "insert",
        "pop",
        "remove",
        "reverse",
        "sort",
        "__delitem__",
        "__iadd__",
        "__setitem__",
    }
)
TAKERS = frozenset({"list", "operator"})  # `list.pop(devices)`, `operator.delitem(devices, 0)`
HELD = frozenset({"get", "items", "setdefault", "values"})  # give what a dictionary holds
SHUFFLE = "shuffle"  # numpy's and Python's
APPLIES = frozenset({"filter", "map", "starmap"})  # a function to the elements of a display


@record
class Alias:
    """A name of a variable, attribute or function that gives it; of one function only where that is given.

    `place`: the function returns a tuple, and has it there.
    """

    name: str
    function: FunctionNode | None = None
    module: Module | None = None
    place: int | None = None

    def within(self, name: str, place: int | None = None) -> Alias:
        """Another name in the same function, or anywhere, as what that function returns."""
        returned = name == getattr(self.function, "name", "")
        return Alias(name, place=place) if returned else Alias(name, self.function, self.module, place)


def change(names: Iterable[Alias], resolver: Resolver) -> bool:
    """Whether a program changes in place what goes by some names, or by one that is given to that."""
    seen = {*names}
    pending = [*seen]
    while pending:
        alias = pending.pop()
        if set_by_name.may_be(alias.name, resolver):
            return True
        for node, module in _mentions(alias, resolver):
            if _is_changed_at(node, module):
                return True
            more = {alias.within(*one) for one in _named_by(node, module, alias.place)}
            more |= {Alias(name) for name in _attributes_of(node, module)} | {*_given(node, module, resolver)}
            pending += more - seen
            seen |= more
    return False


def named_by(made: ast.AST, module: Module) -> set[Alias]:
    """The names of variables and attributes that get what an expression gives, or something that holds it."""
    return {Alias(name, place=place) for name, place in _named_by(made, module)}


def _named_by(made: ast.AST, module: Module, place: int | None = None) -> set[tuple[str, int | None]]:
    """The same, and where a function returns a tuple, at which `place` of it; it is at a `place` of what is made."""
    parent = module.table.parents.get(made)
    match parent:
        case ast.Assign(targets=targets, value=value) if value is made:
            at = place if isinstance(made, ast.Call | ast.Tuple) else None
            return {(name, None) for target in targets for name in _names_in(_at(target, at))}
        case ast.Return():
            scope = module.table.scope_of[made].function()
            name = getattr(scope.node, "name", "") if scope is not None else ""
            given_on = isinstance(made, ast.Call | ast.Tuple) and scope is not None and _is_plain(scope.node)
            return {(name, place if given_on else None)} if name else set()
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value) if value is made:
            found: set[tuple[str, int | None]] = {(name, None) for name in {last_name(target)} - {""}}
            return found | _named_by(parent, module) if isinstance(parent, ast.NamedExpr) else found
        case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over) if over is made:
            return {(name, None) for name in _names_in(target)}
        case ast.Call(func=func) if func is made:
            return _named_by(parent, module, place)
        case ast.Attribute(attr=attr) if attr in HELD:
            return _named_by(parent, module)
        case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
            return {(name, None) for name in {_with_default(arguments, made)} - {""}}
        case ast.Lambda(args=arguments, body=body) if made is not body:
            return {(name, None) for name in {_with_default(arguments, made)} - {""}}
        case ast.Subscript(value=value, slice=index) if value is made and not isinstance(index, ast.Slice):
            is_other = isinstance(index, ast.Constant) and isinstance(index.value, int) and 0 <= index.value != place
            return set() if is_other and isinstance(made, ast.Call) and place is not None else _named_by(parent, module)
        case ast.Tuple(elts=elements):
            at = next((i for i, one in enumerate(elements) if one is made), None)
            stars = any(isinstance(one, ast.Starred) for one in elements)
            return _named_by(parent, module, None if stars else at)
        case ast.Lambda() | ast.List() | ast.Dict() | ast.IfExp() | ast.BoolOp():
            return _named_by(parent, module)
    return set()


def _at(target: ast.expr, place: int | None) -> ast.expr:
    """The part of a target that gets what is at a place of a value, where it has such a part."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    if place is None or place >= len(parts) or any(isinstance(one, ast.Starred) for one in parts):
        return target
    return parts[place]


def _is_plain(function: ast.AST) -> bool:
    """Whether a function is called as it is written: without a decorator that may change what it returns."""
    decorators = function.decorator_list if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else [function]
    return all(isinstance(one, ast.Name) and one.id in ("classmethod", "staticmethod") for one in decorators)


def _with_default(arguments: ast.arguments, default: ast.AST) -> str:
    """The parameter that an expression is the default of, which is the same list in each call."""
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = zip(
        [*placed[len(placed) - len(arguments.defaults) :], *arguments.kwonlyargs],
        [*arguments.defaults, *arguments.kw_defaults],
        strict=True,
    )
    return next((parameter.arg for parameter, value in defaults if value is default), "")


def _names_in(target: ast.expr) -> Iterator[str]:
    inner = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    for one in inner:
        if isinstance(one, ast.Tuple | ast.List):
            yield from _names_in(one)
        elif name := last_name(one.value if isinstance(one, ast.Starred | ast.Subscript) else one):
            yield name


def _attributes_of(node: ast.expr, module: Module) -> set[str]:
    """The attributes that an assignment gives a list, which other functions see."""
    parent = module.table.parents.get(node)
    targets = parent.targets if isinstance(parent, ast.Assign) and parent.value is node else []
    return {target.attr for target in targets if isinstance(target, ast.Attribute)}


def _mentions(alias: Alias, resolver: Resolver) -> Iterator[tuple[ast.expr, Module]]:
    if alias.function is not None and alias.module is not None:
        own = {*ast.walk(alias.function)}
        yield from ((one, alias.module) for one in alias.module.table.named.get(alias.name, ()) if one in own)
        yield from ((n.target, alias.module) for n in own if _augments(n, alias.name) and isinstance(n, ast.AugAssign))
        return
    for module in resolver.project.program:
        if alias.name in module.text:
            yield from ((node, module) for node in module.table.named.get(alias.name, ()))
            for one in module.nodes if "+=" in module.text or "*=" in module.text else ():
                if _augments(one, alias.name) and isinstance(one, ast.AugAssign):
                    yield one.target, module


def _augments(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.AugAssign) and last_name(node.target) == name


def _is_changed_at(node: ast.expr, module: Module) -> bool:
    """Whether a list is changed where it is named, or where it is taken from what holds it."""
    parents = module.table.parents
    parent = parents.get(node)
    match parent:
        case ast.AugAssign(target=target) if target is node:
            return True
        case ast.Attribute(attr=attr):
            held = attr in HELD and _is_changed_at(parent, module)
            return attr in CHANGES or held  # called there or later
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return value is node
        case ast.Subscript(value=value, slice=index) if value is node and not isinstance(index, ast.Slice):
            return _is_changed_at(parent, module)
        case ast.Call(func=func) if func is node:  # a function that returns it
            return _is_changed_at(parent, module)
        case ast.Call(func=func) if node in parent.args:
            owner = func.value if isinstance(func, ast.Attribute) else None
            return last_name(func) == SHUFFLE or (isinstance(owner, ast.Name) and owner.id in TAKERS)
        case ast.Tuple() | ast.List():
            outer = parents.get(parent)
            return isinstance(outer, ast.Starred) or (isinstance(outer, ast.Call) and last_name(outer.func) in APPLIES)
    return False


def _given(node: ast.expr, module: Module, resolver: Resolver) -> Iterator[Alias]:
    """The parameters, or fields of objects, that a call of the project's gives a list to."""
    parents = module.table.parents
    parent = parents.get(node)
    call = parents.get(parent) if isinstance(parent, ast.keyword | ast.Starred) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return
    given = parent.value if isinstance(parent, ast.keyword | ast.Starred) else node
    by_name = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    for value in resolver.values(call.func, module):
        function, own = (value, value.receiver is not None) if isinstance(value, Function) else (None, True)
        if isinstance(value, Class):
            inits = [one for one in value.node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
            if not inits:
                fields = [*resolver.declared_fields(value)]
                placed = zip(fields, call.args, strict=False)
                yield from (Alias(name) for name, one in [*placed, *by_name.items()] if one is given)
                continue
            function = Function(value.module, inits[0])
        if function is not None:
            bound = passed(function.node.args, call.args, by_name, int(own)).known
            yield from (Alias(n, function.node, function.module) for n, one in bound.items() if one is given)
