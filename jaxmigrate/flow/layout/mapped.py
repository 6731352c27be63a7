"""Mapped functions in host code: where they are made, and what their calls take and give."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.flow.layout import (
    classes,
    devices,
    handed_back,
    made_arrays,
    observing,
    outcomes,
    results,
    spreading,
    traced_flags,
)
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given, SiteCall
from jaxmigrate.flow.layout.shape_texts import is_none
from jaxmigrate.flow.layout.values import (
    MIXED,
    NONE,
    NOTHING,
    PLAIN,
    Abstract,
    Blocker,
    Func,
    Nothing,
    Obj,
    Plain,
    Ref,
    Site,
    Stage,
    Tup,
    func,
    is_empty,
    is_tracked,
    leaves_plain,
    same,
)
from jaxmigrate.program.sites import listed, literal_of
from jaxmigrate.program.values import Application, External, Function, Partial, Value

JIT = "jax.jit"


def make_site(it: Interpreter, node: ast.Call, frame: Frame) -> Abstract:
    """`jax.pmap(f, ...)`: f runs on devices from here on."""
    it.evaluate(node.func, frame)
    traced_flags.note_made(it, node, frame)
    site = it.sites[node]
    for argument in [*node.args, *(k.value for k in node.keywords)]:
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        value = it.evaluate(inner, frame)
        if site.mapped is not None and argument is site.mapped.expression:
            devices.map_more(it, node, value, frame)
            devices.on_device(it, value)
            _bound_on_device(it, value, argument, frame)
        else:
            it.block_all([value], Stacked.MAP_STAYS.reason("is passed to pmap as an option"), argument, frame.module)
    return func(Site(node))


def _bound_on_device(it: Interpreter, value: Abstract, node: ast.AST, frame: Frame) -> None:
    """What a partial or a transformed function under the map holds."""
    for item in value.in_order() if isinstance(value, Func) else ():
        found = it.wrappers.bound.get(getattr(item, "node", None))  # type: ignore[arg-type]
        if found is not None:
            callee, given = found
            devices.on_device(it, callee)
            _bound_on_device(it, callee, node, frame)
            it.block_all(
                given.everything(),
                Stacked.MAP_STAYS.reason("is bound to the mapped function by a partial"),
                node,
                frame.module,
            )
        elif isinstance(item, Site):
            it.escape(item, Blocker(Stacked.MAP_STAYS.reason("is mapped once more"), frame.module, node))


def call_site(
    it: Interpreter, site: ast.expr, given: Given, node: ast.expr, frame: Frame, receiver: ast.expr | None = None
) -> Abstract:
    """A call of a mapped function; of a method, what gives the object is the `receiver`."""
    handed = handed_back.call(it, site, given, node, frame)
    if handed is not None:
        return handed
    placed = _in_place(it, site, given, node, frame)
    if placed is not None:
        given = placed
    if isinstance(node, ast.Call) and given.open and it.maps.mapped.get(site) == NOTHING and not it.final:
        it.reads.add(("site", site))
        return NOTHING  # what it maps says how many arguments a star stands for
    if isinstance(node, ast.Call):
        given = spreading.as_taken(it, site, given, node, frame)
    if _raises(it, site, given, node, frame):
        return NONE  # no value, ever: unlike NOTHING it is not waited for
    names = tuple(sorted(given.named))
    known = it.maps.by_keyword.setdefault(site, names)
    hides = not isinstance(node, ast.Call) or given.open or not spreading.gives_all(it, site, given, node, frame)
    if not isinstance(node, ast.Call) or hides or known != names:
        reason = Stacked.MAP_STAYS.reason("is called with other keyword arguments in one place than in another")
        if hides:
            reason = Stacked.MAP_STAYS.reason("is called with a number of arguments that fix cannot tell")
        it.escape(Site(site), Blocker(reason, frame.module, node))
        it.block_all(
            given.everything(),
            Stacked.MAP_STAYS.reason("is passed to a mapped function by keyword or with a star"),
            node,
            frame.module,
        )
        return PLAIN
    given = Given((*given.positional, *(given.named[name] for name in names)), {})
    key = (site, node, len(given.positional))
    call = it.maps.calls.get(key)
    if call is None:
        nothing: list[Abstract] = [NOTHING] * len(given.positional)
        call = it.maps.calls[key] = SiteCall(site, frame.module, node, nothing, placed is not None, receiver)
        it.changed = True
    outcomes.lean(it, list(given.positional), frame)
    places = call.places
    own = len(places) == len(given.positional)
    for index, value in enumerate(given.positional):
        if own:
            value = observing.given(it, site, index, value, places[index], frame, node)
        before = call.arguments[index]
        call.arguments[index] = it.join(before, value, node, frame.module)
        if not same(before, call.arguments[index]):
            it.touch(("site", site))
        is_array = isinstance(value, Ref) and value.is_array
        alone = own and not is_tracked(value) and not call.is_spread(places[index])
        is_array |= alone and made_arrays.is_array(places[index], frame.module)
        _give(it, site, index, value, is_array, node, frame)
    return results.outputs(it, site, len(given.positional), node)


def call_stage(it: Interpreter, site: ast.expr, stage: str, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """A step on the way to a compiled mapped function, which takes what that is lowered for and gives the same."""
    if stage == "lower":
        call_site(it, site, given, node, frame)
        return func(Stage(site, "lowered"))
    return func(Site(site)) if stage == "compile" else PLAIN


def note_compiled_call(it: Interpreter, name: str, given: Given) -> bool:
    """Notes `jax.jit(jax.pmap(f))`, which does what the map does; False for any other call, also with options."""
    alone = len(given.positional) == 1 and not (given.named or given.open)
    return name == JIT and alone and note_compiled(it, given.positional[0])


def note_compiled(it: Interpreter, value: Abstract) -> bool:
    """Notes that jit compiles a mapped function, which is one of its own process then; False if it may be another."""
    if not isinstance(value, Func) or not value.items or not all(isinstance(one, Site) for one in value.items):
        return False
    it.maps.compiled.update(one.node for one in value.items if isinstance(one, Site))
    return True


def _in_place(it: Interpreter, site: ast.expr, given: Given, node: ast.expr, frame: Frame) -> Given | None:
    """The arguments of a call with those given by keyword in their places, where they stand in that order.

    What pmap maps or donates in another way by keyword than by position has no place.
    """
    if given.open or not given.named or not isinstance(node, ast.Call) or not it.editable(frame.module):
        return None
    value = results.only_value(it, site)
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
    """Whether a call gives a mapped function more or fewer arguments than it takes, or others: nobody handles that.

    Where one call stands for several functions, some of them cannot be what it calls.
    """
    it.reads.add(("site", site))
    function = results.only_value(it, site)
    if is_tried(node, frame.module):
        return False
    said = node.keywords if isinstance(node, ast.Call) else []
    names = [one.arg for one in said if one.arg is None or one.arg in given.named]  # not what pad_shard_unpad takes
    if _is_unknown_name(it, site, function, names):
        return True
    if given.open or given.named or not isinstance(function, Function):
        return False
    if any(decorator is not site for decorator in getattr(function.node, "decorator_list", ())):
        return False
    spec, count = function.node.args, len(given.positional)
    most = len(function.passed_names())
    least = most - len(spec.defaults)
    if any(default is None for default in spec.kw_defaults) or (count > most and spec.vararg is None):
        return True
    own = int(site in it.maps.bound_sites)  # the object, where a class holds the mapped function
    return count + own < least


def _is_unknown_name(it: Interpreter, site: ast.expr, function: Value | None, names: Sequence[str | None]) -> bool:
    """Whether a function, or what is compiled of it, has no parameter of one of the names in a call."""
    if not names or None in names:  # which spreads others
        return False
    while isinstance(function, Application) and function.callee == External(JIT) and function.arguments:
        inner = it.resolver.argument_values(function.arguments[0])
        function = inner[0] if len(inner) == 1 else None
    if not isinstance(function, Function):
        return False
    if any(decorator is not site for decorator in getattr(function.node, "decorator_list", ())):
        return False
    spec = function.node.args
    return spec.kwarg is None and not {*names} <= {one.arg for one in (*spec.args, *spec.kwonlyargs)}


def _is_alike_by_name(it: Interpreter, site: ast.expr, index: int) -> bool:
    """Whether a map does the same with an argument given by keyword as by position: maps its first axis, keeps it."""
    mapped = it.sites[site]
    axes = literal_of(mapped, "in_axes", 0, it.resolver)
    if isinstance(axes, tuple):
        axes = axes[index] if index < len(axes) else None
    donated = listed(mapped, "donate_argnums", it.resolver)
    return results.is_first(axes) and donated is not None and index not in donated


def _give(
    it: Interpreter, site: ast.expr, index: int, value: Abstract, is_array: bool, node: ast.expr, frame: Frame
) -> None:
    """Arrays that reach a mapped function in one position share a representation."""
    if isinstance(value, Nothing) or (is_empty(value) and not it.final):
        return
    of_method = index == 0 and site in it.maps.methods
    if of_method and isinstance(value, Obj) and classes.is_pytree(it, value.cls):
        value = Plain(value.cls)  # of a method that is called of nobody knows what
    if of_method and isinstance(value, Obj):
        it.store(("tree", site, index), PLAIN, node, frame.module)
        return  # which the map gets as it is; what it reads of its attributes is looked for where they are named
    if not is_array and ("tree", site, index) not in it.variables:
        it.store(("tree", site, index), PLAIN, node, frame.module)
        it.touch(("site", site))
    known = it.maps.sizes.get((site, index), 0)
    are_tuples = it.maps.are_tuples(site, index, value)
    if it.maps.sizes[site, index] != known:
        it.touch(("site", site))
    if are_tuples:
        for place, part in enumerate(value.parts if isinstance(value, Tup) else ()):
            if not (isinstance(part, Nothing) or (is_empty(part) and not it.final)):
                _join_arrays(it, (site, index, place), part, node, frame)
        return
    for place in range(known):  # that other calls give parts of a tuple
        group = it.groups.get(("argument", site, index, place))
        if group is not None:
            it.changed |= it.joined_group("argument", site, index).unify(group)
            it.changed |= group.flatten()
        if ("plain", site, index, place) in it.variables:
            it.store(("plain", site, index), PLAIN, node, frame.module)
    _join_arrays(it, (site, index), value, node, frame)


def _join_arrays(it: Interpreter, at: tuple[object, ...], value: Abstract, node: ast.expr, frame: Frame) -> None:
    """Arrays that reach a mapped function in one place share a representation, one layout for all of a container."""
    if not is_tracked(value) or leaves_plain(value):
        if is_tracked(value):
            reason = Stacked.MAP_STAYS.reason("is passed in a container with arrays that may have no device axis")
            it.block_all([value], reason, node, frame.module, MIXED)
        else:
            it.block_all([value], Stacked.MAP_STAYS.reason("is passed to a mapped function"), node, frame.module)
        if ("plain", *at) not in it.variables:
            it.store(("plain", *at), PLAIN, node, frame.module)
    else:
        is_part = len(at) > 2  # whose fields have no specs of their own
        group = it.group([value]) if is_part else it.group_of(value)
        assert group is not None
        it.joined_group("argument", *at).unify(group)
    if ("plain", *at) in it.variables and ("argument", *at) in it.groups:
        reason = Stacked.MAP_STAYS.reason(
            "is an argument for which another call passes arrays that may have no device axis"
        )
        it.changed |= it.groups["argument", *at].block(Blocker(reason, frame.module, node, remedy=MIXED))
