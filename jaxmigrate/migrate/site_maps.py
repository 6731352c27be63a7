"""The map of a site: by the layouts that were chosen for its arrays, or by the axes that it says of stacked ones."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from jaxmigrate.flow.layout.choices import Choice, SiteChoice
from jaxmigrate.flow.layout.model import Keys, Place
from jaxmigrate.migrate.axis_names import is_of_module
from jaxmigrate.migrate.maps import STACKED, Array, MapPlan, folded
from jaxmigrate.migrate.one_device import hides_arguments
from jaxmigrate.migrate.site_calls import (
    count_of,
    has_receiver,
    names_as_called,
    names_of,
    names_said,
    names_the_rest,
    near_calls,
    required_names,
    taken_calls,
)
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, listed, literal_of, mapped_function
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import (
    Argument,
    Constant,
    ModuleValue,
    Parameter,
)

UNUSUAL = "axis_size"  # what only a mesh that is chosen at each call can say


def of_choice(choice: SiteChoice, resolver: Resolver, module: Module) -> MapPlan:
    """The map of a site that has global arrays."""
    site = choice.site
    argument = site.keyword("axis_name")
    said = _said_axis(argument, choice.axis, resolver, module)
    inputs = tuple(_of_layout(one) for one in choice.arguments)
    outputs = tuple(_of_layout(one) for one in choice.outputs)
    places, kinds = choice.tree.places, dict(choice.tree.named)
    alike = {place for place, kind in kinds.items() if isinstance(kind, Keys) and _are_alike(place, places, outputs)}
    if alike:
        places, outputs = folded(places, outputs, alike)
        kinds = {place: kind for place, kind in kinds.items() if place not in alike}
    names = names_of(site, resolver, len(inputs), choice.keywords) or _called_names(len(inputs), choice.keywords)
    by_name: tuple[str, ...] = ()
    calls = near_calls(site, resolver)
    if names is not None and choice.keywords:
        order, by_name = _in_order(names, choice.keywords, site, resolver)
        names, inputs = tuple(names[i] for i in order), tuple(inputs[i] for i in order)
        outputs = tuple(replace(one, like=order.index(one.like)) for one in outputs)
    return MapPlan(
        site=site,
        axis=said.node if said is not None else choice.axis,
        axis_name=choice.axis if said is None or said.is_fixed else "",
        inputs=inputs,
        outputs=outputs,
        whole_in=False,
        whole_out=places == ((),) if alike else choice.whole,
        donated=_donated(choice, resolver, module),
        static=tuple(i for i, one in enumerate(inputs) if one.static),
        by_rows=choice.by_rows,
        names=names,
        by_keyword=choice.keywords,
        by_name=by_name,
        places=places,
        named=kinds,
        choice=choice,
        said=names_said(calls, len(inputs)) if names is None else (),
        given_by_keyword=any(call.keywords for call in calls),
        axis_source=_axis_of_alias(site, resolver),
    )


def _are_alike(place: Place, places: Sequence[Place], outputs: Sequence[Array]) -> bool:
    """Whether all entries of a dictionary are laid out in one way."""
    return len({array for at, array in zip(places, outputs, strict=True) if at[:-1] == place}) == 1


def _called_names(count: int, keywords: Sequence[str]) -> tuple[str, ...] | None:
    """Names for the arguments of a function out of sight: those by which calls give some, others for what is before."""
    names = (*(f"arg{i}" for i in range(count - len(keywords))), *keywords)
    return names if keywords and len({*names}) == count else None


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
    if choice.layout == "mixed":
        return Array(split=False, parts=tuple(map(_of_layout, choice.parts)))
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


@dataclass(frozen=True)
class _Said:
    """What the file says for an axis; `is_fixed`: it is the same axis whoever calls."""

    node: ast.expr
    is_fixed: bool


def _said_axis(argument: Argument | None, axis: str, resolver: Resolver, module: Module) -> _Said | None:
    """What stands for an axis: a constant of the module, or what users of a package may give another value."""
    node = argument.expression if argument is not None and argument.module is module else None
    if node is None or isinstance(node, ast.Constant):
        return None
    values = resolver.values(node, module)
    if any(isinstance(value, Parameter) for value in values) and resolver.project.is_packaged(module):
        return _Said(node, is_fixed=False)
    if not isinstance(node, ast.Name | ast.Attribute) or values != (Constant(axis),):
        return None
    if isinstance(node, ast.Attribute):
        return _Said(node, is_fixed=True) if is_of_module(node, resolver, module) else None
    root = module.table.root
    fits = node in module.table.scope_of and module.table.scope_of[node].lookup(node.id) is root
    return _Said(node, is_fixed=True) if fits and len(root.bindings.get(node.id, ())) == 1 else None


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
    named = [call for call, _ in taken_calls(site, resolver) if call.keywords]
    places = listed(site, "donate_argnums", resolver) if donated is not None and named else None
    if places is None:
        return donated
    kept = [i for i in places if all(_is_by_position(i, call, site) for call in named)]
    return donated if len(kept) == len(places) else numbers(kept) if kept else None


def keeps_what_is_named(site: MappedSite, resolver: Resolver) -> bool:
    """Whether some call gives by keyword what a map says it donates, so that it is not donated."""
    if site.keyword("donate_argnums") is None:
        return False
    places = listed(site, "donate_argnums", resolver) or ()
    named = [call for call, _ in taken_calls(site, resolver) if call.keywords]
    return any(not _is_by_position(place, call, site) for place in places for call in named)


def _is_by_position(place: int, call: ast.Call, site: MappedSite) -> bool:
    if any(isinstance(one, ast.Starred) for one in call.args):
        return False
    return 0 <= place < len(call.args) + has_receiver(site, call)


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
    calls = near_calls(site, resolver)
    counts = {len(call.args) + len(call.keywords) + has_receiver(site, call) for call in calls if not has_stars(call)}
    whole_in = len(inputs) == 1 and not isinstance(literal_of(site, "in_axes", 0, resolver), tuple)
    by_keyword = any(call.keywords for call in calls)
    starred = any(has_stars(call) for call in calls)
    opened = starred or hides_arguments(site, resolver)
    every = _with_keywords(inputs, static, site, resolver, whole=whole_in)
    if every is None:
        return None
    whole_in, inputs = whole_in and every is inputs, every
    count = None if whole_in else max(len(inputs), 1 + max(static, default=-1))  # static ones may come last unsaid
    required = required_names(site, resolver)
    if required is not None and count not in (None, len(required)):
        required = None
    if static:
        count = count or (len(required) if required is not None else count_of(site, resolver, counts, starred))
        if count is None or max(static) >= count:
            return None
        inputs, whole_in = _with_static(inputs * count if whole_in else inputs, static, count), False
    names = required or names_of(site, resolver, count, (), counts if not opened else set(), by_keyword=by_keyword)
    names = names or (_said_at_once(site) if whole_in else None)
    spoken: tuple[str, ...] = ()
    any_keywords = False
    if by_keyword and required is None:
        by_calls = names_as_called(site, calls, resolver) if whole_in and not starred else None
        known = names if names is not None and not opened else None
        if not (known and all(names_the_rest(c, known, has_receiver(site, c)) for c in calls)):
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
        said=names_said(calls, None if whole_in else len(inputs)) if names is None else (),
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
    return not any(a.split for a in inputs) or any(call.keywords for call, _ in taken_calls(site, resolver))


def _with_keywords(
    axes: tuple[Array, ...], static: Collection[int], site: MappedSite, resolver: Resolver, *, whole: bool
) -> tuple[Array, ...] | None:
    """The arguments where every call gives the same of them by keyword: these are mapped over their first axis.

    `axes` are what in_axes says, once for all where `whole`, and come back where that says all. None where calls
    differ, or do not name the last parameters.
    """
    if axes == (STACKED,) or not _has_keywords(axes, site, resolver):
        return axes
    calls = [call for call, _ in taken_calls(site, resolver)]
    given = {(len(c.args) + has_receiver(site, c), frozenset(k.arg or "" for k in c.keywords)) for c in calls}
    if any(map(has_stars, calls)) or hides_arguments(site, resolver) or len(given) != 1:
        return None
    ((first, keywords),) = given
    names = names_of(site, resolver, first + len(keywords), ())
    if names is None or {*names[first:]} != keywords or max(static, default=-1) >= first:
        return None
    said = axes * first if whole else axes
    if len(said) > first or not {*range(len(said), first)} <= {*static}:
        return None
    return (*_with_static(said, static, first), *(STACKED,) * len(keywords))


def _is_decorated(site: MappedSite) -> bool:
    parent = site.module.table.parents.get(site.node)
    return isinstance(parent, ast.FunctionDef) and site.node in parent.decorator_list


def _said_at_once(site: MappedSite) -> tuple[str, ...] | None:
    """Names for the arguments of a map that is called where it is made, `pmap(f)(x, y)`, and nowhere else."""
    call = site.module.table.parents.get(site.node)
    at_once = isinstance(call, ast.Call) and call.func is site.node and site.mapped is not None
    return names_said([call]) or None if at_once and isinstance(call, ast.Call) else None


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
    unsure = keyword == "devices" and (Constant(None) in values or all(_may_be_none(v) for v in values))
    return argument.expression if usable and not unsure and argument.expression is not None else False
