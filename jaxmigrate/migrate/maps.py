"""What a mapped site becomes as a `jax.shard_map`: its mesh, its specs, and which axes its body drops and puts back."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from jaxmigrate.flow.layout.choices import Choice, NamedTuple, SiteChoice
from jaxmigrate.flow.layout.model import Place
from jaxmigrate.migrate.one_device import calls_of, hides_arguments
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.sites import MappedSite, listed, literal_of, mapped_function, mapped_values
from jaxmigrate.program.values import (
    Application,
    Argument,
    Constant,
    External,
    Function,
    ModuleValue,
    Parameter,
    Partial,
    Value,
)

UNUSUAL = "axis_size"  # what only a mesh that is chosen at each call can say
ALIKE = 3  # outputs of one spec that are easier to read as one


@dataclass(frozen=True, slots=True)
class Array:
    """One argument or output.

    `split`: its spec names the mesh's axis, at the place `axis`; `drops`: the body sees no such axis, and results get
    it back. `fields` of it are stacked while the rest is the same on all devices; `method` copies it with other fields.
    `aligned` and `aligned_fields`: stacked, and over all processes. `own`: each process may have one of its own.
    """

    split: bool
    drops: bool = False
    axis: int = 0
    static: bool = False
    fields: tuple[str, ...] = ()
    method: str = ""
    like: int = 0
    of: NamedTuple | None = None
    aligned: bool = False
    aligned_fields: frozenset[str] = frozenset()
    own: bool = False

    @property
    def is_open(self) -> bool:
        """Whether some fields are stacked of an object of which only the object itself can be asked for the rest."""
        return bool(self.fields) and self.of is None

    @property
    def local_fields(self) -> tuple[str, ...]:
        """The stacked fields of which each process has its own rows."""
        return tuple(name for name in self.fields if name not in self.aligned_fields)

    @property
    def mapped(self) -> int | None:
        """The axis that is dropped, as pmap's in_axes and out_axes say it."""
        return self.axis if self.drops else None


STACKED = Array(split=True, drops=True)


