"""Method calls on values: those of arrays, containers and training states, and those of objects out of sight."""
# ruff: noqa: ARG001 - handlers of one table take the same arguments

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from jaxmigrate.flow.variance import (
    escaping_callbacks,
    means,
    networks,
    objects,
    out_of_sight,
    side_effects,
    transforms,
)
from jaxmigrate.flow.variance.callees import Method, Pure, Transformed
from jaxmigrate.flow.variance.frames import Arguments, Frame, fresh, reachable
from jaxmigrate.flow.variance.lattice import (
    EACH,
    EQUAL,
    GIVEN,
    KEPT,
    OTHERS,
    STARTED,
    STATISTICS,
    AbstractValue,
    Fields,
    Level,
    certainly,
    dict_of,
    each,
    held_in,
    is_first_axis,
    join,
    join_all,
    made_at,
    replace,
    row_of_block,
    tuple_of,
    union,
    unsure,
    whole,
    with_fields,
)
from jaxmigrate.flow.variance.library import ARRAY_METHODS, IMPURE_METHODS, MUTATORS
from jaxmigrate.flow.variance.name_index import DEFINERS
from jaxmigrate.flow.variance.run import KEY, Run, at_least, stored_of, weaker
from jaxmigrate.flow.variance.summary import Draw
from jaxmigrate.program.library import starting, valued
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import (
    Application,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    ModuleValue,
    Value,
)

STATEFUL = starting("stateful")
GATHERS = valued("gathers")  # class methods, by the axis over which they gather unless told
UPDATES = frozenset({"update", "apply_gradients", "apply_gradient", "apply_updates"})
GRADIENTS = ("grads", "grad", "gradients", "updates")
LOOKS = frozenset(  # methods of strings and sequences, which change neither
    {"index", "count", "startswith", "endswith", "lower", "upper", "split", "rsplit", "strip", "lstrip", "rstrip"}
    | {"format", "join", "find", "rfind", "partition", "rpartition", "isdigit", "isidentifier", "title", "encode"}
)
REGISTERS = re.compile(r"\bregister_pytree_|\btree_unflatten\b\s*=|def tree_unflatten\b")
SAMPLED = re.compile("sampl|nois|latent|diffus|repar|gumbel")  # by which networks draw in evaluation, too
STILL = (("train", False), ("training", False), ("is_training", False), ("deterministic", True))
APPLY = frozenset({"apply", "apply_fn"})
NO_DRAW = re.compile(
    "init|^create$|replace|update|append|(?<!re)set|put|save|log|print|key|rng|fold|split|bind|shard|device|host|index",
    re.IGNORECASE,
)
UPDATE = re.compile(r"(^|_)(update|optimi[sz]e)(_fn|_fun|_params)?$")
APPLYING = re.compile(r"(^|_)(apply|update)_(grads?|gradients?)(_|$)|(^|_)apply_updates(_|$)")  # whoever wrote it
OPTIMIZER = re.compile(r"opt(im|$|s$|_)|(^|_)tx$", re.IGNORECASE)
WITH_STATE, WITHOUT_KEY = "haiku.transform_with_state", "haiku.without_apply_rng"
Method_ = Callable[[Run, AbstractValue, Arguments, "ast.Call | None", "Frame | None"], AbstractValue]


@once
def _has_own_nodes(resolver: Resolver) -> bool:
    """Whether classes of the program are put together as trees by functions of its own, which may do anything."""
    return any(REGISTERS.search(module.text) for module in resolver.project.named)


