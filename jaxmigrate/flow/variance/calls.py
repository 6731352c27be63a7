"""What a call gives: finds out what is called, and hands over to who knows about it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.dispatch import entries
from jaxmigrate.flow.receivers import methods as methods_of
from jaxmigrate.flow.variance import (
    averaging,
    escaping_callbacks,
    externals,
    methods,
    objects,
    order,
    out_of_sight,
    side_effects,
    statements,
    suspicion,
    transforms,
)
from jaxmigrate.flow.variance.callees import Bound, Closure, Method, Pure, Transformed
from jaxmigrate.flow.variance.frames import Arguments, Frame, fresh, reachable
from jaxmigrate.flow.variance.lattice import (
    DATA,
    EQUAL,
    GIVEN,
    NO_CAUSE,
    OPAQUE,
    OTHERS,
    AbstractValue,
    Callee,
    Choice,
    Fields,
    Level,
    dict_of,
    dictionary,
    doubtful,
    element,
    identified,
    join,
    join_all,
    made_at,
    mapped,
    replace,
    tuple_of,
    union,
    unsure,
    whole,
)
from jaxmigrate.flow.variance.library import AVERAGES, is_changed
from jaxmigrate.flow.variance.run import DEEPEST, MOST_WORK, OUTSIDE, Change, Memo, Run, at_least, stored_of
from jaxmigrate.program.checking_decorators import beneath
from jaxmigrate.program.passing import passed
from jaxmigrate.program.scopes import defaults_of, positional_names
from jaxmigrate.program.values import (
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
)


def call(run: Run, node: ast.Call, frame: Frame) -> AbstractValue:
    """The value of a call expression."""
    above = _above(node, frame)
    if above is not None:
        return above
    receiver = None
    if isinstance(node.func, ast.Attribute):
        receiver = run.evaluate(node.func.value, frame)
    changes = run.changes
    arguments = _arguments(run, node, frame)
    if run.changes != changes:  # an argument changed something that an earlier one may hold
        arguments = _arguments(run, node, frame)
    if receiver is not None and isinstance(node.func, ast.Attribute):
        if run.changes != changes:
            receiver = run.evaluate(node.func.value, frame)
        result = methods.call(run, receiver, node.func.attr, arguments, node, frame)
    else:
        result = apply(run, _called(run, node.func, frame), arguments, node, frame)
    run.hosted += result.host
    if run.mode.lenient and len(arguments.given) > 1:
        order.hand(run, node, arguments.given)
    return identified(result, node)


def _above(node: ast.Call, frame: Frame) -> AbstractValue | None:
    """What `super()` gives: the object itself, of which it is not known what its methods do."""
    if not isinstance(node.func, ast.Name) or node.func.id != "super" or frame.holder("super") is not None:
        return None
    given = node.args[1] if len(node.args) > 1 else None
    name = given.id if isinstance(given, ast.Name) else ""
    if not node.args and isinstance(frame.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        name = next(iter(positional_names(frame.node.args)), "")
    holder = frame.holder(name)
    return replace(holder.names[name], static=None, callee=None) if holder is not None else None


def _called(run: Run, node: ast.expr, frame: Frame) -> AbstractValue:
    """What a call calls; for rules also what a dictionary of the program's functions has, looked up by a key."""
    function = run.evaluate(node, frame)
    if run.mode.lenient and function.callee is None and function.static is None:
        return replace(function, callee=run.any_of(entries(node, frame.module, run.resolver), node))
    return function


def _arguments(run: Run, node: ast.Call, frame: Frame) -> Arguments:
    given: list[AbstractValue] = []
    rest: list[AbstractValue] = []
    for one in node.args:
        value = run.evaluate(one.value if isinstance(one, ast.Starred) else one, frame)
        if not isinstance(one, ast.Starred):
            (rest or given).append(value)
            continue
        value = objects.in_order(run, value)
        if value.parts is not None and not rest:
            given += value.parts
        else:
            rest.append(element(value))
    named: dict[str, AbstractValue] = {}
    for keyword in node.keywords:
        value = run.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            named[keyword.arg] = value
        elif value.fields is not None and OTHERS not in value.fields:
            named |= value.fields
        else:
            rest.append(whole(value))
    return Arguments(tuple(given), Fields(named), join_all(rest) if rest else None)


