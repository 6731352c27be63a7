"""Functions under a transformation of JAX: jit, vmap, grad and their kin."""

from __future__ import annotations

import ast

from jaxmigrate.flow.variance import collectives, means, order, out_of_sight
from jaxmigrate.flow.variance.callees import Transformed
from jaxmigrate.flow.variance.frames import Arguments, Frame
from jaxmigrate.flow.variance.lattice import (
    BESIDE,
    EQUAL,
    GIVEN,
    OF_EQUAL,
    OPAQUE,
    SCATTERED,
    UNREDUCED,
    VARYING,
    AbstractValue,
    Fields,
    Level,
    element,
    inside,
    mapped,
    part_at,
    rebuilt,
    replace,
    tuple_of,
    union,
    whole,
)
from jaxmigrate.flow.variance.library import CUSTOM, JACOBIANS, VMAPS
from jaxmigrate.flow.variance.name_call_graph import DERIVATIVES
from jaxmigrate.flow.variance.run import Run, certain
from jaxmigrate.program.collectives import GRADIENTS, PMAP, VMAP
from jaxmigrate.program.values import Constant

REBUILDING = frozenset({PMAP, VMAP})
ARGUMENT = AbstractValue(static=Constant(0))
SCALED, SCALE = "flax.training.dynamic_scale.DynamicScale.value_and_grad", "the scale"