@dataclass(frozen=True, slots=True, eq=False)
class MapPlan:
    """One site as a `jax.shard_map`.

    `inputs` and `outputs` hold one `Array` for each, or stand for all alike where `whole_in` and `whole_out`. `axis` is
    the source or node of the axis name, `axis_name` what it is where that is known. `devices` are those that pmap is
    given; `by_rows`: the mesh has as many devices as the arrays of a call have rows. `names` are the parameters of a
    function that is written around the map, None where a star stands for them. What is given `by_name` has to be given
    to the mapped function by keyword as well. `backend` is the one whose devices these are. `any_keywords`: calls give
    arguments by keyword, and which ones differs or does not show; `paired`: what is mapped takes the tuple of the ones
    and the dict of the others.
    """

    site: MappedSite
    axis: str | ast.expr
    axis_name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    whole_in: bool
    whole_out: bool
    donated: str | ast.expr | None = None
    static: tuple[int, ...] = ()
    devices: ast.expr | None = None
    backend: ast.expr | None = None
    by_rows: bool = False
    names: tuple[str, ...] | None = None
    by_keyword: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    named: dict[Place, NamedTuple] = field(default_factory=dict)
    choice: SiteChoice | None = None
    given_by_keyword: bool = False
    any_keywords: bool = False
    paired: bool = False
    axis_default: str = ""  # the axis name where the one that pmap is given is None
    axis_source: str = ""  # what the axis is called in the module of the alias that the site goes by
    mesh: str = ""  # what the mesh of the devices that pmap is given is called above the statement of a site
    said: tuple[str, ...] = ()  # what a call calls what it gives, where names are not known
    own_devices: bool = False  # each process maps its rows over devices of its own
    one_process: bool = False  # with several processes, every call of it would raise
    lays_out: bool = False  # the map itself brings what is the same on all devices to them

    @property
    def everything(self) -> tuple[Array, ...]:
        """All arguments and outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def drops(self) -> bool:
        """Whether the body sees less axes than the blocks have, or gives less."""
        return any(array.drops or array.fields for array in self.everything)

    @property
    def has_own_mesh(self) -> bool:
        """Whether pmap is told which devices its mesh has."""
        return self.devices is not None or self.backend is not None

    @property
    def takes_rows(self) -> bool:
        """Whether all arguments and all outputs have a row for each device."""
        return all(array.drops or array.static for array in self.everything)

    @property
    def around(self) -> MapPlan:
        """The map of a function around the mapped one, which takes all by position."""
        return replace(self, by_name=(), paired=self.any_keywords)

    @property
    def plain(self) -> bool:
        """Whether all arguments and all outputs drop their first axis."""
        return self.whole_in and self.whole_out and self.inputs == self.outputs == (STACKED,)


def of_choice(choice: SiteChoice, resolver: Resolver, module: Module) -> MapPlan:
    """The map of a site that has global arrays."""
    site = choice.site
    argument = site.keyword("axis_name")
    constant = _constant_axis(argument, choice.axis, resolver, module)
    inputs = tuple(_of_layout(one) for one in choice.arguments)
    outputs = tuple(_of_layout(one) for one in choice.outputs)
    names = _names_of(site, resolver, len(inputs), choice.keywords)
    by_name: tuple[str, ...] = ()
    if names is not None and choice.keywords:
        order, by_name = _in_order(names, choice.keywords, site, resolver)
        names, inputs = tuple(names[i] for i in order), tuple(inputs[i] for i in order)
        outputs = tuple(replace(one, like=order.index(one.like)) for one in outputs)
    return MapPlan(
        site=site,
        axis=constant if constant is not None else choice.axis,
        axis_name=choice.axis,
        inputs=inputs,
        outputs=outputs,
        whole_in=False,
        whole_out=choice.whole,
        donated=_donated(choice, resolver, module),
        static=tuple(i for i, one in enumerate(inputs) if one.static),
        by_rows=choice.by_rows,
        names=names,
        by_keyword=choice.keywords,
        by_name=by_name,
        places=choice.tree.places,
        named=dict(choice.tree.named),
        choice=choice,
        given_by_keyword=any(call.keywords for call in _near_calls(site, resolver)),
        axis_source=_axis_of_alias(site, resolver),
    )


def _in_order(
    names: Sequence[str], keywords: Sequence[str], site: MappedSite, resolver: Resolver
) -> tuple[list[int], tuple[str, ...]]:
    """The arguments in the order of the mapped function's parameters, and those that it takes by keyword alone."""
    function, _ = mapped_function(site, resolver)
    known = function.passed_names() if function is not None else []
    if set(known[: len(names)]) == set(names):
        return sorted(range(len(names)), key=lambda i: known.index(names[i])), ()
    return list(range(len(names))), tuple(keywords)


def _of_layout(choice: Choice) -> Array:
    fields = tuple(name for name, _ in choice.fields)
    return Array(
        split=choice.layout in ("split", "stacked"),
        drops=choice.layout == "stacked",
        static=choice.layout == "static",
        fields=fields,
        method=choice.method,
        like=choice.like,
        of=choice.of,
        aligned=choice.aligned,
        aligned_fields=choice.aligned_fields,
        own=choice.layout == "broadcast",
    )


def _constant_axis(argument: Argument | None, axis: str, resolver: Resolver, module: Module) -> ast.expr | None:
    """The name of a constant of the module that stands for an axis."""
    node = argument.expression if argument is not None and argument.module is module else None
    if not isinstance(node, ast.Name) or resolver.value(node, module) != Constant(axis):
        return None
    root = module.table.root
    fits = node in module.table.scope_of and module.table.scope_of[node].lookup(node.id) is root
    return node if fits and len(root.bindings.get(node.id, ())) == 1 else None


def _donated(choice: SiteChoice, resolver: Resolver, module: Module) -> str | ast.expr | None:
    argument = choice.site.keyword("donate_argnums")
    if argument is None or argument.expression is None:
        return None
    if choice.keywords:  # which come last, and are not donated
        first = len(choice.arguments) - len(choice.keywords)
        kept = [i for i in listed(choice.site, "donate_argnums", resolver) or () if i < first]
        return numbers(kept) if kept else None
    return _expression(argument, resolver, module)


def _but_for_keywords(donated: str | ast.expr | None, site: MappedSite, resolver: Resolver) -> str | ast.expr | None:
    """What a map donates without what some call gives by keyword: pmap keeps such arrays, and jit would donate them."""
    named = [call for call, _ in _calls(site, resolver) if call.keywords]
    places = listed(site, "donate_argnums", resolver) if donated is not None and named else None
    if places is None:
        return donated
    kept = [i for i in places if all(_is_by_position(i, call, site) for call in named)]
    return donated if len(kept) == len(places) else numbers(kept) if kept else None