def apply(
    run: Run, function: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None = None
) -> AbstractValue:
    """Calls a value."""
    if run.work > MOST_WORK:
        return _anything(run, function, arguments, node)
    if isinstance(function.static, External):
        return externals.call(run, function.static.name, arguments, node, frame)
    callee = known_callee(run, function)
    if callee is not None:
        result = dispatch(run, callee, arguments, node, frame)
        return doubtful(result) if function.host and not run.agrees else result
    if isinstance(function.static, Class):
        return at_least(construct(run, function.static, arguments, node), function.level)
    escaping_callbacks.run_all(run, [function, *arguments.all()])
    if (function.host and not run.agrees) or _has_functions(run, arguments):
        return _anything(run, function, arguments, node)
    methods.note_keys(run, arguments, node, frame)
    if run.made_of(function) or (function.places and run.changes_object(function, "__call__", arguments)):
        run.change_within(function, unsure(stored_of([function, *arguments.all()]), run.cause(_label(node), node)))
    applies = methods.note_update_by(run, _label(node), arguments, node, frame)
    run.change_given(_label(node), arguments)
    made = run.hidden(_label(node), union([*arguments.all(), at_rest(function)]), node)
    made = replace(made, updated=made.updated or applies)
    made = at_least(made, run.variables)  # of the layers of a network
    if run.mode.lenient and out_of_sight.may_be_any(run, function, arguments):
        gradient = made.gradient and OPAQUE not in function.marks
        made = replace(made, level=min(made.level, Level.MAY), marks=made.marks - {DATA}, gradient=gradient)
    elif run.mode.lenient and isinstance(function.static, Parameter):
        made = replace(made, marks=made.marks | {OPAQUE})
    return fresh(made, node, arguments)


def at_rest(function: AbstractValue) -> AbstractValue:
    """What a stored function may hold: nothing that differs for certain, and no gradients that it would give back."""
    return replace(function, level=min(function.level, Level.MAY), callee=None, static=None, gradient=False)


def _label(node: ast.Call | None) -> str:
    if node is None:
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _anything(
    run: Run,
    function: AbstractValue,
    arguments: Arguments,
    node: ast.Call | None = None,
    *,
    keeps_gradients: bool = False,
) -> AbstractValue:
    """Calls something unknown, which may also change whatever it is given, and reduce it."""
    cause = run.cause(_label(node), node)
    everything = replace(union([*arguments.all(), replace(function, callee=None)]), gradient=keeps_gradients)
    for one in arguments.all():
        if one.places and not side_effects.only_gives(run, _label(node)):
            run.change_within(one, unsure(replace(everything, places=reachable(arguments)), cause))
    return unsure(replace(everything, places=reachable(arguments)), cause)


def _has_functions(run: Run, arguments: Arguments) -> bool:
    return any(isinstance(known_callee(run, a), Closure | Bound | Transformed | Choice) for a in arguments.all())


