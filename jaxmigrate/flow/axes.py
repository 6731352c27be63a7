"""Which axes are bound where: walks from every map into the functions that it maps and those that they call.

An environment is the set of axes that are bound when a function runs. It is complete where nothing unknown can have
bound another one; only complete environments are evidence that an axis is missing. `pmap` and `shard_map` cannot stand
inside another map, so what they map has exactly their axes, wherever they are called from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from jaxmigrate.flow.dispatch import entries
from jaxmigrate.flow.leads import Leads
from jaxmigrate.program.collectives import (
    AXIS_POSITIONS,
    GRADIENTS,
    MESHES,
    OTHER_MAPS,
    PMAP,
    SHARD_MAPS,
    TRANSPARENT,
    VMAP,
    argument,
    axis_given,
)
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver, call_arguments, own_statements
from jaxmigrate.program.scopes import FunctionNode, children, defaults_of
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Parameter,
    Partial,
    Value,
    Values,
)
from jaxmigrate.records import made, record, replace

DEEPEST = 12
DEEPEST_OUTSIDE = 4  # outside every map, only wrappers of maps are of interest
TRANSFORMATIONS = TRANSPARENT | GRADIENTS | {f"jax.{name}" for name in ("hessian", "jacfwd", "jacrev", "jacobian")}
KNOWN_LIBRARIES = ("jax.", "functools.", "builtins.", "itertools.", "operator.", "numpy.")


@record
class Environment:
    """Axes that are bound; others may be too unless `complete`.

    `by_key`: what runs in it was looked up in a dictionary, and may be meant for another map.
    """

    axes: frozenset[str] = frozenset()
    complete: bool = False
    by_key: bool = False

    def with_axes(self, names: frozenset[str] | None) -> Environment:
        """This environment inside a map over `names`, None where they are not known."""
        if names is None:
            return replace(self, complete=False)
        return replace(self, axes=self.axes | names)


@record
class Step:
    """A place on the way from a map to a collective."""

    module: Module
    node: ast.expr
    what: str


@record(eq=False)
class AxisUse:
    """A collective that names an axis, where it runs, and the way that leads there."""

    module: Module
    call: ast.Call
    name: str
    axis: str
    environment: Environment
    way: tuple[Step, ...]
    bindings: Bindings


@record(eq=False)
class Rebinding:
    """A map over an axis whose name a map around it has bound already."""

    module: Module
    node: ast.expr
    name: str
    axis: str
    way: tuple[Step, ...]


Bindings = Mapping[tuple[FunctionNode, str], Values]


@record(frozen=False)
class AxisWalk:
    """The walk's state: what it found, and what it need not walk again."""

    resolver: Resolver
    leads: Leads
    uses: list[AxisUse] = made(factory=list)
    rebindings: list[Rebinding] = made(factory=list)
    seen: set[object] = made(factory=set)
    active: set[ast.expr] = made(factory=set)
    calls: dict[FunctionNode, list[ast.Call]] = made(factory=dict)


def walk_axes(modules: Iterable[Module], resolver: Resolver, leads: Leads) -> AxisWalk:
    """Every use of an axis by a collective inside a map, once for each environment in which it can run."""
    walk = AxisWalk(resolver, leads)
    for module in modules:
        wanted = {*leads.calls(module), *_named_vmaps(module)}
        for call in module.table.calls if wanted else ():
            if call in wanted and not _is_mapped_in_place(call, module, resolver):
                _call(walk, call, module, Environment(), {}, ())
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and may_be_mapped(node, module, leads):
                _enter(walk, resolver.decorated(node, module), module, Environment(), {}, ())
    return walk


def _named_vmaps(module: Module) -> Iterator[ast.Call]:
    """The calls of vmap with an axis name, at which a walk starts as at what may lead to a map over devices."""
    for node in module.table.named.get("vmap", ()):
        call = module.table.parents.get(node)
        if isinstance(call, ast.Call) and call.func is node and any(k.arg == "axis_name" for k in call.keywords):
            yield call


def last_name(node: ast.expr) -> str:
    """The name after the last dot of a name, empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def by_last_name(calls: Iterable[ast.Call]) -> dict[str, list[ast.Call]]:
    """Calls by the last part of the name of what they call."""
    found: dict[str, list[ast.Call]] = {}
    for call in calls:
        found.setdefault(last_name(call.func), []).append(call)
    return found


def may_be_mapped(node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module, leads: Leads) -> bool:
    """Whether a decorator of a function may lead to a map."""
    return any(leads.mentions(decorator, module) for decorator in node.decorator_list)


def _is_mapped_in_place(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call is what another map maps, so that its axes are not the only ones."""
    parent = module.table.parents.get(call)
    if not isinstance(parent, ast.Call) or call not in parent.args:
        return False
    values = resolver.values(parent.func, module)
    return any(isinstance(v, External) and is_map(v.name) for v in values)


