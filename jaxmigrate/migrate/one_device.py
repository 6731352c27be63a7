"""Arguments that are not mapped and lie on one device: pmap copied them to all, `jax.jit` refuses them.

A slice of a stacked array, and what was put on a device, is committed to it. Only a map that is seen to be given such
an array has its helper move it, since most are given numbers and keys, which lie nowhere in particular. Names are
followed by their last parts alone: one that is followed too far costs a line of code and changes nothing else.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from jaxmigrate.migrate.reads import Attribute, Key, Own, read_from, read_under
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, defaults_of, positional_names
from jaxmigrate.program.sites import MappedSite, Reference
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Argument, External

TAKES_ONE = frozenset({"unreplicate", "get_first", "device_put"})
DISPLAYS = ast.Tuple | ast.List | ast.Dict | ast.IfExp | ast.BoolOp | ast.Starred | ast.keyword | ast.NamedExpr
HOLDERS = DISPLAYS | ast.Call | ast.Attribute | ast.Subscript
LOOPS = ast.For | ast.AsyncFor | ast.comprehension
FETCHES = frozenset({"int", "float", "bool", "str", "len", "device_get", "tolist"})
MOST = 20_000  # expressions that names are followed to: what leads to more leads everywhere
DEEPEST = 3  # functions that make functions that make maps, and parameters that are given parameters
KEEPS_ARGUMENTS = frozenset({"jit", "wraps", "append"})  # of a function that they are given
FINDS_LOCALS = re.compile(  # `model.eval()` does not
    r"(?<!\.)\b(?:locals|eval|exec|vars|dir)\b|\b(?:builtins|_getframe|currentframe|f_locals|cell_contents)\b"
)
Place = tuple[ast.expr, Module]
Named = ast.FunctionDef | ast.AsyncFunctionDef


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


@dataclass(frozen=True, slots=True)
class Alone:
    """An argument that one device holds; `is_array`: it holds no numbers of Python, whose dtypes are weak."""

    node: ast.expr
    module: Module
    is_array: bool


def arguments_alone(
    site: MappedSite, places: Collection[int], resolver: Resolver, changed: Collection[ast.AST] = ()
) -> list[Alone] | None:
    """The arguments at some places that one device holds; None where no call in sight shows one of them."""
    uses = _uses_of_site(site, resolver)
    if _is_of_method((site.node, site.module)):
        places = {*places, *(place - 1 for place in places)}
    found: list[Alone] = []
    for given in uses.given:
        open_from = next((i for i, a in enumerate(given.arguments) if isinstance(a, ast.Starred)), len(given.arguments))
        for i, node in enumerate(given.arguments):
            if (i < open_from and i not in places) or not uses.lies_alone(node, given.module, changed):
                continue
            if i >= open_from or not given.is_call:
                return None
            found.append(Alone(node, given.module, uses.is_array(node, given.module, changed)))
    return found


def calls_of(site: MappedSite, resolver: Resolver) -> list[tuple[ast.Call, Module]]:
    """The calls of what a site maps, under every name that it goes by; names are followed by their last parts alone."""
    return _uses_of_site(site, resolver).calls


def hides_arguments(site: MappedSite, resolver: Resolver) -> bool:
    """Whether some use of what a site maps does not show what it is given: a partial of it, or an unknown function."""
    return _uses_of_site(site, resolver).hidden


def is_only_called(site: MappedSite, resolver: Resolver) -> bool:
    """Whether what a site maps is called where it is made, or by names of one function, and nothing else is done."""
    parent = site.module.table.parents.get(site.node)
    if isinstance(parent, Named) and len(parent.decorator_list) > 1:
        return False  # which another decorator may look at
    if FINDS_LOCALS.search(site.module.text):
        return False
    uses = _uses_of_site(site, resolver)
    return not (uses.hidden or uses.is_read or uses.is_lost)


def _uses_of_site(site: MappedSite, resolver: Resolver) -> _Uses:
    """Where what a site maps goes."""
    return _followed((site.node, site.module, 0, sys.maxsize), resolver)


def may_give_one_device(reference: Reference, resolver: Resolver, changed: Collection[ast.AST] = ()) -> bool:
    """The same of what is made of pmap in a way that fix cannot follow, whose axes are not known."""
    return _any_alone((reference.node, reference.module), 1, None, resolver, changed)


def _any_alone(
    start: Place, level: int, places: Collection[int] | None, resolver: Resolver, changed: Collection[ast.AST]
) -> bool:
    uses = _followed((*start, level, MOST), resolver)
    if places is not None and _is_of_method(start):
        places = {*places, *(place - 1 for place in places)}  # a call on an object does not name it among the rest
    return uses.is_lost or any(
        uses.lies_alone(node, module, changed)
        for arguments, module, _ in uses.given
        for i, node in enumerate(arguments)
        if places is None or i in places or isinstance(node, ast.Starred)
    )


def _is_of_method(place: Place) -> bool:
    """Whether an expression is the decorator of a method."""
    node, module = place
    parent = module.table.parents.get(node)
    return isinstance(parent, Named) and module.table.scope_of[parent].kind == "class"


class _Given(NamedTuple):
    """What a map is given; `is_call`: by a call of it, or a partial of it."""

    arguments: list[ast.expr]
    module: Module
    is_call: bool


class _Step(NamedTuple):
    """What becomes of an expression's value: the expressions that have it next, or names whose mentions do.

    With each is its module, None for a name, and by how much the level changes. `given` and `call`: what it is given
    there at level 0, where it is a map, and by which call; `hidden`: it is not seen by whom. `kept`: it is kept where
    it may be found by other ways than its names.
    """

    following: Sequence[tuple[ast.expr, Module, int] | tuple[Key, None, int]]
    given: _Given | None = None
    call: ast.Call | None = None
    hidden: bool = False
    kept: bool = False


NOWHERE = _Step(())


class _Point:
    """An expression, or a name where there is no module, at a level: where its value goes is found once for a program.

    `walk` is the last that came here, `idle` is in how many places a name stands from which its value goes nowhere:
    most read an attribute of it or compute with it.
    """

    __slots__ = ("following", "idle", "level", "module", "node", "step", "walk")

    def __init__(self, node: ast.expr | Key, module: Module | None, level: int) -> None:
        self.node = node
        self.module = module
        self.level = level
        self.following: Sequence[_Point] | None = None
        self.step = NOWHERE
        self.idle = 0
        self.walk: object = None


class _Uses:
    """Where a map goes: the names that it has, and what it is given under them.

    The level of a node is how often it is called until what comes out is what the map returns, less one. A way that
    leads to more than `most` expressions is lost: it is followed no further.
    """

    def __init__(self, resolver: Resolver, most: int = sys.maxsize) -> None:
        self.resolver = resolver
        self.most = most
        self.is_lost = False
        self.given: list[_Given] = []
        self.calls: list[tuple[ast.Call, Module]] = []
        self.hidden = False
        self.is_read = False  # in another way than to call it, or to hand it on
        self._walk = object()
        self._count = 0  # of the expressions and names that were come to, and of mentions that lead nowhere
        self._points = _points(resolver)
        self._steps = _steps(resolver)

    def follow(self, start: Place, level: int) -> None:
        """Lists what a map is given wherever it goes."""
        if level <= DEEPEST:
            self._follow(self._point(*start, level))

    def follow_all(self, name: str) -> None:
        """Lists what is given to whatever goes by a name."""
        for point in self._enter(self._point(name, None, 0)) if name else ():
            if not self.is_lost:
                self._follow(point)

    def _follow(self, start: _Point) -> None:
        waiting, walk = [start], self._walk
        while waiting:
            point = waiting.pop()
            if point.walk is walk:
                continue
            following = self._enter(point)
            if self._count > self.most:
                self.is_lost = True
                return
            if not point.level:
                self._take(point)
            for one in following:
                if one.walk is walk:
                    continue
                if one.module is None:
                    waiting += self._enter(one)
                else:
                    waiting.append(one)

    def _enter(self, point: _Point) -> Sequence[_Point]:
        """Counts a point, and where its value goes from there."""
        if point.following is None:
            point.following = self._following(point)
        point.walk = self._walk
        self._count += 1 + point.idle
        by_any = point.module is None and not isinstance(point.node, Own)  # who may find it by reflection
        self.is_read |= not point.level and (point.idle > 0 or by_any)
        return point.following

    def _following(self, point: _Point) -> Sequence[_Point]:
        node, level = point.node, point.level
        if point.module is None:
            active, point.idle = self._found_mentions(cast("Key", node))
            return [self._point(*place, level) for place in active]
        point.step = self._step_of(cast("ast.expr", node), point.module)
        following = ((one, module, level + by) for one, module, by in point.step.following)
        return [self._point(*one) for one in following if one[0] and 0 <= one[2] <= DEEPEST]

    def _point(self, node: ast.expr | Key, module: Module | None, level: int) -> _Point:
        found = self._points.get((node, level))
        if found is None:
            found = self._points[node, level] = _Point(node, module, level)
        return found

    def _step_of(self, node: ast.expr, module: Module) -> _Step:
        step = self._steps.get(node)
        if step is None:
            step = self._steps[node] = self._step(node, module)
        return step

    def _take(self, point: _Point) -> None:
        step = point.step
        if step.given is not None:
            self.given.append(step.given)
        if step.call is not None:
            self.calls.append((step.call, cast("Module", point.module)))
        self.hidden |= step.hidden
        self.is_read |= step is NOWHERE or step.kept

    def _step(self, node: ast.expr, module: Module) -> _Step:
        """What becomes of a node's value next."""
        match parent := module.table.parents.get(cast("ast.AST", node)):
            case ast.Call() if parent.func is node:
                return _Step([(parent, module, -1)], _Given(_unpacked(parent.args), module, True), parent)
            case ast.Call():
                return self._passed_on(node, parent, module)
            case ast.keyword():
                return _Step([(cast("ast.expr", parent), module, 0), (parent.arg or "", None, 0)])
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
                found = (one for target in targets for one in read_from(target, module, parent))
                kept = isinstance(parent, ast.NamedExpr) or any(map(self._keeps, targets))
                return _Step([(one, None, 0) for one in found], kept=kept)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node not in parent.decorator_list:
                return _Step([(one, None, 0) for one in _defaulted(node, parent, module)])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return _Step([(read_under(parent.name, parent, module), None, 0)])
            case ast.Return() | ast.Lambda():
                return _Step(list(_made_by(parent, module)))
            case _ if isinstance(parent, DISPLAYS):
                return _Step([(cast("ast.expr", parent), module, 0)])
        return NOWHERE

    @staticmethod
    def _keeps(target: ast.expr) -> bool:
        """Whether what is assigned to a target is found by a key or as an attribute, or unpacked."""
        return not isinstance(target, ast.Name)

    def _passed_on(self, node: ast.expr, call: ast.Call, module: Module) -> _Step:
        """What becomes of an argument: what the call gives, and a parameter."""
        is_partial = last_name(call.func) == "partial" and call.args[:1] == [node]
        given = _Given(_unpacked(call.args[1:]), module, is_partial)
        taken = self._parameter(call, node)
        keeps = not taken and last_name(call.func) not in KEEPS_ARGUMENTS
        reads: list[tuple[Key, None, int]] = [(one, None, 0) for one in taken]
        if keeps and isinstance(node, ast.Name) and not isinstance(self.resolver.value(call.func, module), External):
            reads.append((node.id, None, 0))  # an object may have it as an attribute of that name
        return _Step([(call, module, 0), *reads], given, hidden=keeps)

    def _found_mentions(self, name: Key) -> tuple[Sequence[Place], int]:
        """The mentions of a name from which its value goes on, and how many others there are: found once."""
        known = _mentions_by_name(self.resolver)
        found = known.get(name)
        if found is None:
            places = _places(name, self.resolver)
            active = [place for place in places if self._step_of(*place) is not NOWHERE]
            found = known[name] = active, len(places) - len(active)
        return found

    def _parameter(self, call: ast.Call, node: ast.expr) -> Sequence[Own]:
        """The parameter that an argument is for, in functions of the project with the name that is called."""
        if node not in call.args:
            return ()
        bound = isinstance(call.func, ast.Attribute)
        return _parameters_at((last_name(call.func), call.args.index(node), bound), self.resolver)

    def lies_alone(self, node: ast.expr, module: Module, changed: Collection[ast.AST], depth: int = 0) -> bool:
        """Whether an expression, or what the name that it is stands for, takes one slice or puts it on a device."""
        if self._takes_one(node, changed):
            return True
        name = last_name(node.value if isinstance(node, ast.Starred) else node)
        if any(self._takes_one(value, changed) for value in _assigned(name, module)):
            return True
        if depth == DEEPEST or not isinstance(node, ast.Name):
            return False
        passed = self._passed(node, module)
        return passed is None or any(self.lies_alone(one, where, changed, depth + 1) for one, where in passed)

    def is_array(self, node: ast.expr, module: Module, changed: Collection[ast.AST]) -> bool:
        """Whether nothing but one slice, or what is put on a device, is given; a display of some may hold numbers."""
        values = [node] if not isinstance(node, ast.Name) else list(_assigned(node.id, module))
        plain = not any(isinstance(value, DISPLAYS) for value in values)
        return bool(values) and plain and all(self._takes_one(value, changed) for value in values)

    def _passed(self, node: ast.Name, module: Module) -> list[Place] | None:
        """What calls give for the parameter that a name is, of a function with a name or one called where it stands.

        None where the function's name leads everywhere.
        """
        owner = module.table.parents.get(cast("ast.AST", node))
        while owner is not None and not (isinstance(owner, FunctionNode) and node.id in _parameters(owner)):
            owner = module.table.parents.get(owner)
        if not isinstance(owner, FunctionNode):
            return []
        found = [(default, module) for name, default in defaults_of(owner.args) if name == node.id]
        found += [one for one in _by_keyword(node.id, self.resolver) if _may_call(*one, owner)]
        if node.id not in _passed_names(owner):
            return found
        place = _passed_names(owner).index(node.id)
        if isinstance(owner, ast.Lambda):
            uses = _followed((owner, module, 0, MOST), self.resolver)
        else:
            uses = self._uses_of(owner.name)
        if uses.is_lost:
            return None
        return found + [(one, given.module) for given in uses.given for one in given.arguments[place : place + 1]]

    def _uses_of(self, name: str) -> _Uses:
        """What is given to whatever goes by a name: found once for a program."""
        known = _uses_by_name(self.resolver)
        if name not in known:
            known[name] = _Uses(self.resolver, MOST)
            known[name].follow_all(name)
        return known[name]

    def _takes_one(self, node: ast.expr, changed: Collection[ast.AST]) -> bool:
        """Whether an expression holds something of one device; a plain `x[0]` only where it is not computed with."""
        waiting: list[tuple[ast.AST, bool]] = [(node, True)]
        while waiting:
            one, plain = waiting.pop()
            if one in changed or (isinstance(one, ast.Call) and last_name(one.func) in FETCHES):
                continue
            if (plain and _is_first(one)) or (isinstance(one, ast.Call) and self._gives_one(one)):
                return True
            if isinstance(one, HOLDERS):
                plain = plain and isinstance(one, DISPLAYS)
                waiting += ((child, plain) for child in ast.iter_child_nodes(one))
        return False

    def _gives_one(self, call: ast.Call) -> bool:
        """Whether what is called takes one slice of its argument: by its name, or by what it returns."""
        name = last_name(call.func)
        if name in TAKES_ONE or any(isinstance(a, ast.Lambda) and _is_first(a.body) for a in call.args):
            return True
        return _takes_one_slice(name, self.resolver)


