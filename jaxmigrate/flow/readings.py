"""What reading the functions that a program maps finds, with arguments as the maps give them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator

from jaxmigrate.flow.axis_symbols import has_symbols
from jaxmigrate.flow.meshes import axes_with_one_device, length_of_devices
from jaxmigrate.flow.specs import out_vars, spec_axes, spec_calls, spec_var, varies
from jaxmigrate.flow.variance import EQUAL, MAY, AbstractValue, Level, Mode, Reading, read
from jaxmigrate.flow.variance.lattice import DATA, KEPT, OTHERS, Fields
from jaxmigrate.flow.variance.out_of_sight import COMPUTING
from jaxmigrate.flow.variance.run import KEY
from jaxmigrate.program.checking_decorators import beneath
from jaxmigrate.program.collectives import ONE_AXIS_MAPS, PMAPS, SHARD_MAPS, TRANSPARENT, VMAP, argument
from jaxmigrate.program.functions import is_classmethod, is_static, returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, positional_names
from jaxmigrate.program.values import (
    Application,
    Argument,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Parameter,
    Partial,
    Value,
)
from jaxmigrate.records import record, replace

DATA_NAMES = re.compile(
    r"^(x|y|xs|ys|xb|yb|inputs?|images?|imgs?|labels?|targets?|tokens?|input_ids|obs|observations?|features?|examples?)$"
    "|batch|image|label|data$|dataset|minibatch|sample|_(inputs|tokens|examples)$"
)
NO_DATA = re.compile(
    "param|state|stat|net|size|shape|axis|axes|key|rng|step|idx|index|num|count|meta|mask|weight|norm|fn|sampler"
)

CHECKING = named("checking")
REFUSING = named("refusing")
COUNTED = r"(?:len\((?:jax\.)?(?:local_)?devices\(\)\)|(?:jax\.)?(?:local_)?device_count\(\))"
# By which a program refuses to run on several devices
ONE_DEVICE = re.compile(
    rf"assert {COUNTED} == 1\b|if {COUNTED} (?:> 1|!= 1|>= 2):\s+raise"
    rf"|\b(\w+) = {COUNTED}\n(?:.*\n){{0,12}}?\s*(?:assert \1 == 1\b|if \1 (?:> 1|!= 1|>= 2):\s+raise)"
)
LAYERS = 8  # of partials and the like around a function


@record(eq=False)
class DeviceMap:
    """A pmap or shard_map of a function that is in sight, or a vmap with an axis name; `axes`: None if not known.

    `mapped` is what is mapped: the function itself, or something made of it. `within`: the map in a
    function that a wrapper returns, which may change what it is given before the map gets it.
    """

    name: str
    application: Application
    function: Function
    axes: frozenset[str] | None
    mapped: Value
    within: ast.AST | None = None

    def keyword(self, name: str, position: int | None = None) -> Argument | None:
        """The argument given under a keyword or at a position."""
        return argument(self.application.arguments, position, name)

    def parameters(self) -> list[str]:
        """The names of the positional parameters that the map's arguments are passed for."""
        if is_scan(self.mapped):
            return ["init", "xs"]
        names = self.function.passed_names()
        if not isinstance(self.mapped, Partial):
            return names
        positional = sum(a.keyword is None for a in self.mapped.arguments)
        keywords = {a.keyword for a in self.mapped.arguments}
        return [name for name in names[positional:] if name not in keywords]