def call(
    run: Run, receiver: AbstractValue, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """The result of `receiver.name(...)`."""
    if receiver.static == objects.UPDATED_AT:
        return replace(union([receiver, *arguments.all()]), kind="array")
    if receiver.static == objects.TREE_STRUCTURE and name == "unflatten":
        filled = fresh(certainly(union(map(whole, arguments.all()))), node, arguments)
        return unsure(filled, run.cause(name, node)) if _has_own_nodes(run.resolver) else filled
    reduced = networks.applied(run, receiver, name, arguments, node, frame)
    if reduced is not None:
        return reduced
    known = objects.attribute(run, receiver, name)
    method = known.callee
    hidden = isinstance(method, Method) and method.name == name and method.receiver == receiver
    if not hidden and (known.callee is not None or known.static is not None):
        if isinstance(known.static, Member) and isinstance(known.static.owner, Class):
            return _class_method(run, known.static.owner, name, arguments, node)
        return run.apply(known, arguments, node, frame)
    if receiver.fields is not None and name in receiver.fields:
        return run.apply(receiver.fields[name], arguments, node, frame)
    if run.mode.lenient and out_of_sight.knows_axis(run, receiver):
        arguments = Arguments(
            tuple(map(out_of_sight.perhaps_reduced, arguments.given)),
            Fields({key: out_of_sight.perhaps_reduced(one) for key, one in arguments.named.items()}),
            arguments.rest,
        )
    if name in UPDATES:
        _note_update(run, name, receiver, arguments, node, frame)
    else:
        note_update_by(run, name, arguments, node, frame)
    run.derived |= name in DEFINERS and any(one.level != Level.NO for one in arguments.all())
    if name in CASES and not (name in OVERRIDABLE and _is_overridden(run, name)):
        return CASES[name](run, receiver, arguments, node, frame)
    seen = name in MUTATORS and _is_container(receiver, name, arguments)
    if seen and not side_effects.changes_nothing(run, name, receiver, node, frame):
        return _mutate(run, receiver, name, arguments, node, frame)
    return _unseen(run, receiver, name, arguments, node, frame)


def _is_overridden(run: Run, name: str) -> bool:
    """Whether a method may be the program's own; for rules, one of flax's name that reduces nothing does as flax's."""
    if run.mode.lenient and name == "apply_gradients":
        return run.reduces(name)
    return run.defines(name)


def _unseen(
    run: Run, receiver: AbstractValue, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """A method of an object whose class is not in sight."""
    held = [receiver, *arguments.all()]
    escaping_callbacks.run_all(run, held)
    run.change_given(name, arguments, receiver.static)
    _change_object(run, receiver, name, arguments, node)
    everything = replace(union(held), callee=None)
    everything = replace(everything, updated=everything.updated or _applies_in_place(name, everything, node, frame))
    note_keys(run, arguments, node, frame)
    if isinstance(receiver.static, Constant) and hasattr(receiver.static.value, name) and not receiver.host:
        return replace(everything, kind="unknown")  # a string's, a number's or a tuple's, which cannot change
    if name in IMPURE_METHODS or receiver.host or _is_stateful(run, receiver):
        looks = name in LOOKS and not run.defines(name)
        for one in held if not looks else ():
            if one.places:
                run.change_within(one, unsure(stored_of(held), run.cause(name, node)))
        return unsure(everything, run.cause(name, node))
    if name in ARRAY_METHODS and ((run.mode.lenient and receiver.kind == "array") or not run.defines(name)):
        return _of_array(run, name, everything, arguments, node)
    if isinstance(receiver.callee, Pure) and not receiver.callee.hidden and not _has_functions(run, arguments):
        result = replace(everything, kind="unknown")
    else:
        around = replace(receiver, level=min(receiver.level, Level.MAY), callee=None, static=None)
        result = run.hidden(name, union([around, *arguments.all()]), node)
        everything = result = _scaled(run, name, result, arguments, node)
    if name == "init":
        result = replace(result, marks=result.marks | {STARTED})
    if name == "apply_gradient" or (run.mode.lenient and _applies(run, name, arguments)):
        result = _with_gradients(result, arguments)
    if name == "update" and len(list(arguments.all())) > 1:
        updated = _updated(result, arguments)
        result = tuple_of([updated, means.applied(updated)])
    elif (statistics := _statistics(run, name, receiver, result, arguments)) is not None:
        told = node is not None and frame is not None and not run.quiet() and not _evaluates(arguments)
        if STATISTICS in statistics.marks and told and node is not None and frame is not None:
            run.reading.statistics.append((frame.module, node))
        result = tuple_of([result, statistics])
    return fresh(result, node, Arguments((receiver, *arguments.given), arguments.named, arguments.rest))


def _change_object(run: Run, receiver: AbstractValue, name: str, arguments: Arguments, node: ast.Call | None) -> None:
    """A method of the program's of this name may change its object; any may of a class that is not known any more."""
    if not receiver.places or receiver.kind == "array":
        return
    static = receiver.static
    known = isinstance(static, Instance) and any(isinstance(v, Function) for v in run.resolver.attribute(static, name))
    made = not known and bool(run.made_of(receiver))
    if made or run.changes_object(receiver, name, arguments):
        stored = stored_of([receiver, *arguments.all()])
        run.change_within(receiver, replace(run.hidden(name, stored, node), places=stored.places))


def _applies(run: Run, name: str, arguments: Arguments) -> bool:
    """Whether a method is, by its name, one of the program's own that applies gradients, and does not reduce them."""
    given = APPLYING.search(name) is not None and any(one.gradient for one in arguments.all())
    return given and not run.reduces(name)


def _with_gradients(result: AbstractValue, arguments: Arguments) -> AbstractValue:
    """What an optimizer of old flax gives."""
    applied = any(one.gradient for one in arguments.all())
    result = means.applied(result)
    return replace(result, gradient=False, updated=True) if applied else result


def _scaled(run: Run, name: str, result: AbstractValue, arguments: Arguments, node: ast.Call | None) -> AbstractValue:
    """What a method of anything gives that has no arguments: distributions have a `mean`, too."""
    plain = run.mode.lenient and not [*arguments.all()]
    return means.of_function(run, name, result, True, node) if plain else result


def _of_array(
    run: Run, name: str, everything: AbstractValue, arguments: Arguments, node: ast.Call | None
) -> AbstractValue:
    """What a method of an array gives."""
    result = replace(everything, kind="array")
    if run.mode.lenient:
        result = means.of_function(run, name, result, not arguments.given and "axis" not in arguments.named, node)
    return row_of_block(result) if name == "squeeze" and is_first_axis(arguments.find(0, "axis")) else result


def _statistics(
    run: Run, name: str, receiver: AbstractValue, result: AbstractValue, arguments: Arguments
) -> AbstractValue | None:
    """What `apply(..., mutable=["batch_stats"])` gives beside its output, or haiku's `apply(params, state, ...)`."""
    if "mutable" not in arguments.named or arguments.named["mutable"].static == Constant(False):
        if not run.mode.lenient or name != "apply" or not _gives_state(receiver.static):
            return None
        return replace(certainly(result), marks=result.marks | {STATISTICS}) if result.level != Level.NO else result
    mutable = arguments.named["mutable"]
    statics = [one.static for one in (mutable, *(mutable.parts or ()))]
    kept = any(isinstance(static, Constant) and "batch_stats" in _names(static.value) for static in statics)
    return replace(certainly(result), marks=result.marks | {STATISTICS} if kept else result.marks)


def _evaluates(arguments: Arguments) -> bool:
    """Whether a network is told not to train, so that its statistics come back as they were."""
    return any(name in arguments.named and arguments.named[name].static == Constant(how) for name, how in STILL)


def _gives_state(value: Value | None) -> bool:
    """Whether an object is a pair of haiku's functions of which `apply` gives back the network's state, too."""
    while isinstance(value, Application) and isinstance(value.callee, External):
        if value.callee.name == WITH_STATE:
            return True
        given = value.arguments[0] if value.callee.name == WITHOUT_KEY and value.arguments else None
        value = given.value if given is not None else None
    return False


def _names(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _updated(result: AbstractValue, arguments: Arguments) -> AbstractValue:
    gradient = any(a.gradient for a in arguments.all())
    return replace(certainly(result), gradient=gradient, updated=gradient or result.updated)


def _has_functions(run: Run, arguments: Arguments) -> bool:
    return any(run.known_callee(a) is not None for a in arguments.all())


def _is_stateful(run: Run, receiver: AbstractValue) -> bool:
    """Whether an object comes from a library whose objects are not functions of what they are given."""
    from jaxmigrate.flow.variance import library

    value: Value | None = receiver.static
    while isinstance(value, Application | Member):
        value = value.callee if isinstance(value, Application) else value.owner
    if isinstance(value, External) and not isinstance(receiver.static, External | ModuleValue):
        return library.is_host_source(value.name) or value.name.startswith(STATEFUL)
    return False


def _class_method(run: Run, cls: Class, name: str, arguments: Arguments, node: ast.Call | None) -> AbstractValue:
    """A class method that a base outside the project gives: `TrainState.create(...)`."""
    full = (f"{base.name}.{name}" for base in run.resolver.bases(cls) if isinstance(base, External))
    axis = next((GATHERS[one] for one in full if one in GATHERS), None)
    if axis is not None and (gathered := _gathered(run, axis, arguments, node)) is not None:
        return gathered
    if name == "create" and arguments.rest is None and not arguments.given:
        state = {**arguments.named, OTHERS: certainly(union(arguments.all()))}
        return fresh(dict_of(state), node, arguments)
    return fresh(run.hidden(name, union(arguments.all()), node), node, arguments)


def _gathered(run: Run, usual: str, arguments: Arguments, node: ast.Call | None) -> AbstractValue | None:
    """What all devices are given of what each has, put together by methods of the program's; None over other axes."""
    named_axis = arguments.find(0, "axis_name")
    name = usual if named_axis is None else named_axis.static.value if isinstance(named_axis.static, Constant) else None
    if arguments.rest is not None or not run.axes <= {name} or run.shadowed or not run.clearing:
        return None
    run.cleared += 1
    together = union(arguments.all())
    known = run.hidden("merge", run.hidden("reduce", EQUAL, node), node)
    return fresh(replace(known, places=reachable(arguments), host=together.host, reduced=True), node, arguments)


def note_update_by(run: Run, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> bool:
    """A call of an optimizer's `update` by itself, under a name that says so: `actor_update_fn(grads, state)`.

    Whether it, or another function that by its name applies them, is given gradients that nothing has reduced.
    """
    applies = APPLYING.search(name) is not None
    updates = len([*arguments.all()]) > 1 and UPDATE.search(name) is not None
    if not run.mode.lenient or not (applies or updates) or run.reduces(name):
        return False
    given = Arguments((union(arguments.all()),)) if applies else arguments
    return _note_update(run, "apply_gradients" if applies else "update", EQUAL, given, node, frame)


def _note_update(
    run: Run, name: str, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> bool:
    """Whether a call applies gradients that nothing has reduced; if so, it is noted."""
    everything = list(arguments.all())
    if name in UPDATES and run.mode.lenient:
        means.apply(run, union(everything))
    applied = [*arguments.given[:1], *(arguments.named[n] for n in GRADIENTS if n in arguments.named)]
    if run.mode.lenient and not applied:
        applied = everything  # `apply_gradients(grads_and_vectors=...)`
    in_place = _applies_in_place(name, union(everything), node, frame)
    if in_place:
        applied = everything  # the network, and its gradients
    applies = name in UPDATES and any(v.gradient for v in applied)
    applies &= in_place or len(everything) >= 1 + (name == "update")
    applies &= not any(STARTED in v.marks for v in everything)  # what a step solves on its way is each device's own
    if applies and node is not None and frame is not None and not run.quiet():
        run.reading.updates.append((frame.module, node))
        run.reading.changed |= in_place
    return applies


def _applies_in_place(name: str, given: AbstractValue, node: ast.Call | None, frame: Frame | None) -> bool:
    """Whether an optimizer changes a network itself: `optimizer.update(model, grads)`, whose result nobody takes."""
    if name != "update" or not given.gradient or node is None or frame is None:
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else node
    alone = isinstance(frame.module.table.parents.get(node), ast.Expr)
    return alone and len(node.args) + len(node.keywords) <= 2 and OPTIMIZER.search(last_name(owner)) is not None


def note_keys(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> None:
    """A network that draws random bits: `apply(..., rngs={"dropout": key})`, or haiku's `apply(params, key, ...)`."""
    if node is None or frame is None or run.quiet():
        return
    still = _evaluates(arguments)
    if last_name(node.func) in APPLY and not still:
        for one, value in zip(node.args, arguments.given, strict=False):
            if KEY.search(last_name(one)):
                run.reading.draws.append(Draw(frame.module, node, "apply", value))
    given = arguments.named.get("rngs")
    if last_name(node.func) not in APPLY:
        _note_passed_keys(run, arguments, node, frame, still=still)
    if given is None:
        return
    keys = given.fields or {"": given}
    apart = any(key.level == Level.YES for key in keys.values())  # then what is one for all is so on purpose
    for name, key in keys.items():
        if name != "params" and (not still or (SAMPLED.search(name) and not _is_fixed(key))):
            run.reading.draws.append(Draw(frame.module, node, f"rngs {name}".strip(), key, common=apart))


def _is_fixed(key: AbstractValue) -> bool:
    """Whether a key comes from outside of what is mapped: an evaluation by one draws the same each time on purpose."""
    return any(mark.startswith(KEPT) and not mark.removeprefix(KEPT).isdecimal() for mark in key.marks)


def _note_passed_keys(run: Run, arguments: Arguments, node: ast.Call, frame: Frame, *, still: bool) -> None:
    """One key for all devices that goes to a function out of sight, which will draw from it."""
    name = last_name(node.func)
    if NO_DRAW.search(name) or name[:1].isupper():
        return
    named = [(k, arguments.named[k.arg]) for k in node.keywords if k.arg is not None and k.arg in arguments.named]
    words = [(f"{k.arg} {last_name(k.value)}".replace(" ", "_"), key) for k, key in named]  # rng=x, seed=key
    for word, key in (*zip(map(last_name, node.args), arguments.given, strict=False), *words):
        if still and not SAMPLED.search(word):
            continue
        if KEY.search(word) and key.level == Level.NO and GIVEN in key.marks:
            run.reading.assumed |= run.mode.trusting
            nameless = not run.axes  # nothing can ask for the index along an axis without a name
            hidden = run.shared.hidden
            near = run.mode.lenient and not _is_parameter(node.func, frame)
            asked = hidden.introduces_variance_itself if near else hidden.introduces_variance
            if run.mode.trusting or nameless or not asked(name, run.axes, run.home):
                run.reading.draws.append(Draw(frame.module, node, name, key))


def _is_parameter(callee: ast.expr, frame: Frame) -> bool:
    """Whether what is called came as an argument, so that it may be any function of the program."""
    if not isinstance(callee, ast.Name):
        return False
    scope = frame.module.table.scope_of.get(callee)
    holder = scope.lookup(callee.id) if scope is not None else None
    return holder is not None and any(b.kind == "param" for b in holder.bindings.get(callee.id, ()))


# Containers


def _is_container(receiver: AbstractValue, name: str, arguments: Arguments) -> bool:
    if receiver.parts is not None or receiver.fields is not None:
        return True
    if name in ("update", "add", "sort", "pop", "fill", "write", "put"):
        return name == "update" and len(arguments.given) <= 1 and bool(receiver.places)
    return receiver.kind != "array"


def _mutate(
    run: Run, receiver: AbstractValue, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """A method that changes a list, set or dictionary in place."""
    stored = union(arguments.all())
    stored = replace(stored, places=frozenset[object]().union(*(a.places for a in arguments.all())))
    result = _taken(receiver, name, arguments)
    after = _after(receiver, name, arguments, stored)
    if node is not None and frame is not None and isinstance(node.func, ast.Attribute):
        objects.replace_object(run, node.func.value, receiver, run.settle(after), run.settle(stored), frame)
    else:
        run.change(receiver, run.settle(stored))
        if not receiver.places:
            run.spill(run.settle(stored))
    if receiver.parts is not None or receiver.kind == "dict" or EACH in (receiver.fields or {}):
        return result
    return join(result, _unseen(run, receiver, name, arguments, node, frame))  # it may be no container, and give itself


def _after(receiver: AbstractValue, name: str, arguments: Arguments, stored: AbstractValue) -> AbstractValue:
    places = receiver.places | stored.places
    if name == "append" and receiver.parts is not None and len(arguments.given) == 1:
        return replace(tuple_of([*receiver.parts, arguments.given[0]]), places=places, own=receiver.own)
    if name == "append" and len(arguments.given) == 1 and receiver.fields is not None and EACH in receiver.fields:
        return replace(each(join_all([receiver.fields[EACH], arguments.given[0]])), places=places, own=receiver.own)
    if name == "update" and receiver.fields is not None and arguments.rest is None:
        given = arguments.given[0] if arguments.given else None
        if given is None or given.fields is not None:
            changed = {**((given.fields if given is not None else None) or {}), **arguments.named}
            return with_fields(receiver, changed)
    if name in ("pop", "popitem", "remove", "discard", "clear") and receiver.fields is not None:
        return receiver
    return weaker(receiver, stored)


def _taken(receiver: AbstractValue, name: str, arguments: Arguments) -> AbstractValue:
    if name not in ("pop", "popitem", "setdefault", "popleft"):
        return EQUAL
    key = arguments.given[0].static if arguments.given else None
    if receiver.fields is not None and isinstance(key, Constant) and isinstance(key.value, str):
        return join_all([objects.field(receiver, key.value), *arguments.given[1:]])
    return replace(join_all([whole(receiver), *arguments.given[1:]]), host=receiver.host)


def _items(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    if receiver.fields is not None and OTHERS not in receiver.fields and EACH not in receiver.fields:
        pairs = [tuple_of([AbstractValue(static=Constant(n)), v]) for n, v in receiver.fields.items()]
        return replace(tuple_of(pairs), host=receiver.host)
    return replace(each(tuple_of([EQUAL, whole(receiver)]), receiver.places), host=receiver.host)


def _values(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    if receiver.fields is not None and OTHERS not in receiver.fields and EACH not in receiver.fields:
        return replace(tuple_of(list(receiver.fields.values())), host=receiver.host)
    return replace(each(whole(receiver), receiver.places), host=receiver.host)


def _keys(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    return unsure(EQUAL) if receiver.host else each(EQUAL)


def _get(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    key = arguments.given[0].static if arguments.given else None
    if isinstance(key, Constant) and isinstance(key.value, str) and not receiver.host:
        return join_all([objects.field(receiver, key.value), *_meant(run, arguments.given[1:])])
    if receiver.fields is None and not isinstance(key, Constant):
        return _unseen(run, receiver, "get", arguments, node, frame)
    return at_least(join_all([whole(receiver), *_meant(run, arguments.given[1:])]), union(arguments.given[:1]).level)


def _meant(run: Run, defaults: Sequence[AbstractValue]) -> list[AbstractValue]:
    """Defaults that matter: to rules, `batch.get("mask", None)` is what the batch has."""
    return [one for one in defaults if not run.mode.lenient or one.static != Constant(None)]


def _replace(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    if arguments.rest is not None or arguments.given:
        return fresh(_one(run, receiver, arguments), node, arguments)
    changed = with_fields(receiver, arguments.named)
    return fresh(changed, node, Arguments((receiver, *arguments.given), arguments.named))


def _one(run: Run, receiver: AbstractValue, arguments: Arguments) -> AbstractValue:
    total = union([receiver, *arguments.all()])
    return unsure(total) if total.host else certainly(total)


def _copy(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    added = arguments.find(0, "add_or_replace")
    if added is None:
        return receiver if receiver.kind == "array" else made_at(replace(receiver, callee=None), node)
    if added.fields is not None and EACH not in added.fields and OTHERS not in added.fields:
        return fresh(with_fields(receiver, added.fields), node, arguments)
    return fresh(_one(run, receiver, arguments), node, arguments)


def _apply_gradients(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """flax's TrainState: parameters and optimiser state change, and what is given by name; the rest stays."""
    if arguments.rest is not None or arguments.given or "grads" not in arguments.named:
        return _unseen(run, receiver, "apply_gradients", arguments, node, frame)
    grads = arguments.named["grads"]
    given = {n: v for n, v in arguments.named.items() if n not in ("grads", "value")}
    before = union([objects.field(receiver, n) for n in ("params", "opt_state")])
    after = run.hidden("update", union([before, *arguments.named.values()]) if not given else union([before, grads]))
    gradient = grads.gradient
    after = replace(
        certainly(means.applied(after)), gradient=gradient, updated=gradient or before.updated, places=receiver.places
    )
    step = objects.field(receiver, "step")
    changed = {"params": after, "opt_state": after, "step": replace(step, kind="array"), **given}
    return fresh(with_fields(receiver, changed), node, Arguments((receiver,), arguments.named))


def _value_and_grad(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """flax's DynamicScale: gradients of a scaled loss, which are averaged over the axis that it is given, if any.

    Without an axis nothing says whose method it is: then only a lenient reading takes it for that one.
    """
    function = arguments.given[0] if arguments.given else EQUAL
    known = "axis_name" in arguments.named or run.mode.lenient
    if not known or arguments.rest is not None or run.known_callee(function) is None:
        return _unseen(run, receiver, "value_and_grad", arguments, node, frame)
    named = {"axis_name": AbstractValue(static=Constant(None)), **arguments.named}
    options = (*named.items(), (transforms.SCALE, receiver))
    made = Transformed(transforms.SCALED, function, options, arguments.given[1:])
    places = function.places | receiver.places
    return AbstractValue(held_in([function, receiver]), callee=made, host=function.host or receiver.host, places=places)


def _has_key(
    run: Run, receiver: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    return unsure(EQUAL) if receiver.host else EQUAL


CASES: dict[str, Method_] = {
    "items": _items,
    "values": _values,
    "keys": _keys,
    "get": _get,
    "replace": _replace,
    "_replace": _replace,
    "copy": _copy,
    "unfreeze": _copy,
    "apply_gradients": _apply_gradients,
    "value_and_grad": _value_and_grad,
    "_asdict": _copy,
    "startswith": _has_key,
    "endswith": _has_key,
}
OVERRIDABLE = frozenset(
    {"replace", "copy", "apply_gradients", "value_and_grad", "get", "values", "items", "keys", "_asdict"}
)