def _defaulted(node: ast.expr, function: Named, module: Module) -> Iterator[Key]:
    """The parameters that have an expression for their default."""
    own = module.table.own_scope.get(function)
    for name, default in defaults_of(function.args):
        if default is node and own is not None:
            yield Own(name, own, module)


@once
def _nodes_by_name(resolver: Resolver) -> dict[str, list[Place]]:
    """The nodes of a project that mention each name."""
    known: dict[str, list[Place]] = {}
    for module in resolver.project.program:
        for name, nodes in module.table.named.items():
            known.setdefault(name, []).extend((node, module) for node in nodes)
    return known


def _places(name: Key, resolver: Resolver) -> Sequence[Place]:
    """Where a value with a name may be read."""
    match name:
        case Own():
            return [(node, name.module) for node in name.reads()]
        case Attribute(name=last):
            return [place for place in _nodes_by_name(resolver).get(last, ()) if isinstance(place[0], ast.Attribute)]
    return _nodes_by_name(resolver).get(name, ())


@once
def _functions_by_name(resolver: Resolver) -> dict[str, list[tuple[Named, Module]]]:
    """The functions of a project by name."""
    known: dict[str, list[tuple[Named, Module]]] = {}
    for module in resolver.project.program:
        for node in module.nodes:
            if isinstance(node, Named):
                known.setdefault(node.name, []).append((node, module))
    return known