def _is_by_position(place: int, call: ast.Call, site: MappedSite) -> bool:
    if any(isinstance(one, ast.Starred) for one in call.args):
        return False
    return 0 <= place < len(call.args) + _has_receiver(site, call)


def _expression(argument: Argument, resolver: Resolver, module: Module) -> str | ast.expr | None:
    """An argument of pmap as the file can say it: its own node, or what it is."""
    if argument.expression is None:
        return None
    if argument.module is module:
        return argument.expression
    value = resolver.value(argument.expression, argument.module)
    return repr(value.value) if isinstance(value, Constant) else None


def numbers(values: Sequence[int]) -> str:
    """Positions as source: a number, or a tuple of some."""
    return str(values[0]) if len(values) == 1 else f"({', '.join(map(str, values))})"


def of_site(site: MappedSite, resolver: Resolver, default_axis: str, *, all_devices: bool) -> MapPlan | None:
    """The map of a site whose arrays stay stacked; None where only a run tells what it needs."""
    module = site.module
    unseen = site.mapped is None or (site.mapped.expression is None and not _is_decorated(site))
    if site.is_open or unseen or site.keyword(UNUSUAL) is not None:
        return None
    axis = _axis(site, resolver, default_axis)
    inputs = _arrays(literal_of(site, "in_axes", 0, resolver))
    outputs = _arrays(literal_of(site, "out_axes", 0, resolver))
    static = listed(site, "static_broadcasted_argnums", resolver)
    if axis is None or inputs is None or outputs is None or static is None:
        return None
    donate = site.keyword("donate_argnums")
    donated = _expression(donate, resolver, module) if donate is not None else None
    said = _said_devices(site, resolver)
    if said is None or (any(said) and not all_devices) or (donate is None) != (donated is None):
        return None  # some devices may be more than a call has rows
    devices, backend = said
    by_rows = not any(said) and not all_devices
    donated = _but_for_keywords(donated, site, resolver)
    calls = _near_calls(site, resolver)
    counts = {len(call.args) + len(call.keywords) + _has_receiver(site, call) for call in calls if not _is_open(call)}
    whole_in = len(inputs) == 1 and not isinstance(literal_of(site, "in_axes", 0, resolver), tuple)
    by_keyword = any(call.keywords for call in calls)
    starred = any(_is_open(call) for call in calls)
    opened = starred or hides_arguments(site, resolver)
    every = _with_keywords(inputs, static, site, resolver, whole=whole_in)
    if every is None:
        return None
    whole_in, inputs = whole_in and every is inputs, every
    count = None if whole_in else max(len(inputs), 1 + max(static, default=-1))  # static ones may come last unsaid
    required = _required_names(site, resolver)
    if required is not None and count not in (None, len(required)):
        required = None
    if static:
        count = count or (len(required) if required is not None else _count(site, resolver, counts, starred))
        if count is None or max(static) >= count:
            return None
        inputs, whole_in = _with_static(inputs * count if whole_in else inputs, static, count), False
    names = required or _names_of(site, resolver, count, (), counts if not opened else set(), by_keyword=by_keyword)
    spoken: tuple[str, ...] = ()
    any_keywords = False
    if by_keyword and required is None:
        by_calls = _as_calls_say(site, calls, resolver) if whole_in and not starred else None
        known = names if names is not None and not opened else None
        if not (known and all(_names_the_rest(c, known, _has_receiver(site, c)) for c in calls)):
            any_keywords = by_calls is None and whole_in and inputs == outputs == (STACKED,)
            if by_calls is None and not any_keywords:
                return None
            names, spoken = by_calls or (None, ())
    if by_rows and next((a.axis for a in inputs if a.drops), 1):
        return None  # the size of another axis is read by the map that chooses its mesh
    return MapPlan(
        site=site,
        axis=axis[0],
        axis_name=axis[1],
        inputs=inputs,
        outputs=outputs,
        whole_in=whole_in,
        whole_out=len(outputs) == 1 and not isinstance(literal_of(site, "out_axes", 0, resolver), tuple),
        donated=donated,
        static=static,
        devices=devices,
        backend=backend,
        by_rows=by_rows,
        names=names,
        said=_said_by(calls) if names is None else (),
        given_by_keyword=by_keyword,
        any_keywords=any_keywords,
        axis_default=axis[2],
        by_name=spoken,
        axis_source=_axis_of_alias(site, resolver),
    )