def _call(
    walk: AxisWalk, call: ast.Call, module: Module, around: Environment, bindings: Bindings, way: tuple[Step, ...]
) -> None:
    arguments = call_arguments(call, module)
    callees = walk.resolver.values(call.func, module)
    for callee in _bound(callees, bindings):
        _apply(walk, callee, arguments, call, module, around, bindings, way)
    if around.complete and not any(isinstance(v, Function | Partial) for v in callees):
        for callee in entries(call.func, module, walk.resolver):
            _apply(walk, callee, arguments, call, module, replace(around, by_key=True), bindings, way)


def _apply(
    walk: AxisWalk,
    callee: Value,
    arguments: tuple[Argument, ...],
    node: ast.expr,
    module: Module,
    around: Environment,
    bindings: Bindings,
    way: tuple[Step, ...],
) -> None:
    match callee:
        case External(name=name) if name in AXIS_POSITIONS and isinstance(node, ast.Call):
            _record(walk, name, arguments, node, module, around, bindings, way)
        case External(name=name) if is_map(name):
            _map(walk, name, arguments, node, module, around, bindings, way)
        case External(name=name):
            known = name.startswith(KNOWN_LIBRARIES)
            _hand_over(walk, arguments, module, around if known else around.with_axes(None), bindings, way)
        case Partial(callee=inner, arguments=given):
            _apply(walk, inner, (*given, *arguments), node, module, around, bindings, way)
        case Application(node=made) if made in walk.active:
            return  # `x = f(x)`: the result of a call is among its own arguments
        case Application(callee=inner, arguments=given):
            walk.active.add(callee.node)
            _apply_result(walk, callee, inner, given, arguments, node, module, around, bindings, way)
            walk.active.discard(callee.node)
        case Function():
            inside = {**bindings, **bind_arguments(callee, arguments, walk.resolver, bindings)}
            _function(walk, callee, around, inside, (*way, Step(module, node, f"calls {label(callee)}")))
        case Instance():
            _method(walk, callee, "__call__", arguments, node, module, around, bindings, way)
        case Class():
            _method(walk, Instance(callee), "__init__", arguments, node, module, around, bindings, way)
        case _:
            _hand_over(walk, arguments, module, around.with_axes(None), bindings, way)


def _method(
    walk: AxisWalk,
    owner: Instance,
    name: str,
    arguments: tuple[Argument, ...],
    node: ast.expr,
    module: Module,
    around: Environment,
    bindings: Bindings,
    way: tuple[Step, ...],
) -> None:
    for method in walk.resolver.attribute(owner, name):
        if isinstance(method, Function):
            _apply(walk, method, arguments, node, module, around, bindings, way)


def _apply_result(
    walk: AxisWalk,
    value: Application,
    inner: Value,
    given: tuple[Argument, ...],
    arguments: tuple[Argument, ...],
    node: ast.expr,
    module: Module,
    around: Environment,
    bindings: Bindings,
    way: tuple[Step, ...],
) -> None:
    """Calls the result of a call: a map, another transformation, or what a factory returns."""
    if isinstance(inner, External) and is_map(inner.name):
        _map(walk, inner.name, given, value.node, value.module, around, bindings, way)
    elif isinstance(inner, External) and inner.name in TRANSFORMATIONS:
        for operand in _operands(given[:1], walk.resolver, bindings):
            _apply(walk, operand, arguments, node, module, around, bindings, way)
    elif isinstance(inner, External):
        for operand in _operands(given, walk.resolver, bindings):
            if isinstance(operand, Function | Partial):
                _enter(walk, operand, module, around.with_axes(None), bindings, way)
    elif isinstance(inner, Function):
        inside = {**bindings, **bind_arguments(inner, given, walk.resolver, bindings)}
        for returned in _bound(walk.resolver.returned(inner), inside):
            if returned != value and len(way) < DEEPEST:
                step = Step(module, node, f"calls what {label(inner)} returns")
                _apply(walk, returned, arguments, node, module, around, inside, (*way, step))


def _map(
    walk: AxisWalk,
    name: str,
    arguments: tuple[Argument, ...],
    node: ast.expr,
    module: Module,
    around: Environment,
    bindings: Bindings,
    way: tuple[Step, ...],
) -> None:
    axes = map_axes(name, arguments, walk.resolver, bindings)
    exact = Environment(around.axes | (axes or frozenset()), axes is not None, around.by_key)
    inside = around.with_axes(axes) if name == VMAP else exact
    step = Step(module, node, f"{name.rpartition('.')[2]} maps it over {shown(axes)}")
    if not around.by_key:
        again = sorted((axes or set()) & around.axes)
        walk.rebindings += [Rebinding(module, node, name, axis, way) for axis in again]
    mapped = argument(arguments, 0, "fun", "f")
    for operand in _operands([mapped] if mapped is not None else [], walk.resolver, bindings):
        _enter(walk, operand, module, inside, bindings, (*way, step))


