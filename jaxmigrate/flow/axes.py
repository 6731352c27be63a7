"""Which axes are bound where: walks from every map into the functions that it maps and those that they call.

An environment is the set of axes that are bound when a function runs. It is complete where nothing unknown can have
bound another one; only complete environments are evidence that an axis is missing. `pmap` and `shard_map` cannot stand
inside another map, so what they map has exactly their axes, wherever they are called from.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from jaxmigrate.flow import receivers
from jaxmigrate.flow.axis_symbols import shown_name
from jaxmigrate.flow.axis_values import (
    EXACT_MAPS,
    TRANSFORMATIONS,
    axis_names,
    bind_arguments,
    bound,
    is_map,
    map_axes,
    of_receiver,
    operands,
)
from jaxmigrate.flow.dispatch import entries
from jaxmigrate.flow.jit_callers import LAST_JITS, callers, is_of_host, jitted
from jaxmigrate.flow.known_axes import is_of_project, known_axes
from jaxmigrate.flow.map_prefilter import MapPrefilter
from jaxmigrate.flow.receivers import Bindings
from jaxmigrate.flow.wrappers import mapped_within, passes_on, unwrapped
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import (
    AXIS_POSITIONS,
    SHARD_MAPS,
    argument,
    axis_given,
)
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import calls_of
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    Class,
    External,
    Function,
    Instance,
    Member,
    Parameter,
    Partial,
    Value,
    Values,
)
from jaxmigrate.records import made, record, replace

DEEPEST = 12
COLLECTIVES = frozenset(name.rpartition(".")[2] for name in AXIS_POSITIONS)
GATHERING = frozenset({"gather_from_model_output"})
CLU_METRICS = "clu.metrics.Collection"
CLU_AXES = ("batch",)  # over which its metrics gather where nothing else is said
DEEPEST_OUTSIDE = 4  # outside every map, only wrappers of maps are of interest
CONSTRAINT = "jax.lax.with_sharding_constraint"
CALLBACKS = named("callback")
KNOWN_LIBRARIES = starting("followed")


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


@record
class Frame:
    """Where a walk is: the module that it reads, the axes bound there, what names stand for, and how it came there."""

    module: Module
    around: Environment = Environment()
    bindings: Bindings = made(factory=dict)
    way: tuple[Step, ...] = ()

    def mapped(self, around: Environment) -> Frame:
        """The same place with other axes bound."""
        return replace(self, around=around)

    def unknown(self) -> Frame:
        """The same place where more axes may be bound."""
        return self.mapped(self.around.with_axes(None))

    def binding(self, bindings: Bindings) -> Frame:
        """The same place with names that stand for something else."""
        return replace(self, bindings=bindings)

    def stepping(self, node: ast.expr, what: str) -> Frame:
        """The place behind one more step, from this module."""
        return replace(self, way=(*self.way, Step(self.module, node, what)))


@record(eq=False)
class AxisUse:
    """A collective that names an axis, where it runs, and the way that leads there.

    `given` is the argument that names it, which a partial may have somewhere else; None where it is a default.
    """

    module: Module
    call: ast.Call
    name: str
    axis: str
    environment: Environment
    way: tuple[Step, ...]
    bindings: Bindings
    given: Argument | None = None


@record(eq=False)
class Constraint:
    """A constraint on a sharding within maps over some axes."""

    name: str
    spec: Argument
    axes: frozenset[str]


@record(eq=False)
class Rebinding:
    """A map over an axis whose name a map around it has bound already."""

    module: Module
    node: ast.expr
    name: str
    axis: str
    way: tuple[Step, ...]


@record(frozen=False)
class AxisWalk:
    """The walk's state: what it found, and what it need not walk again."""

    resolver: Resolver
    leads: MapPrefilter
    uses: list[AxisUse] = made(factory=list)
    rebindings: list[Rebinding] = made(factory=list)
    constraints: list[Constraint] = made(factory=list)
    seen: set[object] = made(factory=set)
    active: set[ast.expr] = made(factory=set)
    calls: dict[FunctionNode, list[ast.Call]] = made(factory=dict)