def _with_static(inputs: Sequence[Array], static: Collection[int], count: int) -> tuple[Array, ...]:
    """The arguments of a map of which some are static; those behind the axes that are said are the same for all."""
    every = (*inputs, *(Array(split=False),) * (count - len(inputs)))
    return tuple(Array(split=False, static=True) if i in static else a for i, a in enumerate(every))


def _has_keywords(inputs: Sequence[Array], site: MappedSite, resolver: Resolver) -> bool:
    """Whether some call gives arguments by keyword: for certain where in_axes leaves pmap nothing else to map."""
    return not any(a.split for a in inputs) or any(call.keywords for call, _ in _calls(site, resolver))


def _with_keywords(
    axes: tuple[Array, ...], static: Collection[int], site: MappedSite, resolver: Resolver, *, whole: bool
) -> tuple[Array, ...] | None:
    """The arguments where every call gives the same of them by keyword: these are mapped over their first axis.

    `axes` are what in_axes says, once for all where `whole`, and come back where that says all. None where calls
    differ, or do not name the last parameters.
    """
    if axes == (STACKED,) or not _has_keywords(axes, site, resolver):
        return axes
    calls = [call for call, _ in _calls(site, resolver)]
    given = {(len(c.args) + _has_receiver(site, c), frozenset(k.arg or "" for k in c.keywords)) for c in calls}
    if any(map(_is_open, calls)) or hides_arguments(site, resolver) or len(given) != 1:
        return None
    ((first, keywords),) = given
    names = _names_of(site, resolver, first + len(keywords), ())
    if names is None or {*names[first:]} != keywords or max(static, default=-1) >= first:
        return None
    said = axes * first if whole else axes
    if len(said) > first or not {*range(len(said), first)} <= {*static}:
        return None
    return (*_with_static(said, static, first), *(STACKED,) * len(keywords))


def _is_decorated(site: MappedSite) -> bool:
    parent = site.module.table.parents.get(site.node)
    return isinstance(parent, ast.FunctionDef) and site.node in parent.decorator_list


