"""Mapped functions in host code: where they are made, and what their calls take and give."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.flow.layout import bodies, devices, expressions, results
from jaxmigrate.flow.layout.idioms import is_none
from jaxmigrate.flow.layout.state import Given, SiteCall
from jaxmigrate.flow.layout.values import (
    NONE,
    NOTHING,
    PLAIN,
    Abstract,
    Func,
    Nothing,
    Obj,
    Pin,
    Ref,
    Site,
    func,
    is_empty,
    is_tracked,
    leaves_plain,
)
from jaxmigrate.flow.variance import Var, read
from jaxmigrate.flow.variance.lattice import replace
from jaxmigrate.program.sites import MappedSite, axis_of, listed, literal_of, mapped_values
from jaxmigrate.program.values import Constant, Function, Partial, Value

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.frames import Frame
    from jaxmigrate.flow.layout.interpreter import Interpreter
    from jaxmigrate.flow.layout.results import Place


def make_site(it: Interpreter, node: ast.Call, frame: Frame) -> Abstract:
    """`jax.pmap(f, ...)`: f runs on devices from here on."""
    expressions.evaluate(it, node.func, frame)
    site = it.sites[node]
    for argument in [*node.args, *(k.value for k in node.keywords)]:
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        value = expressions.evaluate(it, inner, frame)
        if site.mapped is not None and argument is site.mapped.expression:
            devices.map_more(it, node, value, frame)
            devices.on_device(it, value)
            _bound_on_device(it, value, argument, frame)
        else:
            it.pin_all([value], "is passed to pmap as an option", argument, frame.module)
    return func(Site(node))


def _bound_on_device(it: Interpreter, value: Abstract, node: ast.AST, frame: Frame) -> None:
    """What a partial or a transformed function under the map holds."""
    for item in value.in_order() if isinstance(value, Func) else ():
        found = it.bound.get(getattr(item, "node", None))  # type: ignore[arg-type]
        if found is not None:
            callee, given = found
            devices.on_device(it, callee)
            _bound_on_device(it, callee, node, frame)
            it.pin_all(given.everything(), "is given to the mapped function by a partial", node, frame.module)
        elif isinstance(item, Site):
            it.escape(item, Pin("is mapped once more", frame.module, node))


def call_site(it: Interpreter, site: ast.expr, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """A call of a mapped function."""
    placed = _in_place(it, site, given, node, frame)
    if placed is not None:
        given = placed
    if _raises(it, site, given, node, frame):
        return NONE  # no value, ever: unlike NOTHING it is not waited for
    names = tuple(sorted(given.named))
    known = it.by_keyword.setdefault(site, names)
    hides = not isinstance(node, ast.Call) or given.open or any(k.arg is None for k in node.keywords)
    if not isinstance(node, ast.Call) or hides or known != names:
        reason = "is called with other keyword arguments in one place than in another"
        if hides:
            reason = "is called with a number of arguments that fix cannot tell"
        it.escape(Site(site), Pin(reason, frame.module, node))
        it.pin_all(given.everything(), "is passed to a mapped function by keyword or with a star", node, frame.module)
        return PLAIN
    given = Given((*given.positional, *(given.named[name] for name in names)), {})
    key = (site, node, len(given.positional))
    call = it.calls.get(key)
    if call is None:
        call = it.calls[key] = SiteCall(site, frame.module, node, [NOTHING] * len(given.positional))
        it.changed = True
    own = len(node.args) == len(given.positional) and not any(isinstance(a, ast.Starred) for a in node.args)
    for index, value in enumerate(given.positional):
        call.arguments[index] = it.join(call.arguments[index], value, node, frame.module)
        is_array = isinstance(value, Ref) and value.is_array
        is_array |= own and not is_tracked(value) and it.idioms.is_array(node.args[index], frame.module)
        _give(it, site, index, value, is_array, node, frame)
    return results.outputs(it, site, len(given.positional))


def _in_place(it: Interpreter, site: ast.expr, given: Given, node: ast.expr, frame: Frame) -> Given | None:
    """The arguments of a call with those given by keyword in their places, where they stand in that order.

    What pmap maps or donates in another way by keyword than by position has no place.
    """
    if given.open or not given.named or not isinstance(node, ast.Call) or not it.editable(frame.module):
        return None
    value = only_value(it, site)
    bound = value.arguments if isinstance(value, Partial) else ()
    function = value.callee if isinstance(value, Partial) else value
    if not isinstance(function, Function) or (isinstance(value, Partial) and not value.is_by_name):
        return None
    start = len(given.positional)
    names = function.passed_names()[start : start + len(node.keywords)]
    if [k.arg for k in node.keywords] != names or {a.keyword for a in bound} & set(names):
        return None
    for index, keyword in enumerate(node.keywords, start):
        if not (is_none(keyword.value) or _is_alike_by_name(it, site, index)):
            return None
    return Given((*given.positional, *(given.named[name] for name in names)), {})


def _raises(it: Interpreter, site: ast.expr, given: Given, node: ast.expr, frame: Frame) -> bool:
    """Whether a call gives a mapped function more or fewer arguments than it takes, and nobody handles that.

    Where one call stands for several functions, some of them cannot be what it calls.
    """
    it.reads.add(("site", site))
    function = only_value(it, site)
    if given.open or given.named or not isinstance(function, Function) or is_tried(node, frame.module):
        return False
    if any(decorator is not site for decorator in getattr(function.node, "decorator_list", ())):
        return False
    spec, count = function.node.args, len(given.positional)
    most = len(function.passed_names())
    least = most - len(spec.defaults)
    if any(default is None for default in spec.kw_defaults) or (count > most and spec.vararg is None):
        return True
    own = int(site in it.bound_sites)  # the object, where a class holds the mapped function
    return count + own < least


def _is_alike_by_name(it: Interpreter, site: ast.expr, index: int) -> bool:
    """Whether a map does the same with an argument given by keyword as by position: maps its first axis, keeps it."""
    mapped = it.sites[site]
    axes = literal_of(mapped, "in_axes", 0, it.resolver)
    if isinstance(axes, tuple):
        axes = axes[index] if index < len(axes) else None
    donated = listed(mapped, "donate_argnums", it.resolver)
    return is_first(axes) and donated is not None and index not in donated


def _give(
    it: Interpreter, site: ast.expr, index: int, value: Abstract, is_array: bool, node: ast.expr, frame: Frame
) -> None:
    """Arrays that reach a mapped function in one position share a representation."""
    if isinstance(value, Nothing) or (is_empty(value) and not it.final):
        return
    if index == 0 and site in it.methods and isinstance(value, Obj):
        it.store(("tree", site, index), PLAIN, node, frame.module)
        return  # which the map gets as it is; what it reads of its attributes is looked for where they are named
    if not is_array and ("tree", site, index) not in it.variables:
        it.store(("tree", site, index), PLAIN, node, frame.module)
        it.touch(("site", site))
    if not is_tracked(value) or leaves_plain(value):
        reason = "is passed in one argument with arrays that might not be stacked"
        it.pin_all([value], reason if is_tracked(value) else "is passed to a mapped function", node, frame.module)
        if ("plain", site, index) not in it.variables:
            it.store(("plain", site, index), PLAIN, node, frame.module)
    else:
        cell = it.cell_of(value)
        assert cell is not None
        it.cell("argument", site, index).unify(cell)
    if ("plain", site, index) in it.variables and ("argument", site, index) in it.cells:
        reason = "is an argument for which another call passes arrays that might not be stacked"
        it.changed |= it.cells["argument", site, index].pin(Pin(reason, frame.module, node))


def is_first(axis: object) -> bool:
    """Whether an axis given to a map is the first one, and no truth value that equals 0."""
    return axis == 0 and axis is not False


def axis_of_output(it: Interpreter, site: ast.expr, place: Place) -> object:
    """Where an output has its device axis; None where it has none, as is one value for all devices."""
    axes = literal_of(it.sites[site], "out_axes", 0, it.resolver)
    if not isinstance(axes, tuple):
        return axes
    index = place[0] if place else None
    return axes[index] if isinstance(index, int) and index < len(axes) else ...


def returned(it: Interpreter, site: ast.expr, given: Sequence[Var], trusting: bool = False) -> Var | None:
    """What the function that a site maps returns, given which arguments differ between devices.

    None where the function is not in sight. With `trusting` only the structure of the result counts, not its levels.
    """
    it.reads.add(("site", site))
    key = (site, tuple(given), trusting)
    functions = _functions(it, site)
    known = it.readings.get(key)
    if known is not None and known[0] == functions:
        return known[1]
    found: Var | None = None
    mapped = it.sites[site]
    axis = axis_of(mapped, it.resolver)
    axes = frozenset({axis.value}) if isinstance(axis, Constant) and isinstance(axis.value, str) else frozenset()
    names = it.by_keyword.get(site, ())
    first = len(given) - len(names)  # below 0 where its calls do not give as many
    if len(functions) == 1 and first >= 0 and (axes or axis is None):
        named = dict(zip(names, given[first:], strict=True))
        outer = axes or frozenset({" unnamed "})
        found = read(functions[0], given[:first], outer, it.resolver, named, trusting=trusting, local=True).returned
        if found.parts is None and bodies.gives_pair(functions[0], it.resolver):
            found = replace(found, parts=(found, found))
    it.readings[key] = (functions, found)
    return found


def shape_of(it: Interpreter, site: ast.expr, count: int) -> Var | None:
    """The structure of what a mapped function returns."""
    trees = [("tree", site, index) in it.variables for index in range(count)]
    return returned(it, site, [Var(kind="unknown" if tree else "array") for tree in trees], trusting=True)


def only_value(it: Interpreter, site: ast.expr) -> Value | None:
    """The one function that a site maps; None where it may be one of several."""
    functions = _functions(it, site)
    return functions[0] if len(functions) == 1 else None


def _functions(it: Interpreter, site: ast.expr) -> tuple[Value, ...]:
    """What a site maps, as the interpreter saw it, else as the resolver does."""
    mapped: MappedSite = it.sites[site]
    values = mapped_values(mapped, it.resolver)
    seen = it.mapped.get(site)
    if isinstance(seen, Func) and all(isinstance(item, Function) for item in seen.items):
        functions = tuple(item for item in seen.in_order() if isinstance(item, Function))
        if len(values) != 1 or not isinstance(values[0], Function):
            return functions if len(functions) == 1 or len(values) != 1 else values
    return values