def walk_axes(
    modules: Iterable[Module], resolver: Resolver, leads: MapPrefilter, passed: Iterable[Application] = ()
) -> AxisWalk:
    """Every use of an axis by a collective inside a map, once for each environment in which it can run.

    `passed` are maps of what functions of the program are given, each with what that is.
    """
    walk = AxisWalk(resolver, leads)
    for module in modules:
        wanted = {*leads.calls(module), *_named_vmaps(module)}
        for call in module.table.calls if wanted else ():
            if call in wanted and not _is_mapped_in_place(call, module, resolver):
                _call(walk, call, Frame(module))
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and may_be_mapped(node, module, leads):
                _enter(walk, resolver.decorated(node, module), Frame(module))
    for one in passed:
        _enter(walk, one, Frame(one.module))
    return walk


def walk_jits(modules: Iterable[Module], mapped: AxisWalk) -> list[AxisUse]:
    """Every use of an axis by a collective that a jit leads to and no map, where the jit is what the host calls."""
    resolver = mapped.resolver
    walk = AxisWalk(resolver, mapped.leads)
    reached = {use.call for use in mapped.uses}
    entered = {key[0] for key in mapped.seen if isinstance(key, tuple)}
    hosted = set[ast.expr]()  # what is jitted and certainly called by the host, whatever else leads to a collective
    for module in modules:
        if not any(word in module.text for word in COLLECTIVES) or not any(word in module.text for word in LAST_JITS):
            continue
        for value, node in jitted(module, resolver):
            called = callers(value, node, module, entered)
            if called is None or called:
                if any(is_of_host(one, module) for one in called or ()):
                    hosted.add(value.node)
                step = Step(module, value.node, "jit compiles it, and binds no axis")
                first = argument(value.arguments, 0, "fun")
                for operand in operands([first] if first is not None else [], resolver, {}):
                    _enter(walk, operand, Frame(module, Environment(complete=True), way=(step,)))
    return [use for use in walk.uses if use.call not in reached or use.way[0].node in hosted]


def _named_vmaps(module: Module) -> Iterator[ast.Call]:
    """The calls of vmap with an axis name, at which a walk starts as at what may lead to a map over devices."""
    for node in module.table.named.get("vmap", ()):
        call = module.table.parents.get(node)
        if isinstance(call, ast.Call) and call.func is node and any(k.arg == "axis_name" for k in call.keywords):
            yield call


def may_be_mapped(node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module, leads: MapPrefilter) -> bool:
    """Whether a decorator of a function may lead to a map."""
    return any(leads.mentions(decorator, module) for decorator in node.decorator_list)


