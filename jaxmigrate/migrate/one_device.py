"""Arguments that are not mapped and lie on one device: pmap copied them to all, `jax.jit` refuses them.

A slice of a stacked array, and what was put on a device, is committed to it. Only a map that is seen to be given such
an array has its helper move it, since most are given numbers and keys, which lie nowhere in particular. Names are
followed by their last parts alone: one that is followed too far costs a line of code and changes nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import cast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, Reference
from jaxmigrate.program.values import Argument

TAKES_ONE = frozenset({"unreplicate", "get_first", "device_put"})
DISPLAYS = ast.Tuple | ast.List | ast.Dict | ast.IfExp | ast.BoolOp | ast.Starred | ast.keyword | ast.NamedExpr
HOLDERS = DISPLAYS | ast.Call | ast.Attribute | ast.Subscript
FETCHES = frozenset({"int", "float", "bool", "str", "len", "device_get", "tolist"})
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
DEEPEST = 3  # functions that make functions that make maps, and parameters that are given parameters
Place = tuple[ast.expr, Module]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def is_given_one_device(
    site: MappedSite, in_axes: Argument, resolver: Resolver, changed: Collection[ast.AST] = ()
) -> bool:
    """Whether some call gives an array of one device for an argument whose axis is None; for `changed` see below."""
    axes = in_axes.expression
    if not isinstance(axes, ast.Tuple | ast.List | ast.Constant):
        return False
    elements = [axes] if isinstance(axes, ast.Constant) else axes.elts
    places = [i for i, axis in enumerate(elements) if isinstance(axis, ast.Constant) and axis.value is None]
    return is_given_alone(site, places, resolver, changed)


def is_given_alone(
    site: MappedSite, places: Collection[int], resolver: Resolver, changed: Collection[ast.AST] = ()
) -> bool:
    """Whether some call gives an array of one device at some places; `changed` nodes no longer make such arrays."""
    return bool(places) and _any_alone((site.node, site.module), 0, places, resolver, changed)


def may_give_one_device(reference: Reference, resolver: Resolver, changed: Collection[ast.AST] = ()) -> bool:
    """The same of what is made of pmap in a way that is not followed, whose axes are not known."""
    return _any_alone((reference.node, reference.module), 1, None, resolver, changed)


def _any_alone(
    start: Place, level: int, places: Collection[int] | None, resolver: Resolver, changed: Collection[ast.AST]
) -> bool:
    uses = _Uses(resolver)
    uses.follow(start, level)
    return any(
        uses.lies_alone(node, module, changed)
        for arguments, module in uses.given
        for i, node in enumerate(arguments)
        if places is None or i in places or isinstance(node, ast.Starred)
    )


class _Uses:
    """Where a map goes: the names that it has, and what it is given under them.

    The level of a node is how often it is called until what comes out is what the map returns, less one.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.given: list[tuple[list[ast.expr], Module]] = []
        self._seen: set[tuple[ast.AST | str, int]] = set()

    def follow(self, start: Place, level: int) -> None:
        """Lists what a map is given wherever it goes."""
        waiting = [(*start, level)]
        while waiting:
            node, module, level = waiting.pop()
            if level > DEEPEST or (node, level) in self._seen:
                continue
            self._seen.add((node, level))
            waiting += self._next(node, module, level)

    def _next(self, node: ast.expr, module: Module, level: int) -> Iterator[tuple[ast.expr, Module, int]]:
        """The expressions that have a node's value next."""
        match parent := module.table.parents.get(cast("ast.AST", node)):
            case ast.Call() if parent.func is node:
                if level:
                    yield parent, module, level - 1
                else:
                    self.given.append((_unpacked(parent.args), module))
            case ast.Call():
                if not level:
                    self.given.append((_unpacked(parent.args[1:]), module))
                yield parent, module, level
                yield from self._mentions(self._parameter(parent, node), level)
            case ast.keyword():
                yield cast("ast.expr", parent), module, level
                yield from self._mentions([parent.arg or ""], level)
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
                yield from self._mentions(_names_in(targets), level)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._mentions([parent.name], level)
            case ast.Return() | ast.Lambda():
                yield from self._made_by(parent, module, level + 1)
            case _ if isinstance(parent, DISPLAYS):
                yield cast("ast.expr", parent), module, level

    def _made_by(self, node: ast.AST, module: Module, level: int) -> Iterator[tuple[ast.expr, Module, int]]:
        """The mentions of the function that returns something."""
        owner: ast.AST | None = node
        while owner is not None and not isinstance(owner, Definition):
            owner = module.table.parents.get(owner)
        if isinstance(owner, ast.Lambda):
            yield owner, module, level
        elif owner is not None:
            yield from self._mentions([owner.name], level)

    def _mentions(self, names: Iterable[str], level: int) -> Iterator[tuple[ast.expr, Module, int]]:
        for name in names:
            if not name or (name, level) in self._seen:
                continue
            self._seen.add((name, level))
            for module in self.resolver.project.named:
                if name in module.text:
                    yield from ((node, module, level) for node in module.table.named.get(name, ()))

    def _parameter(self, call: ast.Call, node: ast.expr) -> Iterator[str]:
        """The parameter that an argument is for, in functions of the project with the name that is called."""
        if node in call.args:
            for function, _ in self._functions(_last_part(call.func)):
                parameters = [*function.args.posonlyargs, *function.args.args]
                own = bool(parameters) and parameters[0].arg == "self" and isinstance(call.func, ast.Attribute)
                yield from (p.arg for p in parameters[own:][call.args.index(node) :][:1])

    def _functions(self, name: str) -> list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Module]]:
        """The functions of a project that have a name."""
        key = "functions by name"
        known = cast("dict[str, list[tuple[ast.FunctionDef, Module]]]", self.resolver.remembered.setdefault(key, {}))
        if not known:
            for module in self.resolver.project.named:
                for node in module.nodes:
                    if isinstance(node, FUNCTIONS):
                        known.setdefault(node.name, []).append((cast("ast.FunctionDef", node), module))
        return cast("list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Module]]", known.get(name, []))

    def lies_alone(self, node: ast.expr, module: Module, changed: Collection[ast.AST], depth: int = 0) -> bool:
        """Whether an expression, or what the name that it is stands for, takes one slice or puts it on a device."""
        if self._takes_one(node, changed):
            return True
        name = _last_part(node.value if isinstance(node, ast.Starred) else node)
        if any(self._takes_one(value, changed) for value in _assigned(name, module)):
            return True
        if depth == DEEPEST or not isinstance(node, ast.Name):
            return False
        passed = self._passed(node, module)
        return any(self.lies_alone(one, where, changed, depth + 1) for one, where in passed)

    def _passed(self, node: ast.Name, module: Module) -> Iterator[Place]:
        """What calls give for the parameter that a name is, of a function with a name or one called where it stands."""
        owner = module.table.parents.get(cast("ast.AST", node))
        while owner is not None and not (isinstance(owner, Definition) and node.id in _positional(owner)):
            owner = module.table.parents.get(owner)
        if not isinstance(owner, Definition):
            return
        uses, place = _Uses(self.resolver), _positional(owner).index(node.id)
        if isinstance(owner, ast.Lambda):
            uses.follow((owner, module), 0)
        else:
            for start in uses._mentions([owner.name], 0):
                uses.follow(start[:2], 0)
        for arguments, where in uses.given:
            yield from ((one, where) for one in arguments[place : place + 1])

    def _takes_one(self, node: ast.expr, changed: Collection[ast.AST]) -> bool:
        """Whether an expression holds something of one device; a plain `x[0]` only where it is not computed with."""
        waiting: list[tuple[ast.AST, bool]] = [(node, True)]
        while waiting:
            one, plain = waiting.pop()
            if one in changed or (isinstance(one, ast.Call) and _last_part(one.func) in FETCHES):
                continue
            if (plain and _is_first(one)) or (isinstance(one, ast.Call) and self._gives_one(one)):
                return True
            if isinstance(one, HOLDERS):
                plain = plain and isinstance(one, DISPLAYS)
                waiting += ((child, plain) for child in ast.iter_child_nodes(one))
        return False

    def _gives_one(self, call: ast.Call) -> bool:
        """Whether what is called takes one slice of its argument: by its name, or by what it returns."""
        name = _last_part(call.func)
        if name in TAKES_ONE or any(isinstance(a, ast.Lambda) and _is_first(a.body) for a in call.args):
            return True
        returned = (n.value for f, _ in self._functions(name) for n in ast.walk(f) if isinstance(n, ast.Return))
        return any(
            isinstance(inner, ast.Lambda) and _is_first(inner.body)
            for value in returned
            if isinstance(value, ast.Call)
            for inner in value.args
        )


def _is_first(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0


def _unpacked(arguments: Iterable[ast.expr]) -> list[ast.expr]:
    """The arguments of a call, with those that stand in a tuple behind a star."""
    found: list[ast.expr] = []
    for one in arguments:
        inner = one.value if isinstance(one, ast.Starred) else None
        found += _unpacked(inner.elts) if isinstance(inner, ast.Tuple | ast.List) else [one]
    return found


def _positional(function: Definition) -> list[str]:
    names = [p.arg for p in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] == ["self"] else names


def _last_part(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names_in(targets: Iterable[ast.expr]) -> Iterator[str]:
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from _names_in(target.elts)
        else:
            yield _last_part(target.value if isinstance(target, ast.Starred) else target)


def _assigned(name: str, module: Module) -> Iterator[ast.expr]:
    """What is assigned to a name, or an attribute of that name, anywhere in a module."""
    for node in module.nodes if name else ():
        if isinstance(node, ast.Assign) and name in _names_in(node.targets):
            yield node.value
