"""What calls in host code do: to functions of the project, to mapped functions, to containers and to libraries."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from jaxmigrate.flow.layout import (
    attributes,
    chained_rows,
    constructing,
    containers,
    devices,
    host_optimizers,
    implicit_methods,
    jaxline,
    last_axes,
    library,
    mapped,
    mapped_bodies,
    methods,
    monkeypatching,
    object_flags,
    observing,
    operations,
    outcomes,
    padding,
    read_only_copies,
    read_only_parameters,
    reductions,
    reflection,
    remade_tuples,
    spreading,
    texts,
    trusting,
    unfollowed_calls,
    whole_updates,
)
from jaxmigrate.flow.layout.causes import Reason, Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import Idiom
from jaxmigrate.flow.layout.model import Context, Frame, Given, blocker_at
from jaxmigrate.flow.layout.shape_texts import is_none
from jaxmigrate.flow.layout.values import (
    NONE,
    NOTHING,
    PLAIN,
    READS,
    Abstract,
    Blocker,
    Bound,
    Dct,
    Ext,
    Func,
    Method,
    MethodSite,
    Nothing,
    Obj,
    Padded,
    Ref,
    Remedy,
    Seq,
    Site,
    Stage,
    Tup,
    Unknown,
    func,
    is_tracked,
    same,
)
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.passing import passed, taken_by_name
from jaxmigrate.program.scopes import all_parameters, defaults_of, positional_names
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, Function

PARTIALS = named("partial")  # and no partialmethod, which binds the object before it
DEEPEST_PARTIAL = 3
RUNS_MAIN = named("runs-main")
APPLIED = (Bound, Function, MethodSite, Site)
GOING_THROUGH = frozenset(f"builtins.{name}" for name in ("all", "any", "len", "list", "max", "min", "sum", "tuple"))
_UNSEEN = Stacked.PASSED_ON.reason("is passed to a function that fix cannot see")


def call(it: Interpreter, node: ast.Call, frame: Frame) -> Abstract:
    """The value of a call."""
    if node in it.sites:
        return mapped.make_site(it, node, frame)
    idiom, counted = _idiom_of(it, node, frame)
    if idiom is not None:
        it.mark_loads(node.func)
        unfollowed_calls.note_named(it, node, frame.module)
        return trusting.apply(it, idiom, it.evaluate(idiom.operand, frame), node, frame)
    if counted is not None:
        it.mark_loads(node.func)
        unfollowed_calls.note_named(it, node, frame.module)
        result = operations.apply(it, counted[0], it.evaluate(counted[0].operand, frame), node, frame)
        it.lean([result], counted[1])
        return result
    if (made := last_axes.joined(it, node, frame)) is not None:
        return made
    if (made := remade_tuples.remade(it, node, frame)) is not None:
        return made
    if (made := chained_rows.chained(it, node, frame)) is not None:
        return made
    if (made := whole_updates.updated(it, node, frame)) is not None:
        return made
    callee = it.evaluate(node.func, frame)
    given = arguments(it, node, frame, to_maps=spreading.calls_maps(callee))
    if given.waits:
        return NOTHING  # for what a star spreads
    reductions.note_plain(it, callee, given, node, frame)
    return observing.made(it, call_value(it, callee, given, node, frame), node, frame)


def _idiom_of(it: Interpreter, node: ast.Call, frame: Frame) -> tuple[Idiom | None, tuple[Idiom, Assumption] | None]:
    """The idiom of an array that a call is, or else one that leans on something: what it is the source alone says."""
    known = _idioms(it)
    if node not in known:
        idiom, counted = it.idioms.of_array(node, frame.module), None
        if idiom is None:
            counted = trusting.by_named_count(it, lambda idioms: idioms.of_array(node, frame.module), node, frame)
            counted = counted or trusting.by_rank(it, node, frame)
        known[node] = idiom, counted
    return known[node]


@once
def _idioms(_it: Interpreter) -> dict[ast.Call, tuple[Idiom | None, tuple[Idiom, Assumption] | None]]:
    """The idioms that calls are, by call."""
    return {}


def arguments(it: Interpreter, node: ast.Call, frame: Frame, *, to_maps: bool = False) -> Given:
    """The arguments of a call."""
    given = spreading.Arguments(to_maps)
    for argument in node.args:
        given.sure += not given.hidden
        if isinstance(argument, ast.Starred):
            spreading.star(it, given, argument, frame)
        else:
            given.places[len(given.positional)] = argument
            given.positional.append(it.evaluate(argument, frame))
            read_only_copies.note(it, argument, given.positional[-1])
    for keyword in node.keywords:
        if keyword.arg is None:
            spreading.double_star(it, given, keyword, frame)
        else:
            value = it.evaluate(keyword.value, frame)
            given.named[keyword.arg] = value
            given.places[keyword.arg] = keyword.value
            read_only_copies.note(it, keyword.value, value)
    return given.given()


def call_value(it: Interpreter, callee: Abstract, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """The value of calling any of the things that a callee can be."""
    unfollowed_calls.note_callee(it, node, callee)
    return _called(it, callee, given, node, frame)


def _called(it: Interpreter, callee: Abstract, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """The same, of what a partial binds too, which is noted as the partial."""
    if isinstance(callee, Nothing):
        return NOTHING
    only_maps = isinstance(callee, Func) and all(isinstance(item, Site | MethodSite | Stage) for item in callee.items)
    if not only_maps and node not in it.maps.unmapped:
        it.maps.unmapped.add(node)
        it.touch(("unmapped", node))
    if isinstance(callee, Obj):
        return _call_object(it, callee, given, node, frame)
    if not isinstance(callee, Func):
        if (made := host_optimizers.called(it, given, node, frame)) is not None:
            return made
        given = texts.formatted(it, given, node, frame)
        given = trusting.given_to_method(it, given, node, frame)
        it.block_all([callee, *given.everything()], _UNSEEN, node, frame.module, READS)
        return PLAIN
    if len(callee.items) > 1 and not all(read_only_parameters.reads_all(it, item, given) for item in callee.items):
        it.lending.unlent.update(given.places.values())  # what one reads another may keep
        given = replace(given, places={})
    results = [_call_item(it, one, given, node, frame) for one in callee.in_order()]
    if isinstance(frame.module.table.parents.get(node), ast.Expr):
        return PLAIN  # nobody looks at it
    result: Abstract = NOTHING
    for one in results:
        result = it.join(result, one, node, frame.module)
    return result


def _call_object(it: Interpreter, owner: Obj, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    called = attributes.of_object(it, owner.cls, "__call__", node, frame)
    if isinstance(called, Func) or (isinstance(called, Nothing) and not it.final):
        return call_value(it, called, given, node, frame)
    it.block_all(
        [owner, *given.everything()],
        Stacked.PASSED_ON.reason("is passed to an object that fix cannot follow"),
        node,
        frame.module,
        READS,
    )
    return PLAIN


def _call_item(it: Interpreter, one: object, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    match one:
        case Function():
            return call_function(it, one, given, node, frame)
        case Site(node=site):
            return mapped.call_site(it, site, given, node, frame)
        case MethodSite():
            return methods.call(it, one, given, node, frame)
        case Class():
            return constructing.construct(it, one, given, node, frame)
        case Obj():
            return _call_object(it, one, given, node, frame)
        case Ext(name=name):
            return call_external(it, name, given, node, frame)
        case Bound(node=made):
            return _call_bound(it, made, given, node, frame)
        case Padded(node=made):
            return padding.call(it, made, given, node, frame)
        case Stage(node=site, name=stage):
            return mapped.call_stage(it, site, stage, given, node, frame)
        case Unknown():
            it.block_all(given.everything(), _UNSEEN, node, frame.module, READS)
            return PLAIN
        case Method(node=attribute):
            return containers.call_method(it, it.looks.receivers[attribute], attribute.attr, given, node, frame)
    it.block_all(
        given.everything(),
        Stacked.PASSED_ON.reason("is passed to something that fix cannot follow"),
        node,
        frame.module,
    )
    return PLAIN


def _call_bound(it: Interpreter, made: ast.Call, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """Calls what a partial binds; a partial of itself, or of too many others, is not followed."""
    it.reads.add(("bound", made))
    inner, before = it.wrappers.bound[made]
    first = len(before.positional)
    places = {p if isinstance(p, str) else p + first: argument for p, argument in given.places.items()}
    opened = before.open or given.open
    sure = 0 if before.open else first + given.sure
    joined = Given((*before.positional, *given.positional), {**before.named, **given.named}, opened, sure, places)
    if made in it.wrappers.inside or len(it.wrappers.inside) >= DEEPEST_PARTIAL:
        it.block_all(
            [inner, *joined.everything()],
            Stacked.PASSED_ON.reason("is bound through too many nested partials"),
            node,
            frame.module,
        )
        return PLAIN
    it.wrappers.inside.append(made)
    try:
        return _called(it, inner, joined, node, frame)
    finally:
        it.wrappers.inside.pop()


# Functions of the project


def call_function(it: Interpreter, function: Function, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """Calls a function of the project: an idiom is what it does, others get what they are given."""
    name = it.idioms.library_name(function)
    if name:
        return call_external(it, name, given, node, frame)
    alone = isinstance(node, ast.Call) and 0 < len(given.positional) == len(node.args) and not given.named
    idiom = it.idioms.of_helper(function, given=len(given.positional)) if alone else None
    operand = _only_operand(it, node, frame) if idiom is not None else None
    if idiom is not None and operand is not None:
        it.join_module(function.module)
        unfollowed_calls.note(it, node, [function])
        whole = Idiom(idiom.kind, operand, idiom.form or "tree")
        return operations.apply(it, whole, given.positional[0], node, frame)
    declared = it.idioms.declared(node, function) if isinstance(node, ast.Call) and given.positional else None
    if declared is not None:
        it.join_module(function.module)
        unfollowed_calls.note(it, node, [function])
        return trusting.apply(it, declared, given.positional[0], node, frame)
    it.join_module(function.module)
    it.reach(function)
    it.store(("called", function.node), PLAIN, node, frame.module)
    context = _context(it, function, given, node, frame)
    _bind(it, function, given, node, frame, context)
    if context is not None:
        outcomes.tell(it, function, given, context, frame)
    if isinstance(function.node, ast.AsyncFunctionDef):
        it.escape(
            function, blocker_at(Stacked.PASSED_ON.reason("is returned by an asynchronous function"), node, frame)
        )
        return PLAIN
    return it.load(("return", function.node, context))


def _context(it: Interpreter, function: Function, given: Given, node: ast.expr, frame: Frame) -> Context | None:
    """The call that a function is followed for by itself: each one, once any gives it stacked arrays, or functions.

    Otherwise one caller whose arrays must stay stacked would keep those of all others so, and what one gives to apply
    would be applied to what others give.
    """
    known = it.bodies.contexts.setdefault(function.node, {})
    of_object = object_flags.passed_on(it, function, node, frame)
    if not isinstance(node, ast.Call) or given.open or it.is_followed_once(function):
        known[None] = True
        return None
    tracked = any(is_tracked(value) or _is_applied(value) for value in given.everything())
    if not tracked and not of_object and all(context is None for context in known):
        known.setdefault(None, False)
        return None
    if known.get(None) is False:
        del known[None]  # what it was given there was not known yet, or is given to it by this call
    context: Context = (node, frame.assumed) if frame.assumed else node
    if context not in known:
        known[context] = True
        if of_object:
            it.bodies.of_object[function.node, context] = of_object
        it.changed = True
    return context


def _is_applied(value: Abstract) -> bool:
    """Whether a value is functions, mapped ones too, that whoever is given them may call."""
    return isinstance(value, Func) and all(isinstance(item, APPLIED) for item in value.items)


def _only_operand(it: Interpreter, node: ast.expr, frame: Frame) -> ast.expr | None:
    """The only argument of a call beside the list or number of all devices."""
    if not isinstance(node, ast.Call) or not node.args or node.keywords or isinstance(node.args[0], ast.Starred):
        return None
    ones, others = it.idioms, node.args[1:]
    usual = (ones.is_devices(one, frame.module) or ones.is_count(one, frame.module) for one in others)
    return node.args[0] if not others or (ones.some is None and all(usual)) else None


def _bind(
    it: Interpreter, function: Function, given: Given, node: ast.expr, frame: Frame, context: Context | None
) -> None:
    spec = function.node.args
    names = positional_names(spec)
    skip = it.receives(function)
    names = names[1:] if skip else names
    waited_for = mapped_bodies.only_waited_for(it, function)

    def give(name: str, value: Abstract, place: int | str | None = None) -> None:
        value = PLAIN if name in waited_for else value
        if place is not None and isinstance(value, Ref):
            when = trusting.reads_only(it, function, value, node, frame) or read_only_parameters.reads_only(
                it, function, name
            )
            value = read_only_copies.lend_to(it, value, given.places.get(place), when, frame)
        it.store(("parameter", function.node, name, context), value, node, frame.module)

    if given.open:
        _bind_some(
            it,
            function,
            given,
            names,
            give,
            blocker_at(Stacked.PASSED_ON.reason("is passed with * or ** to a function"), node, frame),
        )
        return
    found = passed(spec, given.positional, given.named, int(skip))
    for index, (name, value) in enumerate(zip(names, given.positional, strict=False)):
        give(name, value, index)
    if spec.vararg is not None:
        give(spec.vararg.arg, _rest(it, function, found.extra, node, frame, context))
    else:
        it.block_all(
            found.extra, Stacked.PASSED_ON.reason("is one argument more than the function takes"), node, frame.module
        )
    for name, value in given.named.items():
        if name not in found.others:
            give(name, value, name)
        elif spec.kwarg is not None:
            it.fill(it.box("kwarg", function.node, context), value, node, frame.module, name)
    if spec.kwarg is not None:
        give(spec.kwarg.arg, Dct(it.box("kwarg", function.node, context)))
    _defaults(it, function, names, set(found.known), give)


def _rest(
    it: Interpreter,
    function: Function,
    extra: Sequence[Abstract],
    node: ast.expr,
    frame: Frame,
    context: Context | None,
) -> Abstract:
    """What `*args` gets: a tuple whose length is known where the function is followed for each call."""
    if context is not None:
        return Tup(tuple(extra))
    box = it.box("vararg", function.node, context)
    for value in extra:
        it.fill(box, value, node, frame.module)
    return Seq(box)


def _bind_some(
    it: Interpreter,
    function: Function,
    given: Given,
    names: Sequence[str],
    give: Callable[[str, Abstract], None],
    why: Blocker,
) -> None:
    """A call in which a star hides arguments: those before it and those by name are where they belong."""
    spec = function.node.args
    known = dict(zip(names, given.positional[: given.sure], strict=False))
    by_name = taken_by_name(spec).difference(names[: given.sure])
    known |= {name: value for name, value in given.named.items() if name in by_name}
    for name, value in known.items():
        give(name, value)
    if spec.vararg is not None and given.sure >= len(names) and given.star is not None and not given.named:
        box = it.box("vararg", function.node, "star")
        for value in given.positional[len(names) :]:
            it.fill(box, value, why.node, why.module)
        give(spec.vararg.arg, Seq(box))
        _defaults(it, function, names, {*known}, give)
        return
    hidden = [*given.positional[min(given.sure, len(names)) :], *(v for n, v in given.named.items() if n not in known)]
    for value in hidden:
        it.block(value, why)
    for parameter in list(all_parameters(spec))[1 if it.receives(function) else 0 :]:
        if parameter.arg not in known:
            give(parameter.arg, PLAIN)


def _defaults(
    it: Interpreter, function: Function, required: Sequence[str], given: set[str], give: Callable[[str, Abstract], None]
) -> None:
    """Parameters that a call leaves out hold their defaults, none of which is stacked."""
    for name, default in defaults_of(function.node.args):
        if name not in given:
            value: Abstract = NONE if is_none(default) else PLAIN
            if isinstance(default, ast.Name | ast.Attribute):
                found = it.resolver.value(default, function.module)
                value = func(found) if isinstance(found, Function | Class) else PLAIN
            give(name, value)
    with_default = {name for name, _ in defaults_of(function.node.args)}
    for name in required:  # from whoever binds it: a function in a class body, say, that an object makes its method
        if name not in given and name not in with_default:
            give(name, PLAIN)


# Libraries


def call_external(it: Interpreter, name: str, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """Calls something outside of the project."""
    if name in PARTIALS and given.positional and isinstance(node, ast.Call):
        return _bind_partial(it, given, node, frame)
    if name != "builtins.vars" or not reflection.is_of_object(given):
        reflection.note(it, name, node, frame)
    monkeypatching.note_call(it, name, given, node, frame)
    if mapped.note_compiled_call(it, name, given):
        return given.positional[0]
    if name in RUNS_MAIN and not given.open:
        return _run_main(it, [*given.everything()], name, node, frame)
    if jaxline.runs(it, name, given):
        it.block_all([*given.positional[1:], *given.named.values()], *_passed_to(name, node, frame))
        return PLAIN
    result = library.call(it, name, given, node, frame)
    if name not in implicit_methods.LOOKS and not library.iterates(name):
        passed = given.everything()
        implicit_methods.pass_on(
            it, passed, Blocker(_to_function(name), frame.module, node, remedy=Remedy("reads", name))
        )
    if result is not None:
        return result
    given = texts.all_shown(it, name, given, node, frame)
    given = (
        trusting.lent(it, given, frame)
        if read_only_parameters.is_reader(name)
        else trusting.given_to(it, name, given, node, frame)
    )
    if library.runs_on_devices(name):
        for value in given.everything():
            devices.on_device(it, value)
        rest = [v for v in given.everything() if not _only_functions(v) and not _only_methods(it, name, v)]
        it.block_all(rest, *_passed_to(name, node, frame))
        for value in given.everything():
            _block_sites(it, value, _to_function(name), node, frame)
        return PLAIN
    if name in GOING_THROUGH and not given.named:
        given = replace(
            given,
            positional=tuple(
                read_only_copies.looked_at(it, one, given.places.get(i), frame)
                for i, one in enumerate(given.positional)
            ),
        )
    it.block_all(given.everything(), *_passed_to(name.removeprefix("builtins."), node, frame))
    return PLAIN


def _passed_to(name: str, node: ast.AST, frame: Frame) -> tuple[Reason, ast.AST, Module, Remedy | None]:
    """How arrays are blocked that a function of a library is given; of a built-in one there is nothing to declare."""
    remedy = Remedy("reads", name) if "." in name else None
    return _to_function(name), node, frame.module, remedy


def _to_function(name: str) -> Reason:
    return Stacked.PASSED_ON.reason(f"is passed to {name}", "is passed to a function")


def _run_main(it: Interpreter, given: list[Abstract], name: str, node: ast.expr, frame: Frame) -> Abstract:
    """Runs a program's main function with the words of the command line; what it returns is the exit status."""
    main, rest = given[0] if given else PLAIN, given[1:]
    if isinstance(main, Func):
        items = main.in_order()
        rest += [_call_item(it, item, Given((PLAIN,), {}), node, frame) for item in items]
    it.block_all(rest if isinstance(main, Func) else given, *_passed_to(name, node, frame))
    return PLAIN