def _as_calls_say(
    site: MappedSite, calls: Sequence[ast.Call], resolver: Resolver
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Names for all arguments, and those given by keyword, where every call gives as many and the same by keyword."""
    found = {(len(c.args) + _has_receiver(site, c), frozenset(k.arg or "" for k in c.keywords)) for c in calls}
    if len(found) != 1:
        return None
    ((count, keywords),) = found
    first = _names_of(site, resolver, count, ()) or tuple(f"arg{i}" for i in range(count))
    spoken = tuple(k.arg or "" for k in calls[0].keywords)
    return None if "" in keywords or keywords & {*first} else ((*first, *spoken), spoken)


def _near_calls(site: MappedSite, resolver: Resolver) -> list[ast.Call]:
    """The calls of what a site maps, found by its names: those of its own file, where there are some."""
    found = _calls(site, resolver)
    near = [call for call, module in found if module is site.module]
    return near or [call for call, _ in found]


def arguments_of(site: MappedSite, resolver: Resolver) -> Iterator[tuple[ast.expr, Module]]:
    """What calls give a map for the first argument that has rows, as far as its axes are known."""
    axes = literal_of(site, "in_axes", 0, resolver)
    first = next((i for i, axis in enumerate(axes) if axis == 0), 0) if isinstance(axes, tuple) else 0
    for call, module in _calls(site, resolver):
        if not any(isinstance(one, ast.Starred) for one in call.args):
            yield from ((one, module) for one in call.args[first : first + 1])


@once_each
def _calls(site: MappedSite, resolver: Resolver) -> list[tuple[ast.Call, Module]]:
    """The calls of what a site maps: those by its names that are none of a library and that it would not refuse."""
    return [
        (call, module)
        for call, module in calls_of(site, resolver)
        if not isinstance(resolver.value(call.func, module), External) and _takes(site, call, resolver)
    ]


def _takes(site: MappedSite, call: ast.Call, resolver: Resolver) -> bool:
    """Whether what a site maps takes the arguments of a call, as far as both are known."""
    function, bound = mapped_function(site, resolver)
    if function is None or _is_open(call):
        return True
    arguments, names = function.node.args, function.passed_names()
    first, keywords = len(call.args) + _has_receiver(site, call), {k.arg for k in call.keywords}
    others = {p.arg for p in arguments.kwonlyargs}
    required = {*names[: len(names) - len(arguments.defaults)]} - bound
    too_many = first > len(names) and arguments.vararg is None
    unknown = not arguments.kwarg and bool(keywords - {*names, *others})
    return not (too_many or unknown or required - {*names[:first], *keywords})


def _has_receiver(site: MappedSite, call: ast.Call) -> bool:
    """Whether a call does not name the first argument: of a mapped method, by an object of its class."""
    parent = site.module.table.parents.get(site.node)
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and site.node in parent.decorator_list:
        return site.module.table.scope_of[parent].kind == "class"
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return False
    holder = site.module.table.parents.get(parent)
    if not isinstance(holder, ast.ClassDef) or not isinstance(call.func, ast.Attribute):
        return False
    owner = call.func.value
    return not (isinstance(owner, ast.Name) and owner.id == holder.name)


def _is_open(call: ast.Call) -> bool:
    """Whether a star hides what a call gives."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def _names_the_rest(call: ast.Call, names: Sequence[str], receiver: bool) -> bool:
    """Whether a call gives by keyword all those parameters that it does not give by position."""
    return {k.arg for k in call.keywords} == set(names[len(call.args) + receiver :])


def _arrays(axes: object) -> tuple[Array, ...] | None:
    """One `Array` for each axis of a flat in_axes or out_axes."""
    found = [_array(axis) for axis in (axes if isinstance(axes, tuple) else (axes,))]
    return tuple(one for one in found if one is not None) if None not in found and found else None


def _array(axis: object) -> Array | None:
    if axis is None:
        return Array(split=False)
    if isinstance(axis, int) and not isinstance(axis, bool) and axis >= 0:
        return Array(split=True, drops=True, axis=axis)
    return None


def _axis(site: MappedSite, resolver: Resolver, default: str) -> tuple[str | ast.expr, str, str] | None:
    """The axis name as the file can say it, what it is where that is known, and what it is where that is None."""
    argument = site.keyword("axis_name")
    if argument is None:
        return default, default, ""
    values = resolver.argument_values(argument)
    value = values[0] if len(values) == 1 else None
    if value == Constant(None):
        return default, default, ""
    if isinstance(value, Constant):
        if not isinstance(value.value, str):
            return None
        node = argument.expression if argument.module is site.module else None
        plain = node is not None and not isinstance(node, ast.Constant)
        return (node if plain and node is not None else value.value), value.value, ""
    node = argument.expression
    if node is None or argument.module is not site.module:
        return None
    return node, "", default if any(_may_be_none(v) for v in values) else ""


def _axis_of_alias(site: MappedSite, resolver: Resolver) -> str:
    """`constants.AXIS` for a site that goes by `constants.pmap`, whose axis is a constant of that module."""
    argument = site.keyword("axis_name")
    callee = site.callee.args[0] if isinstance(site.callee, ast.Call) and site.callee.args else site.callee
    if argument is None or argument.module is site.module or not isinstance(callee, ast.Attribute):
        return ""
    root, axis = argument.module.table.root, argument.expression
    if not isinstance(axis, ast.Name) or resolver.value(callee.value, site.module) != ModuleValue(argument.module):
        return ""
    return f"{ast.unparse(callee.value)}.{axis.id}" if len(root.bindings.get(axis.id, ())) == 1 else ""


def _may_be_none(value: object) -> bool:
    """Whether an axis may be None, which pmap takes for one without a name."""
    if value == Constant(None):
        return True
    if not isinstance(value, Parameter):
        return False
    parameters = value.function.args
    positional = [*parameters.posonlyargs, *parameters.args]
    defaults = dict(zip([p.arg for p in positional[::-1]], parameters.defaults[::-1], strict=False))
    keywords = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    defaults |= {p.arg: d for p, d in keywords if d is not None}
    default = defaults.get(value.name)
    return isinstance(default, ast.Constant) and default.value is None


def _said_devices(site: MappedSite, resolver: Resolver) -> tuple[ast.expr | None, ast.expr | None] | None:
    """The devices that pmap is given, or else the backend whose devices it takes; None where only a run tells."""
    devices, backend = _devices(site, "devices", resolver), _devices(site, "backend", resolver)
    if isinstance(devices, bool) or isinstance(backend, bool):
        return None
    return devices, None if devices is not None else backend


def _devices(site: MappedSite, keyword: str, resolver: Resolver) -> ast.expr | bool | None:
    """The devices or the backend that pmap is given, None where it takes its own; False where only a run tells."""
    argument = site.keyword(keyword)
    if argument is None:
        return None
    values = resolver.argument_values(argument)
    if values == (Constant(None),):
        return None
    usable = argument.expression is not None and argument.module is site.module
    unsure = keyword == "devices" and all(_may_be_none(v) for v in values)
    return argument.expression if usable and not unsure and argument.expression is not None else False


def _required_names(site: MappedSite, resolver: Resolver) -> tuple[str, ...] | None:
    """The parameters of a mapped function that every call has to give; None where some may be left out."""
    value, names, bound = _passed(site, resolver)
    if value is None:
        return None
    arguments = value.node.args
    if arguments.defaults or arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        return None
    free = [name for name in names if name not in bound]
    return tuple(free) if free and free == names[: len(free)] else None


def _said_by(calls: Sequence[ast.Call]) -> tuple[str, ...]:
    """Names for arguments: those of what the first call gives, if all of that has names."""
    given = calls[0].args if calls and not calls[0].keywords else []
    found = [_said_of(one) for one in given]
    return tuple(found) if len({*found} - {""}) == len(found) else ()


def _said_of(node: ast.expr) -> str:
    """What a value is called: `batch` for `batch`, `self.batch`, `batches[0]` and `shard(batch)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=one) | ast.Call(args=[one, *_]):
            return _said_of(one)
    return ""


def _passed(site: MappedSite, resolver: Resolver) -> tuple[Function | None, list[str], frozenset[str]]:
    """The function that a site maps, what calls may give it by position, and what a partial binds by keyword."""
    value, bound = mapped_function(site, resolver)
    if value is not None:
        return value, value.passed_names(), bound
    found = mapped_values(site, resolver)
    partial = found[0] if len(found) == 1 else None
    callee = _under_jit(partial.callee) if isinstance(partial, Partial) else None
    if not isinstance(partial, Partial) or not isinstance(callee, Function):
        return None, [], bound
    given = [argument.keyword for argument in partial.arguments]
    if "*" in given or "**" in given:
        return None, [], bound
    keywords = frozenset(one for one in given if one is not None)
    return callee, callee.passed_names()[len(given) - len(keywords) :], keywords


def _under_jit(value: Value) -> Value:
    """What a compiled function compiles."""
    while isinstance(value, Application) and value.callee == External("jax.jit"):
        fun = next((one.value for one in value.arguments if one.keyword is None), None)
        if fun is None:
            break
        value = fun
    return value


def _names_of(
    site: MappedSite,
    resolver: Resolver,
    count: int | None,
    keywords: Sequence[str],
    counts: set[int] | None = None,
    *,
    by_keyword: bool = False,
) -> tuple[str, ...] | None:
    """The names of the parameters that calls give something for; None where they cannot be told."""
    value, names, bound = _passed(site, resolver)
    if value is None:
        return None
    arguments = value.node.args
    if any(name in bound for name in names):
        names = names[: min(i for i, name in enumerate(names) if name in bound)]
    if keywords:
        return (*names[: (count or 0) - len(keywords)], *keywords)
    if count is None and counts is not None and len(counts) == 1:
        count = next(iter(counts))
    optional = bool(arguments.defaults) and count is None
    if count is None and (optional or arguments.vararg is not None):
        return None
    if arguments.kwonlyargs and by_keyword:
        return None
    if len({p.arg for p in all_parameters(arguments)}) < len(names):
        return None
    chosen = names if count is None else names[:count]
    return tuple(chosen) if count is None or len(chosen) == count else None


def _count(site: MappedSite, resolver: Resolver, counts: set[int], starred: bool) -> int | None:
    """How many arguments every call in sight gives; one that gave another number would be an error."""
    if len(counts) == 1 and not starred:
        return next(iter(counts))
    names = _names_of(site, resolver, None, ()) if not counts else None
    return len(names) if names is not None else None