def _is_mapped_in_place(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call is what another map maps, so that its axes are not the only ones."""
    parent = module.table.parents.get(call)
    if not isinstance(parent, ast.Call) or call not in parent.args:
        return False
    values = resolver.values(parent.func, module)
    return any(isinstance(v, External) and is_map(v.name) for v in values)


def _call(walk: AxisWalk, call: ast.Call, at: Frame) -> None:
    module = at.module
    arguments = call_arguments(call, module)
    for network, name, given in receivers.applied(call, module, walk.resolver) if at.around.complete else ():
        _method(walk, network, name, given, call, at)
    callees = receivers.inherited(call.func, module, walk.resolver) or walk.resolver.values(call.func, module)
    if at.around.complete:
        callees = tuple(one for callee in callees for one in _made_with(callee, call, at, walk.resolver))
    for callee in bound(callees, at.bindings):
        _apply(walk, callee, arguments, call, at)
    if at.around.complete and not any(isinstance(v, Function | Partial) for v in callees):
        for callee in entries(call.func, module, walk.resolver):
            _apply(walk, callee, arguments, call, at.mapped(replace(at.around, by_key=True)))


def _made_with(callee: Value, call: ast.Call, at: Frame, resolver: Resolver) -> Values:
    """What all objects of a class were made with, where that is called: `self.fn(x)`; else the callee itself."""
    found: Values = (UNKNOWN,)
    if isinstance(callee, Parameter) and (callee.function, callee.name) not in at.bindings:
        found = callers_of(resolver).passed(callee)
    elif not isinstance(callee, Function | External) and isinstance(call.func, ast.Attribute):
        owner = resolver.value(call.func.value, at.module)
        found = callers_of(resolver).held(owner.cls, call.func.attr) if isinstance(owner, Instance) else found
    return found if len(found) == 1 and found != (UNKNOWN,) else (callee,)


def _apply(walk: AxisWalk, callee: Value, arguments: tuple[Argument, ...], node: ast.expr, at: Frame) -> None:
    match callee:
        case External(name=name):
            _apply_library(walk, name, arguments, node, at)
        case Partial(callee=inner, arguments=given):
            _apply(walk, inner, (*given, *arguments), node, at)
        case Application(node=made) if made in walk.active:
            return  # `x = f(x)`: the result of a call is among its own arguments
        case Application():
            walk.active.add(callee.node)
            plain = unwrapped(callee, walk.resolver) if passes_on(callee) else callee
            _apply_result(walk, plain, plain.callee, plain.arguments, arguments, node, at)
            walk.active.discard(callee.node)
        case Function(receiver=None) if wrapped := _wrapped_map(walk, callee, arguments, node, at):
            _enter(walk, wrapped, at)
        case Function():
            if not at.around.complete and _mentions_map(callee.module):
                within = mapped_within(Application(callee, arguments, node, at.module), walk.resolver)
                _enter(walk, within, at) if within is not None else None
            inside = {**at.bindings, **bind_arguments(callee, arguments, walk.resolver, at.bindings)}
            inside |= of_receiver(callee.receiver, (node, at.module), walk.resolver, at.bindings)
            _function(walk, callee, at.binding(inside).stepping(node, f"calls {label(callee)}"))
        case Member(owner=Class() as owner, name=name) if name in GATHERING and isinstance(node, ast.Call):
            if _is_of_clu(owner, walk.resolver):
                axis = argument(arguments, None, "axis_name")
                _record(walk, "jax.lax.all_gather", axis, node, at, CLU_AXES)
        case Instance():
            _method(walk, callee, "__call__", arguments, node, at)
        case Class():
            _method(walk, Instance(callee), "__init__", arguments, node, at)
        case _:
            _hand_over(walk, arguments, at.unknown())


def _apply_library(walk: AxisWalk, name: str, arguments: tuple[Argument, ...], node: ast.expr, at: Frame) -> None:
    """Calls a function of a library."""
    if name in AXIS_POSITIONS and isinstance(node, ast.Call):
        _record(walk, name, axis_given(name, arguments), node, at)
    elif is_map(name):
        _map(walk, name, arguments, node, at.unknown() if _is_passed(walk, node, at) else at)
    elif name == CONSTRAINT and at.around.complete:
        spec = argument(arguments, 1, "shardings")
        if spec is not None and at.around.axes:
            walk.constraints.append(Constraint(name.rpartition(".")[2], spec, at.around.axes))
    elif name in CALLBACKS:
        outside = at.mapped(Environment(complete=True)).stepping(node, "it is called back on the host")
        _hand_over(walk, arguments[:1], outside)
    else:
        known = name.startswith(KNOWN_LIBRARIES) and name not in PARTIALS  # which call nothing yet
        _hand_over(walk, arguments, at if known else at.unknown())


def _is_passed(walk: AxisWalk, node: ast.expr, at: Frame) -> bool:
    """Whether a map that is made is an argument of a function of the project, which may call it in another map."""
    parent = at.module.table.parents.get(node)
    return (
        isinstance(parent, ast.Call)
        and node in parent.args
        and isinstance(walk.resolver.value(parent.func, at.module), Function)
    )


def _wrapped_map(
    walk: AxisWalk, callee: Function, arguments: tuple[Argument, ...], node: ast.expr, at: Frame
) -> Application | None:
    """What a call gives, if what is called passes its own options on to a map: the stars in it hide them."""
    value = Application(callee, arguments, node, at.module)
    if at.around.complete or not passes_on(value) or not _mentions_map(callee.module):
        return None
    made = unwrapped(value, walk.resolver)
    return None if made is value else made


def _method(
    walk: AxisWalk, owner: Instance, name: str, arguments: tuple[Argument, ...], node: ast.expr, at: Frame
) -> None:
    for method in receivers.methods(owner, name, walk.resolver):
        _apply(walk, method, arguments, node, at)


def _apply_result(
    walk: AxisWalk,
    value: Application,
    inner: Value,
    given: tuple[Argument, ...],
    arguments: tuple[Argument, ...],
    node: ast.expr,
    at: Frame,
) -> None:
    """Calls the result of a call: a map, another transformation, or what a factory returns."""
    if isinstance(inner, External) and is_map(inner.name):
        _map(walk, inner.name, given, value.node, replace(at, module=value.module))
    elif isinstance(inner, External) and inner.name in TRANSFORMATIONS:
        first = argument(given, 0, "fun", "f")
        for operand in operands([first] if first is not None else [], walk.resolver, at.bindings):
            _apply(walk, operand, arguments, node, at)
        for rule in receivers.derivatives(value, walk.resolver) if at.around.complete else ():
            _enter(walk, rule, at)
    elif isinstance(inner, External):
        for operand in operands(given, walk.resolver, at.bindings):
            if isinstance(operand, Function | Partial):
                _enter(walk, operand, at.unknown())
    elif isinstance(inner, Function):
        inside = at.binding({**at.bindings, **bind_arguments(inner, given, walk.resolver, at.bindings)})
        for returned in bound(walk.resolver.returned(inner), inside.bindings):
            if returned != value and len(at.way) < DEEPEST:
                _apply(walk, returned, arguments, node, inside.stepping(node, f"calls what {label(inner)} returns"))
    else:
        for decorator, within in _decorators(walk, inner, at.bindings):
            _apply_result(walk, value, decorator, given, arguments, node, at.binding(within))


def _decorators(walk: AxisWalk, made: Value, bindings: Bindings) -> Iterator[tuple[Function, Bindings]]:
    """The functions that the call of a decorator with arguments gives, and what those are."""
    if isinstance(made, Application) and isinstance(made.callee, Function):
        inside = {**bindings, **bind_arguments(made.callee, made.arguments, walk.resolver, bindings)}
        for decorator in bound(walk.resolver.returned(made.callee), inside):
            if isinstance(decorator, Function):
                yield decorator, inside


def _map(walk: AxisWalk, name: str, arguments: tuple[Argument, ...], node: ast.expr, at: Frame) -> None:
    axes = map_axes(name, arguments, walk.resolver, at.bindings, (node, at.module))
    own = _at_most(name, arguments, walk.resolver) if axes is None else axes
    exact = Environment(at.around.axes | (own or frozenset()), own is not None, at.around.by_key)
    inside = exact if name in EXACT_MAPS else at.around.with_axes(axes)
    if not at.around.by_key:
        again = sorted((axes or set()) & at.around.axes)
        walk.rebindings += [Rebinding(at.module, node, name, axis, at.way) for axis in again]
    within = at.mapped(inside).stepping(node, f"{name.rpartition('.')[2]} maps it over {shown(axes)}")
    mapped = argument(arguments, 0, "fun", "f")
    for operand in operands([mapped] if mapped is not None else [], walk.resolver, at.bindings):
        _enter(walk, operand, within)


def _at_most(name: str, arguments: tuple[Argument, ...], resolver: Resolver) -> frozenset[str] | None:
    """The axes that a shard_map over a mesh of the project can bind, which mesh of it may be out of sight."""
    if name not in SHARD_MAPS or any(one.keyword in ("*", "**") for one in arguments):
        return None
    known = known_axes(resolver)
    return known.names if known.complete and is_of_project(argument(arguments, 1, "mesh"), resolver) else None


def _enter(walk: AxisWalk, value: Value, at: Frame) -> None:
    """Runs a function with arguments that are not in sight."""
    if len(at.way) > DEEPEST:
        return
    match value:
        case Function():
            _function(walk, value, at)
        case Partial(callee=inner, arguments=given) if isinstance(inner, Function):
            inside = {**at.bindings, **bind_arguments(inner, given, walk.resolver, at.bindings)}
            _function(walk, inner, at.binding(inside))
        case Application(node=node):
            _apply(walk, value, (), node, at)
        case Partial(node=node) if node not in walk.active:
            walk.active.add(node)
            _apply(walk, value, (), node, at)
            walk.active.discard(node)
        case Instance():
            for method in walk.resolver.attribute(value, "__call__"):
                if isinstance(method, Function):
                    _function(walk, method, at)


def _function(walk: AxisWalk, function: Function, at: Frame) -> None:
    complete = at.around.complete
    if not complete and (len(at.way) > DEEPEST_OUTSIDE or not _mentions_map(function.module)):
        return
    inside = replace(at, module=function.module, bindings=_kept(function, at.bindings, walk.resolver))
    key = (function.node, at.around, frozenset(inside.bindings.items()))
    if key in walk.seen or len(at.way) > DEEPEST:
        return
    walk.seen.add(key)
    if function.node not in walk.calls:
        walk.calls[function.node] = list(calls_of(function.node))
    for call in walk.calls[function.node]:
        if complete or walk.leads.may_lead(call, function.module):
            _call(walk, call, inside)


def _mentions_map(module: Module) -> bool:
    return any(word in module.text for word in ("pmap", "shard_map", "axis_name"))


def _kept(function: Function, bindings: Bindings, resolver: Resolver) -> Bindings:
    """The bindings that a function can see, its own and those of the functions around it, and that say something.

    Those that its bound functions see come along, for it may call them.
    """
    visible = _lexical(function)
    for (node, _), values in bindings.items():
        if node in visible:
            visible = visible.union(*(_lexical(v) for v in values if isinstance(v, Function)))
            makers = [receivers.constructor(v, resolver) for v in values if isinstance(v, Instance)]
            visible |= {maker.node for maker in makers if maker is not None}
    return {key: values for key, values in bindings.items() if key[0] in visible and values != (UNKNOWN,)}


def _lexical(function: Function) -> frozenset[ast.AST]:
    """A function and those around it."""
    scope = function.module.table.own_scope.get(function.node)
    found: set[ast.AST] = set()
    while scope is not None:
        found.add(scope.node)
        scope = scope.parent
    return frozenset(found)


def _hand_over(walk: AxisWalk, arguments: Iterable[Argument], at: Frame) -> None:
    """Functions given to something that will call them where it is called itself."""
    for operand in operands(arguments, walk.resolver, at.bindings):
        _enter(walk, operand, at)


def _record(
    walk: AxisWalk,
    name: str,
    axis: Argument | None,
    node: ast.Call,
    at: Frame,
    default: tuple[str, ...] = (),
) -> None:
    """A collective over the axes that it is given, or over those that it takes by default."""
    names = axis_names(axis.expression, axis.module, walk.resolver, at.bindings) if axis is not None else default
    for one in names or ():
        walk.uses.append(AxisUse(at.module, node, name, one, at.around, at.way, at.bindings, axis))


def _is_of_clu(cls: Class, resolver: Resolver) -> bool:
    bases = [v for one in resolver.lineage(cls) for v in resolver.bases(one)]
    return any(isinstance(v, External) and v.name == CLU_METRICS for v in bases)


def label(function: Function) -> str:
    """What a message calls a function."""
    return "a lambda" if isinstance(function.node, ast.Lambda) else function.node.name


def shown(axes: frozenset[str] | None) -> str:
    """Axes as a message shows them."""
    if axes is None:
        return "unknown axes"
    return ", ".join(shown_name(axis) for axis in sorted(axes)) or "an axis without a name"


def as_argument(axes: Collection[str]) -> str:
    """Axes as a collective takes them: one by itself, several as a tuple."""
    names = ", ".join(shown_name(axis) for axis in sorted(axes))
    return names if len(axes) == 1 else f"({names})"