@once
def _uses_by_name(_resolver: Resolver) -> dict[str, _Uses]:
    """What is given to whatever goes by a name, as far as it has been asked for: some of it while other is found."""
    return {}


@once
def _mentions_by_name(_resolver: Resolver) -> dict[Key, tuple[Sequence[Place], int]]:
    """Where names stand, as far as it has been asked for."""
    return {}


@once
def _points(_resolver: Resolver) -> dict[tuple[ast.expr | Key, int], _Point]:
    """Expressions and names by level, as far as it has been asked for."""
    return {}


@once
def _steps(_resolver: Resolver) -> dict[ast.AST, _Step]:
    """What becomes of the values of expressions, as far as it has been asked for."""
    return {}


@once_each
def _followed(start: tuple[ast.expr, Module, int, int], resolver: Resolver) -> _Uses:
    """Where an expression's value goes at a level, and how many expressions it may lead to."""
    node, module, level, most = start
    uses = _Uses(resolver, most)
    uses.follow((node, module), level)
    return uses


@once_each
def _parameters_at(key: tuple[str, int, bool], resolver: Resolver) -> Sequence[Own]:
    """The parameters at a place of functions with a name; those of methods without their object."""
    name, place, bound = key
    found = []
    for function, module in _functions_by_name(resolver).get(name, ()):
        names = _passed_names(function) if bound else positional_names(function.args)
        holder = module.table.own_scope[function]
        found += [Own(one, holder, module) for one in names[place : place + 1]]
    return found