def call(
    run: Run, made: Transformed, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """Calls a transformed function."""
    if made.name in VMAPS:
        return _mapped(run, made, arguments, node, frame)
    if made.name == SCALED:
        return _scaled_gradient(run, made, arguments, node, frame)
    if made.name in GRADIENTS:
        return _gradient(run, made, arguments, node, frame)
    if made.name in JACOBIANS:
        return _jacobian(run, made, arguments, node, frame)
    run.customs += made.name in CUSTOM
    result = run.apply(made.callee, arguments, node, frame)
    return element(result) if made.name == "jax.custom_gradient" else result


def _mapped(
    run: Run, made: Transformed, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """Under vmap; its axis hides one of the same name around it."""
    options = dict(made.options)
    name = options.get("axis_name", made.given[0] if made.name == "jax.pmap" and made.given else None)
    hidden: frozenset[str | None] = frozenset()
    if name is not None:
        known = isinstance(name.static, Constant) and isinstance(name.static.value, str | None)
        static = name.static.value if isinstance(name.static, Constant) else None
        hidden = frozenset([static if known and isinstance(static, str) else None])
        if (known and static is None) or run.mode.unmapped:  # this may be the map that the reading takes for granted
            hidden = frozenset()
    before = run.shadowed
    run.shadowed = before | hidden
    run.batched += 1
    given = _copied(arguments, node) if made.name in REBUILDING else arguments
    try:
        return run.apply(made.callee, given, node, frame)
    finally:
        run.shadowed = before
        run.batched -= 1


def _copied(arguments: Arguments, node: ast.Call | None) -> Arguments:
    """What a function is given that JAX calls: trees with the same leaves, whose containers are nobody else's."""
    given = tuple(rebuilt(one, (node, i)) for i, one in enumerate(arguments.given))
    named = Fields({name: rebuilt(one, (node, name)) for name, one in arguments.named.items()})
    return Arguments(given, named, arguments.rest)


def unreduced(
    run: Run, callee: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """What a function gives where no reduction makes anything equal: what its derivatives depend on."""
    before, customs = run.clearing, run.customs
    run.clearing = False
    try:
        result = run.apply(callee, arguments, node, frame)
    finally:
        run.clearing = before
    unread = result.level == Level.YES or run.derived
    if run.customs > customs and (unread or run.hidden(DERIVATIVES, EQUAL).level != Level.NO):
        return certain(result, Level.MAY)  # its derivative is a function of its own, which is not read
    return result


def _gradient(
    run: Run, made: Transformed, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    options = dict(made.options)
    has_aux = _is_true(options.get("has_aux", _nth(made.given, 1)))
    count, before = run.reductions - run.in_networks, (run.cleared, run.customs, run.changes)
    gathered, sent = run.gathered, run.sent
    run.differentiating += 1
    try:
        out = run.apply(made.callee, arguments, node, frame)
    finally:
        run.differentiating -= 1
    reduces = run.reductions - run.in_networks > count
    plain = before == (run.cleared, run.customs, run.changes)  # nothing reduced on the way, nothing changed
    depends = out if plain else unreduced(run, made.callee, arguments, node, frame)
    loss, aux = (part_at(out, 0), rebuilt(part_at(out, 1), (node, "aux"))) if has_aux else (out, None)
    source = part_at(depends, 0) if has_aux else depends
    order.join_halves(run, loss)
    if run.mode.lenient and not run.quiet():
        means.differentiate(run, loss)
    in_sight = not source.host and (run.known_callee(made.callee) is not None or out_of_sight.is_loss(run, made.callee))
    of_equal = _of_equal(options.get("argnums", _nth(made.given, 0)), arguments)
    # A loss with a reduction in it may be of parameters that are divided among the devices, unless they are replicated;
    # a derivative of its own may then reduce, too.
    suspect = not reduces or (of_equal and run.customs == before[1])
    averaged = loss.reduced and loss.level == Level.NO and run.reductions - run.in_networks == count + 1
    suspect |= averaged and run.sent == sent and run.mode.stacked and run.customs == before[1]
    suspect &= not _of_own(options.get("argnums", _nth(made.given, 0)), arguments)
    summed = run.mode.checked and of_equal and not source.host
    one = AbstractValue(
        Level.NO if summed else source.level,
        gradient=in_sight and source.level != Level.NO and suspect and _is_own(run, made, arguments, node, frame),
        inner=loss.reduced and loss.level == Level.NO and run.customs == before[1],
        host=source.host,
        kind="tree",
        marks=frozenset([OF_EQUAL] if of_equal else []) | (loss.marks & {OPAQUE}) | means.of_loss(loss),
    )
    if run.gathered > gathered and _of_own(options.get("argnums", _nth(made.given, 0)), arguments):
        one = replace(one, marks=one.marks | {SCATTERED})
    if one.gradient and run.mode.lenient:
        one = replace(one, marks=one.marks | {UNREDUCED})
        if loss.level != Level.NO:
            loss = replace(loss, marks=loss.marks | {UNREDUCED})  # which differs as surely as its gradient
        loss = replace(loss, marks=loss.marks | {BESIDE})
        aux = mapped(aux, lambda v: replace(v, marks=v.marks | {BESIDE})) if aux is not None else None
    grads = _by_argument(one, options.get("argnums", _nth(made.given, 0)), arguments)
    loss = replace(loss, kind="array", parts=None, fields=None)
    if not made.name.endswith("value_and_grad"):
        return tuple_of([grads, aux]) if aux is not None else grads
    return tuple_of([tuple_of([loss, aux]) if aux is not None else loss, grads])


def _scaled_gradient(
    run: Run, made: Transformed, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """The next scale, whether gradients are finite, the value, and the gradients, which are averaged before.

    Source: flax/training/dynamic_scale.py.
    """
    options = dict(made.options)
    scale, axis = options.pop(SCALE), options.pop("axis_name")
    plain = Transformed("jax.value_and_grad", made.callee, tuple(options.items()), made.given)
    value, grads = (part_at(_gradient(run, plain, arguments, node, frame), i) for i in range(2))
    scaled = replace(union([grads, whole(scale)]), gradient=grads.gradient, inner=grads.inner, marks=grads.marks)
    if axis.static != Constant(None):
        scaled = collectives.call(run, "jax.lax.pmean", Arguments((scaled, axis)), None, None)
    finite = AbstractValue(scaled.level, host=scaled.host, kind="array", marks=scaled.marks & {UNREDUCED})
    after = union([replace(whole(scale), callee=None, static=None), finite])
    return tuple_of([after, finite, value, scaled])


def _is_own(run: Run, made: Transformed, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> bool:
    """Whether a loss may differ between devices by more than what it is differentiated by."""
    options = dict(made.options)
    static = options.get("argnums", _nth(made.given, 0) or ARGUMENT).static
    numbers = static.value if isinstance(static, Constant) else 0
    chosen = numbers if isinstance(numbers, tuple) else (numbers,)
    given = tuple(certain(a, Level.NO) if i in chosen else a for i, a in enumerate(arguments.given))
    if given == arguments.given:
        return True  # as the gradient does, which was asked before
    depends = unreduced(run, made.callee, Arguments(given, arguments.named, arguments.rest), node, frame)
    has_aux = _is_true(options.get("has_aux", _nth(made.given, 1)))
    return (part_at(depends, 0) if has_aux else depends).level != Level.NO


def _of_equal(argnums: AbstractValue | None, arguments: Arguments) -> bool:
    """Whether all differentiated arguments are equal on all devices."""
    given = _differentiated(argnums, arguments)
    return all(g is not None and g.level == Level.NO and not g.host and VARYING not in g.marks for g in given)


def _of_own(argnums: AbstractValue | None, arguments: Arguments) -> bool:
    """Whether each device differentiates by values of its own: its stage, its shard, its member of an ensemble."""
    given = _differentiated(argnums, arguments)
    return all(g is not None and inside(g) == Level.YES and GIVEN in g.marks for g in given)


def _differentiated(argnums: AbstractValue | None, arguments: Arguments) -> list[AbstractValue | None]:
    static = argnums.static if argnums is not None else Constant(0)
    numbers = static.value if isinstance(static, Constant) else None
    numbers = numbers if isinstance(numbers, tuple) else (numbers,)
    return [arguments.find(n) if isinstance(n, int) else None for n in numbers]


def _by_argument(one: AbstractValue, argnums: AbstractValue | None, arguments: Arguments) -> AbstractValue:
    """A gradient for each differentiated argument."""
    static = argnums.static if argnums is not None else None
    numbers = static.value if isinstance(static, Constant) else None
    if argnums is not None and argnums.parts is not None:
        return tuple_of([one] * len(argnums.parts))
    if isinstance(numbers, tuple):
        return tuple_of([one] * len(numbers))
    if argnums is not None and not isinstance(numbers, int):
        return replace(one, kind="unknown")
    number = numbers if isinstance(numbers, int) else 0
    given = arguments.find(number)
    return replace(one, kind="array") if given is not None and given.kind == "array" else one


def _jacobian(
    run: Run, made: Transformed, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    run.apply(made.callee, arguments, node, frame)
    return whole(replace(union([unreduced(run, made.callee, arguments, node, frame)]), kind="tree"))


def _nth(values: tuple[AbstractValue, ...], index: int) -> AbstractValue | None:
    return values[index] if index < len(values) else None


def _is_true(value: AbstractValue | None) -> bool:
    return value is not None and value.static == Constant(True)