def dispatch(
    run: Run, callee: Callee, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """Calls what is known."""
    match callee:
        case Closure():
            return enter(run, callee, arguments)
        case Bound(callee=inner, given=given, named=named):
            together = Arguments((*given, *arguments.given), Fields({**dict(named), **arguments.named}), arguments.rest)
            return apply(run, inner, together, node, frame)
        case Transformed(name=name) if name in AVERAGES:
            return averaging.call(run, callee, arguments, node, frame)
        case Transformed():
            return transforms.call(run, callee, arguments, node, frame)
        case Method(receiver=receiver, name=name):
            return methods.call(run, receiver, name, arguments, node, frame)
        case Pure(level=level, hidden=hidden, reduces=reduces):
            escaping_callbacks.run_all(run, arguments.all())
            held = union([*arguments.all(), AbstractValue(level)])
            held = unsure(held) if reduces else held
            return fresh(
                run.hidden(_label(node), held, node) if hidden or _has_functions(run, arguments) else held,
                node,
                arguments,
            )
    assert isinstance(callee, Choice)
    ways = suspicion.likely(callee.ways) if run.mode.lenient else callee.ways
    return join_all([dispatch(run, way, arguments, node, frame) for way in ways])


# From what stands in the program to what can be called


def known_callee(run: Run, function: AbstractValue) -> Callee | None:
    """What a value does when it is called; None where that is not in sight."""
    if function.callee is not None:
        return function.callee
    static = function.static
    if isinstance(static, Instance) and (run.applying or not externals.is_network(run, static.cls)):
        own = run.resolver.attribute(static, "__call__")
        inner = methods_of(static, "__call__", run.resolver) if run.applying else own
        found = [v for v in inner if isinstance(v, Function)]
        return Closure(found[0], receiver=function) if len(found) == 1 else None
    return _static_callee(run, static) if static is not None else None


def _static_callee(run: Run, static: Value) -> Callee | None:
    match static:
        case Function():
            return _closure(static)
        case Partial(callee=inner, arguments=arguments):
            given = _static_arguments(run, arguments)
            return Bound(_static(run, inner), given.given, tuple(given.named.items())) if given is not None else None
        case Application(callee=External(name=name)) if is_changed(run.resolver, name):
            return None
        case Application(callee=External(name=name), arguments=arguments) if name in externals.TRANSFORMS and arguments:
            mapped = next((a for a in arguments if a.keyword is None), arguments[0])  # `partial(jax.jit, **options)(f)`
            operands = run.resolver.argument_values(mapped)
            given = _static_arguments(run, [a for a in arguments if a is not mapped])
            if len(operands) != 1 or given is None:
                return None
            return Transformed(name, _static(run, operands[0]), tuple(given.named.items()), given.given)
        case Application() if run.mode.lenient and (inner := beneath(static)) is not static:
            return _static_callee(run, inner)
        case Application(callee=Function() as factory, arguments=arguments) if _makes_function(run, factory):
            return _made(run, static, factory, arguments)
        case Member(owner=owner, name=name) if not isinstance(owner, Class):
            return Method(_static(run, owner), name)
    return None


def _closure(function: Function) -> Closure:
    """A function of the host's code, with the object whose method it is."""
    owner = function.receiver
    return Closure(function, receiver=AbstractValue(static=owner, places=OUTSIDE_PLACE) if owner is not None else None)


OUTSIDE_PLACE = frozenset([(OUTSIDE, "receiver")])


def _static(run: Run, value: Value) -> AbstractValue:
    return run.static(value, value, lambda: False)


def _static_arguments(run: Run, arguments: Sequence[Argument]) -> Arguments | None:
    """The arguments of a partial or factory call of the host's code; None where a star hides some."""
    given: list[AbstractValue] = []
    named: dict[str, AbstractValue] = {}
    for one in arguments:
        if one.keyword in ("*", "**"):
            return None
        if one.value is not None:
            value = _static(run, one.value)
        elif isinstance(one.expression, ast.Attribute) and isinstance(
            function := run.resolver.value(one.expression, one.module), Function | Partial
        ):
            value = _static(run, function)
        elif one.expression is not None:
            value = run.evaluate(one.expression, Frame(one.module, None))
        else:
            return None
        if one.keyword is None:
            given.append(value)
        else:
            named[one.keyword] = value
    return Arguments(tuple(given), Fields(named))


def _is_overridden(run: Run, method: Function) -> bool:
    """Whether the object whose method it is may be of a class that has another one."""
    owner = method.receiver
    return isinstance(owner, Instance) and owner.call is None and run.overrides(owner, getattr(method.node, "name", ""))


def _makes_function(run: Run, factory: Function) -> bool:
    if isinstance(factory.node, ast.Lambda):
        return False
    return any(isinstance(v, Function | Partial | Application) for v in run.resolver.returned(factory))


def _made(run: Run, key: Application, factory: Function, arguments: Sequence[Argument]) -> Callee | None:
    """The function that a factory of the host's code makes."""
    if key.node in run.active or _is_overridden(run, factory):
        return None
    given = _static_arguments(run, arguments)
    if given is None:
        return None
    run.active.append(key.node)
    try:
        return enter(run, _closure(factory), given).callee
    finally:
        run.active.pop()


# Calling a function of the project


def enter(run: Run, closure: Closure, arguments: Arguments) -> AbstractValue:
    """Calls a function of the project: reads its body, or remembers what that gave."""
    node = closure.function.node
    if len(run.active) > DEEPEST or node in run.active or run.is_tired:
        # what calls itself on a part of gradients gives gradients back, unless it is what reduces them
        again = run.mode.lenient and node in run.active and any(one.gradient for one in arguments.all())
        kept = again and not run.reduces(getattr(node, "name", ""))
        found = _anything(run, EQUAL if closure.receiver is None else closure.receiver, arguments, keeps_gradients=kept)
        return found if kept or not run.mode.lenient else replace(found, marks=found.marks & {GIVEN})  # it may reduce
    key = (
        closure,
        arguments.given,
        arguments.named,
        arguments.rest,
        run.clearing,
        run.shadowed,
        run.doubt > 0,
        run.batched > 0,
        run.variables,
        run.applying > 0,
        run.differentiating > 0,
    )
    if closure.frame is None and key in run.memo:
        known = run.memo[key]
        run.count_again(known.counted)
        for target, stored in known.changed:
            run.change(target, stored)
        return _with_causes(known.result, known.arguments, arguments)
    changes, counts = len(run.changed), run.counts()
    result = _read(run, closure, arguments)
    if closure.frame is None:
        changed = run.changed[changes:]
        seen = _seen_outside(changed, closure, arguments) if run.mode.lenient or not changed else None
        if seen is not None:
            counted = tuple(now - before for now, before in zip(run.counts(), counts, strict=True))
            run.memo[key] = Memo(result, counted, arguments, seen)
    return result


def _seen_outside(changed: Sequence[Change | None], closure: Closure, arguments: Arguments) -> list[Change] | None:
    """What a call has changed of what was there before it; None where that may be anything."""
    places = reachable(arguments) | (closure.receiver.places if closure.receiver is not None else frozenset())
    found: list[Change] = []
    for one in changed:
        if one is None:
            return None
        origins = one[0].origins
        outside = not origins.isdisjoint(places) or any(isinstance(p, tuple) and p[:1] == (OUTSIDE,) for p in origins)
        if outside and one not in found:
            found.append(one)
    return found


def _with_causes(result: AbstractValue, before: Arguments, arguments: Arguments) -> AbstractValue:
    """What a call gave, given again by one that is alike, whose arguments may differ for other causes."""
    pairs = [*zip(before.given, arguments.given, strict=True)]
    pairs += [(one, arguments.named[name]) for name, one in before.named.items()]
    causes = {id(one.cause): now.cause for one, now in pairs if one.cause is not now.cause}
    causes.pop(id(NO_CAUSE), None)
    if not causes:
        return result
    return mapped(result, lambda v: replace(v, cause=causes[id(v.cause)]) if id(v.cause) in causes else v)


def _read(run: Run, closure: Closure, arguments: Arguments) -> AbstractValue:
    function = closure.function
    node = function.node
    frame = Frame(function.module, node, closure.frame)
    frame.names = _parameters(run, closure, arguments)
    run.active.append(node)
    run.modules.append(function.module)
    run.frames.append(frame)
    run.entered.add(node)
    loops = run.doubt
    try:
        if isinstance(node, ast.Lambda):
            return run.evaluate(node.body, frame)
        reached = statements.execute(run, node.body, frame)
        return statements.result(run, frame, reached)
    finally:
        run.doubt = loops
        run.active.pop()
        run.modules.pop()
        run.live(frame)


def _parameters(run: Run, closure: Closure, arguments: Arguments) -> dict[str, AbstractValue]:
    node = closure.function.node
    spec = node.args
    given = arguments.given if closure.receiver is None else (closure.receiver, *arguments.given)
    found, left, others = passed(spec, given, arguments.named)
    every = [*positional_names(spec), *(p.arg for p in spec.kwonlyargs)]
    defaults = dict(closure.defaults) if closure.defaults is not None else _defaults(run, closure, found)
    for name in every:
        if name not in found:
            found[name] = defaults.get(name, unsure(EQUAL))
            if arguments.rest is not None:
                found[name] = join(found[name], arguments.rest) if name in defaults else arguments.rest
    more = [] if arguments.rest is None else [arguments.rest]
    if spec.vararg is not None:
        extra = tuple_of(left)
        found[spec.vararg.arg] = (
            replace(
                union([extra, *more]),
                places=extra.places | arguments.rest.places if arguments.rest is not None else extra.places,
            )
            if more
            else extra
        )
    if spec.kwarg is not None:
        found[spec.kwarg.arg] = made_at(dictionary({**others, **({OTHERS: more[0]} if more else {})}), (node, "**"))
    return found


def _defaults(run: Run, closure: Closure, given: dict[str, AbstractValue]) -> dict[str, AbstractValue]:
    """The defaults of a function's parameters, evaluated outside of everything."""
    function = closure.function
    return {
        name: _outside(run, run.evaluate(default, Frame(function.module, None)), default)
        for name, default in defaults_of(function.node.args)
        if name not in given
    }


def _outside(run: Run, value: AbstractValue, node: ast.expr) -> AbstractValue:
    """A default that can be changed is one object for all calls."""
    return run.kept(value, node) if value.places else value


# Making objects


def construct(run: Run, cls: Class, arguments: Arguments, node: ast.Call | None) -> AbstractValue:
    """An object of a class of the project: by its fields where it declares them, else by what its __init__ stores."""
    place = frozenset([node or cls.node])
    instance = Instance(cls)
    names = run.resolver.declared_fields(cls)
    if not externals.is_network(run, cls):
        run.constructed.update(dict.fromkeys(place, instance))
    starts = [v for v in run.resolver.attribute(instance, "__init__") if isinstance(v, Function)]
    if len(starts) == 1 and not externals.is_network(run, cls):
        return _started(
            run, starts[0], AbstractValue(static=instance, fields=Fields(), places=place, own=place), arguments
        )
    if arguments.rest is None and len(arguments.given) <= len(names):
        given = dict(zip(names, arguments.given, strict=False)) | dict(arguments.named)
        made = dict_of(given)
        return replace(made, static=instance, places=made.places | place, own=place)
    held = union(arguments.all())
    return replace(held, static=instance, places=reachable(arguments) | place, own=place)


def _started(run: Run, start: Function, made: AbstractValue, arguments: Arguments) -> AbstractValue:
    """The object after its __init__ has run."""
    frame = Frame(start.module, start.node)
    closure = Closure(start, receiver=made)
    if start.node in run.active or len(run.active) > DEEPEST:
        return unsure(union(arguments.all()))
    frame.names = _parameters(run, closure, arguments)
    own = start.node.args.args[0].arg if start.node.args.args else ""
    run.active.append(start.node)
    run.frames.append(frame)
    run.entered.add(start.node)
    try:
        if not isinstance(start.node, ast.Lambda):
            statements.execute(run, start.node.body, frame)
    finally:
        run.active.pop()
        run.live(frame)
    after = frame.names.get(own, made)
    return replace(after, static=made.static, host=after.host or frame.doubtful)