def innermost(value: Value, resolver: Resolver) -> Function | None:
    """The function in what a map is given; None where that is not in sight."""
    match value:
        case Function():
            return value
        case Partial(callee=Function() as function):
            return function
        case Partial(callee=Application(callee=External(name=name)) as compiled) if name in TRANSPARENT:
            return innermost(compiled, resolver)
        case Partial(arguments=(first, *_)) if is_scan(value):
            operands = resolver.argument_values(first)
            return innermost(operands[0], resolver) if operands else None
        case Application(callee=External(name=name)) if name in TRANSPARENT or name == VMAP:
            operand = _compiled(value, resolver)
            return innermost(beneath(operand), resolver) if operand is not None else None
        case Application(callee=Function() as factory) if not isinstance(factory.node, ast.Lambda):
            returned = resolver.returned(factory)
            return returned[0] if len(returned) == 1 and isinstance(returned[0], Function) else None
        case Instance():
            methods = resolver.attribute(value, "__call__")
            return methods[0] if len(methods) == 1 and isinstance(methods[0], Function) else None
    return None


def _compiled(value: Application, resolver: Resolver) -> Value | None:
    """The one function that `jit` and the like are given; None where it may be another."""
    wrapped = argument(value.arguments, 0, "fun", "f")
    operands = resolver.argument_values(wrapped) if wrapped is not None else ()
    return operands[0] if len(operands) == 1 else None


def partial_beneath(value: Value, resolver: Resolver) -> Value:
    """The partial that `jit(partial(step, ...))` compiles, for its arguments are none of the map's; else the value."""
    inner = value
    for _ in range(LAYERS):
        match inner:
            case Application(callee=External(name=name)) if name in TRANSPARENT:
                operand = _compiled(inner, resolver)
                if operand is None:
                    return value
                inner = operand
            case Partial():
                return inner
            case _:
                return value
    return value


def takes_blocks(found: DeviceMap, resolver: Resolver) -> bool:
    """Whether what a map gives reaches the function itself: through partials, `jit` and factories, but no vmap."""
    value: Value = found.mapped
    for _ in range(LAYERS):
        match value:
            case Application(callee=External(name=name)) if name in TRANSPARENT:
                operand = _compiled(value, resolver)
                if operand is None:
                    return False
                value = operand
            case Application(callee=Function()):
                return True
            case Partial():
                value = value.callee
            case Instance():
                return found.function.receiver == value
            case _:
                return value is found.function or value == found.function
    return False


def method_of_made(value: Value, resolver: Resolver) -> Value:
    """The method that `Net.create(...).encode` is, where a class method returns `cls(...)`; else the value itself."""
    match value:
        case Member(
            owner=Application(
                callee=Function(node=ast.FunctionDef() as maker),
                node=ast.Call(func=ast.Attribute(value=base)),
                module=home,
            ),
            name=name,
        ) if is_classmethod(maker) and _returns_own(maker):
            cls = resolver.value(base, home)
            found = resolver.attribute(Instance(cls), name) if isinstance(cls, Class) else ()
            method = innermost(found[0], resolver) if len(found) == 1 else None
            if isinstance(cls, Class) and method is not None:  # a jit around it changes nothing
                return method if is_static(method.node) else Function(method.module, method.node, Instance(cls))
    return value


def _returns_own(maker: ast.FunctionDef) -> bool:
    """Whether all that a class method returns are calls of its class."""
    given, returned = positional_names(maker.args), returned_by(maker)
    calls = [one.func for one in returned if isinstance(one, ast.Call)]
    own = [one for one in calls if isinstance(one, ast.Name) and one.id in given[:1]]
    return bool(returned) and len(own) == len(returned)


def is_scan(value: Value) -> bool:
    """Whether several steps are mapped at once: `partial(jax.lax.scan, step)`."""
    return isinstance(value, Partial) and value.callee == External("jax.lax.scan") and len(value.arguments) == 1