def _block_sites(it: Interpreter, value: Abstract, reason: Reason, node: ast.AST, frame: Frame) -> None:
    """Mapped functions in a value are called where nobody sees it; whether their objects are is known by now."""
    for item in value.in_order() if isinstance(value, Func) else ():
        if not isinstance(item, Function):
            it.escape(Site(item.node) if isinstance(item, MethodSite) else item, Blocker(reason, frame.module, node))


def _bind_partial(it: Interpreter, given: Given, node: ast.Call, frame: Frame) -> Abstract:
    """What `functools.partial` makes of its arguments."""
    inner, *rest = given.positional
    bound = (inner, Given(tuple(rest), given.named, given.open))
    before = it.wrappers.bound.get(node)
    if before is not None:
        bound = _either_bound(it, before, bound, node, frame)
    if before is None or not (same(before[0], bound[0]) and before[1].is_like(bound[1])):
        it.wrappers.bound[node] = bound
        it.touch(("bound", node))
        if Bound(node) in it.blockers.gone:
            it.block_all(
                [inner, *bound[1].everything()],
                Stacked.PASSED_ON.reason(
                    "is bound by a partial that is stored or passed on, so that fix cannot see its calls"
                ),
                node,
                frame.module,
            )
    if isinstance(inner, Nothing) and not it.final:
        return NOTHING  # of a function that has not been followed yet
    return func(Bound(node)) if isinstance(inner, Func) else PLAIN