@once_each
def _takes_one_slice(name: str, resolver: Resolver) -> bool:
    """Whether a function of the project with a name takes one slice of its argument."""
    return any(_returns_one(function) for function, _ in _functions_by_name(resolver).get(name, ()))


def _made_by(node: ast.AST, module: Module) -> Iterator[tuple[ast.expr, Module, int] | tuple[Key, None, int]]:
    """The function that returns something: a lambda, or the name of another one."""
    owner: ast.AST | None = node
    while owner is not None and not isinstance(owner, FunctionNode):
        owner = module.table.parents.get(owner)
    if isinstance(owner, ast.Lambda):
        yield owner, module, 1
    elif owner is not None:
        yield read_under(owner.name, owner, module), None, 1


def _returns_one(function: Named) -> bool:
    """Whether a function returns what another one makes with `lambda x: x[0]`."""
    returned = (n.value for n in ast.walk(function) if isinstance(n, ast.Return))
    given = (argument for value in returned if isinstance(value, ast.Call) for argument in value.args)
    return any(isinstance(one, ast.Lambda) and _is_first(one.body) for one in given)


def _is_first(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0


def _unpacked(arguments: Iterable[ast.expr]) -> list[ast.expr]:
    """The arguments of a call, with those that stand in a tuple behind a star."""
    found: list[ast.expr] = []
    for one in arguments:
        inner = one.value if isinstance(one, ast.Starred) else None
        found += _unpacked(inner.elts) if isinstance(inner, ast.Tuple | ast.List) else [one]
    return found


def _passed_names(function: FunctionNode) -> list[str]:
    """The parameters that a call may give something by position, where a method is called of an object."""
    names = positional_names(function.args)
    return names[1:] if names[:1] == ["self"] else names


def _names_in(targets: Iterable[ast.expr]) -> Iterator[str]:
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from _names_in(target.elts)
        else:
            yield last_name(target.value if isinstance(target, ast.Starred) else target)


def _assigned(name: str, module: Module) -> Iterator[ast.expr]:
    """What is assigned to a name, or an attribute of that name, anywhere in a module."""
    for node in module.nodes if name else ():
        if isinstance(node, ast.Assign) and name in _names_in(node.targets):
            yield node.value
        elif isinstance(node, LOOPS) and name in _names_in([node.target]):
            yield from _gone_through(node.iter)


def _gone_through(node: ast.expr) -> Iterator[ast.expr]:
    """What a loop takes one after another: the entries of displays, also within `zip` and `enumerate`."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            yield from parts
        case ast.Dict(values=parts):
            yield from parts
        case ast.Call(func=ast.Attribute(value=owner), args=[]):
            yield from _gone_through(owner)
        case ast.Call(func=ast.Name(), args=args):
            yield from (part for one in args for part in _gone_through(one))


def _parameters(function: FunctionNode) -> list[str]:
    return [*_passed_names(function), *(one.arg for one in function.args.kwonlyargs)]


@once_each
def _by_keyword(name: str, resolver: Resolver) -> list[Place]:
    """What calls give by a keyword of some name."""
    program = (module for module in resolver.project.program if name in module.text)
    found = ((node, module) for module in program for node in module.mentions.get(name, ()))
    return [(node.value, module) for node, module in found if isinstance(node, ast.keyword)]


def _may_call(value: ast.expr, module: Module, function: FunctionNode) -> bool:
    """Whether what a keyword brings may be given to a function: to one of its name, of a partial or of none."""
    parents = module.table.parents
    call = parents.get(cast("ast.AST", parents.get(value)))
    known = isinstance(function, Named) and function.name != "__init__"
    names = (function.name, "partial", "") if isinstance(function, Named) and known else ()
    return isinstance(call, ast.Call) and (not names or last_name(call.func) in names)