def read_map(
    found: DeviceMap,
    resolver: Resolver,
    *,
    trusting: bool,
    equal: Collection[int] = frozenset(),
    omitted: Collection[str] = frozenset(),
    local: bool = False,
) -> Reading:
    """Reads the body of a map, with `local` as the devices of one process see it.

    Its arguments at the positions `equal` are taken for equal on all devices; those that are `omitted` have
    their defaults.
    """
    values = [EQUAL if n in equal else value for n, value in enumerate(arguments(found, resolver))]
    for n, name in enumerate(found.parameters()):
        if KEY.search(name) and values[n].parts is None and values[n].fields is None:
            values[n] = replace(values[n], marks=values[n].marks | {f"{KEPT}{n}"})
    given = {k: v for k, v in zip(found.parameters(), values, strict=True) if k not in omitted}
    rest = _starred_arguments(found, len(values), resolver)
    checked, stacked = refuses_varying(found, resolver), found.name in PMAPS
    mode = Mode(trusting, lenient=True, local=local, checked=checked, stacked=stacked)
    by_position = [*values, *rest] if rest else []
    named = {} if rest else given
    return read(found.mapped, by_position, found.axes or frozenset(), resolver, named, mode)


def _starred_arguments(found: DeviceMap, count: int, resolver: Resolver) -> list[AbstractValue]:
    """What a shard_map's further specs make of the arguments that `*args` of its function stands for."""
    specs = found.keyword("in_specs", 2) if found.name in SHARD_MAPS else None
    if found.function.node.args.vararg is None or isinstance(found.mapped, Partial) or specs is None:
        return []
    listed = resolver.container(specs.expression, specs.module) if specs.expression is not None else None
    if listed is None or not isinstance(listed[0], ast.Tuple | ast.List):
        return []
    return _by_specs(found, len(listed[0].elts), resolver)[count:]


def arguments(found: DeviceMap, resolver: Resolver) -> list[AbstractValue]:
    """pmap's stacked arguments may be equal on all devices, for all that is known; a split block is not.

    Nor is what has the name of data.
    """
    names = found.parameters()
    given = (
        _by_specs(found, len(names), resolver) if found.name in SHARD_MAPS else _by_axes(found, len(names), resolver)
    )
    for number, (name, one) in enumerate(zip(names, given, strict=True)):
        own = one.level == Level.YES or (one == MAY and found.name in PMAPS)
        if own and one.parts is None and one.fields is None and is_data(name):
            given[number] = AbstractValue(Level.YES, marks=frozenset([DATA]))
    plain = found.mapped == found.function and found.function.receiver is None
    owner = own_class(found.function.node, found.function.module) if plain else None
    if owner is not None and given:  # `self` is split like any other argument
        given[0] = replace(given[0], static=Instance(owner), fields=Fields({OTHERS: given[0]}))
    return given


def own_class(node: FunctionNode, module: Module) -> Class | None:
    """The class of the object that a method is given first; None for any other function."""
    above = module.table.parents.get(node)
    plain = isinstance(above, ast.ClassDef) and not is_static(node) and not is_classmethod(node)
    return Class(module, above) if plain and isinstance(above, ast.ClassDef) else None


def _by_axes(found: DeviceMap, count: int, resolver: Resolver) -> list[AbstractValue]:
    if found.name in ONE_AXIS_MAPS:
        return _along_one_axis(found, count, resolver)
    static = _numbers(found.keyword("static_broadcasted_argnums", 3), resolver) if found.name in PMAPS else ()
    shared = broadcast(found, resolver)
    return [_static(found, index) if index in static else EQUAL if index in shared else MAY for index in range(count)]


def _static(found: DeviceMap, index: int) -> AbstractValue:
    """An argument that is none to the compiled function; one that is a function by its name is one."""
    name = found.parameters()[index]
    if found.mapped is not found.function or COMPUTING.search(name) is None:
        return EQUAL
    return AbstractValue(static=Parameter(found.function.module, found.function.node, name))


def _by_specs(found: DeviceMap, count: int, resolver: Resolver) -> list[AbstractValue]:
    specs = found.keyword("in_specs", 2)
    if specs is None or specs.expression is None:
        return [MAY] * count
    listed = resolver.container(specs.expression, specs.module)
    if listed is not None and isinstance(listed[0], ast.Tuple | ast.List):
        given = [spec_var(e, listed[1], resolver, found.axes) for e in listed[0].elts]
        return [*given, *[MAY] * count][:count]
    return [spec_var(specs.expression, specs.module, resolver, found.axes)] * count