def _either_bound(
    it: Interpreter, one: tuple[Abstract, Given], other: tuple[Abstract, Given], node: ast.expr, frame: Frame
) -> tuple[Abstract, Given]:
    """What a partial binds that is made again and again, with other values each time."""
    inner = it.join(one[0], other[0], node, frame.module)
    first, second = one[1], other[1]
    if len(first.positional) != len(second.positional) or first.named.keys() != second.named.keys():
        it.block_all(
            [*first.everything(), *second.everything()],
            Stacked.PASSED_ON.reason("is bound by partials with different arguments"),
            node,
            frame.module,
        )
        return inner, Given(first.positional, first.named, open=True)
    pairs = zip(first.positional, second.positional, strict=True)
    positional = tuple(it.join(a, b, node, frame.module) for a, b in pairs)
    named = {name: it.join(value, second.named[name], node, frame.module) for name, value in first.named.items()}
    return inner, Given(positional, named, first.open or second.open)


def _only_methods(it: Interpreter, name: str, value: Abstract) -> bool:
    """Whether a value is methods that are maps, which JAX calls: it finds no other method or attribute by them."""
    of_objects = isinstance(value, Func) and all(isinstance(item, MethodSite) for item in value.items)
    return of_objects and name.startswith("jax.") and library.stays_wrapped(it, [value])


def _only_functions(value: Abstract) -> bool:
    return isinstance(value, Func) and all(isinstance(item, Function) for item in value.items)