def _enter(
    walk: AxisWalk, value: Value, module: Module, around: Environment, bindings: Bindings, way: tuple[Step, ...]
) -> None:
    """Runs a function with arguments that are not in sight."""
    if len(way) > DEEPEST:
        return
    match value:
        case Function():
            _function(walk, value, around, bindings, way)
        case Partial(callee=inner, arguments=given) if isinstance(inner, Function):
            _function(walk, inner, around, {**bindings, **bind_arguments(inner, given, walk.resolver, bindings)}, way)
        case Application(node=node):
            _apply(walk, value, (), node, module, around, bindings, way)
        case Partial(node=node) if node not in walk.active:
            walk.active.add(node)
            _apply(walk, value, (), node, module, around, bindings, way)
            walk.active.discard(node)
        case Instance():
            for method in walk.resolver.attribute(value, "__call__"):
                if isinstance(method, Function):
                    _function(walk, method, around, bindings, way)


def _function(
    walk: AxisWalk, function: Function, around: Environment, bindings: Bindings, way: tuple[Step, ...]
) -> None:
    if not around.complete and (len(way) > DEEPEST_OUTSIDE or not _mentions_map(function.module)):
        return
    bindings = _kept(function, bindings)
    key = (function.node, around, frozenset(bindings.items()))
    if key in walk.seen or len(way) > DEEPEST:
        return
    walk.seen.add(key)
    if function.node not in walk.calls:
        walk.calls[function.node] = list(calls_of(function.node))
    for call in walk.calls[function.node]:
        if around.complete or walk.leads.may_lead(call, function.module):
            _call(walk, call, function.module, around, bindings, way)


def _mentions_map(module: Module) -> bool:
    return "pmap" in module.text or "shard_map" in module.text


def _kept(function: Function, bindings: Bindings) -> Bindings:
    """The bindings that a function can see, its own and those of the functions around it, and that say something.

    Those that its bound functions see come along, for it may call them.
    """
    visible = _lexical(function)
    for (node, _), values in bindings.items():
        if node in visible:
            visible = visible.union(*(_lexical(v) for v in values if isinstance(v, Function)))
    return {key: values for key, values in bindings.items() if key[0] in visible and values != (UNKNOWN,)}


def _lexical(function: Function) -> frozenset[ast.AST]:
    """A function and those around it."""
    scope = function.module.table.own_scope.get(function.node)
    found: set[ast.AST] = set()
    while scope is not None:
        found.add(scope.node)
        scope = scope.parent
    return frozenset(found)


def _hand_over(
    walk: AxisWalk,
    arguments: Iterable[Argument],
    module: Module,
    around: Environment,
    bindings: Bindings,
    way: tuple[Step, ...],
) -> None:
    """Functions given to something that will call them where it is called itself."""
    for operand in _operands(arguments, walk.resolver, bindings):
        _enter(walk, operand, module, around, bindings, way)


def _record(
    walk: AxisWalk,
    name: str,
    arguments: tuple[Argument, ...],
    node: ast.Call,
    module: Module,
    around: Environment,
    bindings: Bindings,
    way: tuple[Step, ...],
) -> None:
    axis = axis_given(name, arguments)
    if axis is None:
        return
    for one in axis_names(axis.expression, axis.module, walk.resolver, bindings) or ():
        walk.uses.append(AxisUse(module, node, name, one, around, way, bindings))


# Facts about values, shared with the rest of flow


def is_map(name: str) -> bool:
    """Whether a function of JAX maps its first argument over an axis."""
    return name in (PMAP, VMAP) or name in SHARD_MAPS or name in OTHER_MAPS


def map_axes(
    name: str, arguments: tuple[Argument, ...], resolver: Resolver, bindings: Bindings
) -> frozenset[str] | None:
    """The axes that a map binds, None where they are not known; a map without a name binds none that can be named."""
    if name in OTHER_MAPS or any(a.keyword in ("*", "**") for a in arguments):
        return None
    if name in SHARD_MAPS:
        mesh = argument(arguments, 1, "mesh")
        return mesh_axes(mesh, resolver, bindings) if mesh is not None else None
    axis = argument(arguments, 1 if name == PMAP else None, "axis_name")
    if axis is None:
        return frozenset()
    names = axis_names(axis.expression, axis.module, resolver, bindings)
    return None if names is None else frozenset(names)