def is_data(name: str) -> bool:
    """Whether a parameter is by its name a device's own part of the data."""
    return DATA_NAMES.search(name.lower()) is not None and NO_DATA.search(name.lower()) is None


def _along_one_axis(found: DeviceMap, count: int, resolver: Resolver) -> list[AbstractValue]:
    """The arguments of a map that splits them along numbered dimensions: blocks, and what has None is one for all."""
    given = found.keyword("in_axes")
    axes = resolver.literal(given) if given is not None else ...
    each = axes if isinstance(axes, tuple) else [axes] * count
    kinds = [EQUAL if one is None else AbstractValue(Level.YES) if isinstance(one, int) else MAY for one in each]
    return [*kinds, *[MAY] * count][:count]


def _numbers(given: Argument | None, resolver: Resolver) -> frozenset[int]:
    """The positions that an argument lists."""
    if given is not None and isinstance(given.expression, ast.List):
        each = (resolver.literal(Argument(None, one, given.module)) for one in given.expression.elts)
        return frozenset(one for one in each if isinstance(one, int))
    values = resolver.argument_values(given) if given is not None else ()
    content = values[0].value if len(values) == 1 and isinstance(values[0], Constant) else ()
    items = content if isinstance(content, tuple) else (content,)
    return frozenset(item for item in items if isinstance(item, int))


def broadcast(found: DeviceMap, resolver: Resolver) -> frozenset[int]:
    """The positions whose entry in in_axes is None: one value for all devices."""
    axes = found.keyword("in_axes", 1 if found.name == VMAP else 2)
    values = resolver.argument_values(axes) if axes is not None else ()
    content = values[0].value if len(values) == 1 and isinstance(values[0], Constant) else ()
    if isinstance(content, tuple):
        return frozenset(index for index, item in enumerate(content) if item is None)
    if values == (Constant(None),):
        return frozenset(range(len(found.parameters())))  # as equinox has it
    if axes is not None and isinstance(axes.expression, ast.Tuple | ast.List):
        elements = axes.expression.elts
        return frozenset(i for i, e in enumerate(elements) if isinstance(e, ast.Constant) and e.value is None)
    return frozenset()


def unmapped(found: DeviceMap, resolver: Resolver) -> frozenset[int] | None:
    """The positions of the arguments that a pmap does not split along their first axis; None if not known."""
    static = _numbers(found.keyword("static_broadcasted_argnums", 3), resolver)
    axes = found.keyword("in_axes", 2)
    content = resolver.literal(axes) if axes is not None else 0
    if content == 0:
        return static
    if isinstance(content, tuple):
        return static | {n for n, one in enumerate(content) if one != 0}
    if axes is not None and isinstance(axes.expression, ast.Tuple):
        each = (resolver.literal(Argument(None, one, axes.module)) for one in axes.expression.elts)
        return static | {n for n, one in enumerate(each) if one != 0}
    return None


def unstacked_results(found: DeviceMap, resolver: Resolver) -> frozenset[int] | None:
    """The positions of what a pmap does not give back with the axis of devices in front; None where not known."""
    given = found.keyword("out_axes")
    content = resolver.literal(given) if given is not None else 0
    if isinstance(content, tuple):
        return frozenset(n for n, one in enumerate(content) if one != 0)
    return frozenset() if content == 0 else None


def is_unchecked(found: DeviceMap, resolver: Resolver) -> bool:
    """Whether JAX does not check what varies: always under pmap, under shard_map where that is turned off."""
    if found.name == VMAP or found.name in PMAPS:
        return True
    off = found.keyword("check_vma") or found.keyword("check_rep")
    return off is not None and resolver.argument_values(off) == (Constant(False),)


def is_checked(found: DeviceMap, resolver: Resolver) -> bool:
    """Whether JAX checks what varies, for certain: a public shard_map that nothing turns that off for."""
    return found.name in CHECKING and _is_on(found, resolver)


def refuses_varying(found: DeviceMap, resolver: Resolver) -> bool:
    """Whether JAX refuses an output that varies but is declared replicated: the older shard_map does so, too.

    Gradients with respect to replicated arguments count as summed, as check_vma has them; the check_rep of
    jax 0.4.35 refuses these as well.
    """
    return found.name in REFUSING and _is_on(found, resolver)


def _is_on(found: DeviceMap, resolver: Resolver) -> bool:
    on = found.keyword("check_vma") or found.keyword("check_rep")
    if any(a.keyword in ("*", "**") for a in found.application.arguments):
        return False
    return on is None or resolver.argument_values(on) == (Constant(True),)


def along_each_axis(found: DeviceMap, resolver: Resolver) -> list[DeviceMap]:
    """A map as its devices along one axis see it, for each of its axes: these may hold what those along another do not.

    Of a mesh out of sight, the axes are those that the map's specs name.
    """
    axes = found.axes
    if axes is None and found.name in SHARD_MAPS:
        axes = _axes_of_specs(found, resolver) - axes_of_one(found, resolver)
    if axes is None or len(axes) <= 1:
        return [found if axes == found.axes else replace(found, axes=axes or None)]
    return [replace(found, axes=frozenset([axis])) for axis in sorted(axes)]


def _axes_of_specs(found: DeviceMap, resolver: Resolver) -> frozenset[str]:
    given = [found.keyword("in_specs", 2), found.keyword("out_specs", 3)]
    assumed = resolver.defaults_hold
    known = [(one.expression, one.module) for one in given if one is not None and one.expression is not None]
    known = [resolver.container(node, module) or (node, module) for node, module in known]
    calls = [found for node, module in known for found in spec_calls(node, module, resolver, symbols=assumed)]
    return frozenset().union(*(axes for _, _, axes in calls))


def axes_of_one(found: DeviceMap, resolver: Resolver) -> frozenset[str]:
    """The axes of a map along which there is one device for certain: nothing differs along them."""
    if found.name in PMAPS:
        return (found.axes or frozenset()) if _has_one_device(found, resolver) else frozenset()
    mesh = found.keyword("mesh", 1) if found.name in SHARD_MAPS else None
    return axes_with_one_device(mesh, resolver) if mesh is not None else frozenset()


def _has_one_device(found: DeviceMap, resolver: Resolver) -> bool:
    """Whether a pmap is told that there is one device, or its module refuses to run on more."""
    if ONE_DEVICE.search(found.application.module.text):
        return True
    devices, size = found.keyword("devices", 4), found.keyword("axis_size", 6)
    one = size is not None and resolver.argument_values(size) == (Constant(1),)
    if devices is not None and devices.expression is not None:
        one |= length_of_devices(devices.expression, devices.module, resolver) == 1
    return one


def unreduced_outputs(
    found: DeviceMap, reading: Reading, resolver: Resolver, wrong: Callable[[AbstractValue], bool] = varies
) -> Iterator[tuple[Module, ast.expr, str]]:
    """The places where a device map declares an output replicated that certainly varies, or is otherwise wrong."""

    def is_none(node: ast.expr, module: Module) -> bool:
        return resolver.value(node, module) == Constant(None)

    def is_replicated(node: ast.expr, module: Module) -> bool:
        named = spec_axes(node, module, resolver)
        known = not named or not has_symbols(found.axes or ())
        return named is not None and known and not named & (found.axes or frozenset())

    given, test = found.keyword("out_specs", 3), is_replicated
    if found.name in PMAPS:
        given, test = found.keyword("out_axes"), is_none
        if _has_one_device(found, resolver):
            return
    elif (
        found.name == VMAP
        or found.axes is None
        or not (is_unchecked(found, resolver) or refuses_varying(found, resolver))
    ):
        return
    if given is not None and given.expression is not None:
        yield from out_vars(given.expression, given.module, reading.returned, test, resolver, wrong)