def mesh_axes(mesh: Argument, resolver: Resolver, bindings: Bindings) -> frozenset[str] | None:
    """The axis names of a mesh, None where they are not known."""
    found: set[frozenset[str]] = set()
    for value in _bound(resolver.argument_values(mesh), bindings):
        if not isinstance(value, Application) or not isinstance(value.callee, External):
            return None
        names = argument(value.arguments, 1, "axis_names") if value.callee.name in MESHES else None
        axes = axis_names(names.expression, names.module, resolver, bindings) if names is not None else None
        if axes is None:
            return None
        found.add(frozenset(axes))
    return found.pop() if len(found) == 1 else None


def axis_names(axis: ast.expr | None, module: Module, resolver: Resolver, bindings: Bindings) -> tuple[str, ...] | None:
    """The names in an axis expression, empty for None, and None where it can be anything else."""
    if axis is None:
        return None
    if isinstance(axis, ast.Tuple | ast.List):
        parts = [axis_names(element, module, resolver, bindings) for element in axis.elts]
        return None if None in parts else tuple(name for part in parts for name in part or ())
    names: list[str] = []
    for value in _bound(resolver.values(axis, module), bindings):
        if not isinstance(value, Constant):
            return None
        items = value.value if isinstance(value.value, tuple) else (value.value,)
        if any(not isinstance(item, str) for item in items if item is not None):
            return None
        names += [item for item in items if isinstance(item, str)]
    return tuple(dict.fromkeys(names))


def bind_arguments(
    function: Function, arguments: Iterable[Argument], resolver: Resolver, bindings: Bindings
) -> dict[tuple[FunctionNode, str], Values]:
    """What the parameters of a function stand for in one call: constants and functions only, which are what decides."""
    names = function.passed_names()
    found = {name: resolver.values(default, function.module) for name, default in defaults_of(function.node.args)}
    position = 0
    for one in arguments:
        if one.keyword in ("*", "**"):
            found = dict.fromkeys(found, (UNKNOWN,))
            break
        name = one.keyword or (names[position] if position < len(names) else None)
        position += one.keyword is None
        if name is not None:
            found[name] = _bound(resolver.argument_values(one), bindings)
    return {(function.node, name): _telling(values) for name, values in found.items()}


def _telling(values: Values) -> Values:
    telling = all(isinstance(v, Constant | Function | Partial | Application | External) for v in values)
    return values if telling else (UNKNOWN,)


def _bound(values: Values, bindings: Bindings) -> Values:
    """Values with parameters replaced by what is bound to them."""
    if not any(isinstance(value, Parameter) for value in values):
        return values
    found: list[Value] = []
    for value in values:
        if isinstance(value, Parameter):
            found += bindings.get((value.function, value.name), (UNKNOWN,))
        else:
            found.append(value)
    return tuple(dict.fromkeys(found))


def _operands(arguments: Iterable[Argument], resolver: Resolver, bindings: Bindings) -> Iterator[Value]:
    for one in arguments:
        if one.expression is not None and isinstance(one.expression, ast.List | ast.Tuple):
            for element in one.expression.elts:
                yield from _callable(_bound(resolver.values(element, one.module), bindings), resolver)
        else:
            yield from _callable(_bound(resolver.argument_values(one), bindings), resolver)


def _callable(values: Values, resolver: Resolver) -> Iterator[Value]:
    return (v for v in values if isinstance(v, Function | Partial) or _makes_function(v, resolver))


def _makes_function(value: Value, resolver: Resolver) -> bool:
    """Whether a call gives a function, as far as is in sight: most calls give data, and data is not called."""
    if not isinstance(value, Application):
        return False
    if isinstance(value.callee, External):
        return value.callee.name in TRANSFORMATIONS or is_map(value.callee.name)
    if isinstance(value.callee, Function) and not isinstance(value.callee.node, ast.Lambda):
        returned = resolver.returned(value.callee)
        return any(isinstance(v, Function | Partial) or _is_transformed(v) for v in returned)
    return False


def _is_transformed(value: Value) -> bool:
    name = value.callee.name if isinstance(value, Application) and isinstance(value.callee, External) else ""
    return name in TRANSFORMATIONS or is_map(name)


def calls_of(node: FunctionNode) -> Iterator[ast.Call]:
    """The calls in a function's body, those of functions defined in it left out."""
    roots: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(own_statements(node))
    for root in roots:
        if isinstance(root, ast.expr):
            yield from expression_calls(root)


def expression_calls(expression: ast.expr) -> Iterator[ast.Call]:
    """The calls in an expression, in the order in which they are written, bodies of lambdas left out."""
    pending: list[ast.AST] = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, ast.Lambda | ast.Constant | ast.Name):
            pending += children(node)[::-1]


def label(function: Function) -> str:
    """What a message calls a function."""
    return "a lambda" if isinstance(function.node, ast.Lambda) else function.node.name


def shown(axes: frozenset[str] | None) -> str:
    """Axes as a message shows them."""
    if axes is None:
        return "unknown axes"
    return ", ".join(repr(axis) for axis in sorted(axes)) or "an axis without a name"
