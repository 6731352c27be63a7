"""Calls of functions outside the project: what the library's tables say, and the few that need a case of their own."""
# ruff: noqa: ARG001 - handlers of one table take the same arguments

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from jaxmigrate.flow.variance import (
    averaging,
    callbacks,
    collectives,
    escaping_callbacks,
    kept_leaves,
    library,
    loops,
    means,
    methods,
    objects,
    order,
    out_of_sight,
    transforms,
)
from jaxmigrate.flow.variance.callees import Bound, Closure, Method, Pure, Transformed
from jaxmigrate.flow.variance.frames import Arguments, Frame, fresh, reachable
from jaxmigrate.flow.variance.lattice import (
    DRAWN,
    EQUAL,
    GIVEN,
    INDEXED,
    OF_VARYING_TYPE,
    OTHERS,
    SHAPED,
    STARTED,
    VARYING,
    AbstractValue,
    Choice,
    Level,
    certainly,
    dict_of,
    dictionary,
    each,
    element,
    held_in,
    is_first_axis,
    join_all,
    kept_keys,
    made_at,
    mapped,
    part_at,
    renewed,
    replace,
    row_of_block,
    tuple_of,
    union,
    unsure,
    whole,
    with_fields,
)
from jaxmigrate.flow.variance.library import TRANSFORMS
from jaxmigrate.flow.variance.run import Run, at_least
from jaxmigrate.flow.variance.summary import Draw
from jaxmigrate.program import trees
from jaxmigrate.program.collectives import AXIS_POSITIONS, IF_MAPPED
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.library import named, valued
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import (
    Application,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Parameter,
    Unknown,
)

Case = Callable[[Run, Arguments, "ast.Call | None", "Frame | None"], AbstractValue]


def call(run: Run, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """The result of calling something outside the project by its full name."""
    if library.is_changed(run.resolver, name):
        return _unknown(run, name, arguments, node)
    if name.endswith(("__setattr__", "__setitem__", "__delattr__", "__delitem__")):
        return _setattr(run, Arguments((*arguments.given, EQUAL, EQUAL, EQUAL)[:3]), node, frame)
    if name.startswith("builtins.") and name.count(".") == 2 and arguments.given:
        rest = Arguments(arguments.given[1:], arguments.named, arguments.rest)
        return methods.call(run, arguments.given[0], name.rpartition(".")[2], rest, None, frame)
    if "out" in arguments.named:
        run.change(arguments.named["out"], union(arguments.all()))
    if name in AXIS_POSITIONS or name in IF_MAPPED:
        return collectives.call(run, IF_MAPPED.get(name, name), arguments, node, frame)
    if name in CASES:
        return CASES[name](run, arguments, node, frame)
    if name in PARTIALS and arguments.given:
        first, *given = arguments.given
        bound = Bound(first, tuple(given), tuple(arguments.named.items()))
        return AbstractValue(held_in(arguments.all()), callee=bound, host=first.host, places=reachable(arguments))
    if name in TRANSFORMS:
        return _transformed(name, arguments)
    if name in library.EQUAL_RESULTS or name.startswith(library.SILENT):
        escaping_callbacks.run_all(run, arguments.all())
        made = _structural(name, arguments)
        return run.kept(made, name) if name == "builtins.type" else made  # a class, which outlives what is read
    if name == callbacks.PURE_CALLBACK and _reads(run, node, frame):
        escaping_callbacks.run_all(run, arguments.all())
        return fresh(certainly(union(arguments.all())), node, arguments)
    if library.is_host_source(name) or not library.is_pure(name):
        return _unknown(run, name, arguments, node, frame)
    return _pure(run, name, arguments, node, frame)


def _transformed(name: str, arguments: Arguments) -> AbstractValue:
    options = tuple((k, v) for k, v in arguments.named.items() if k not in ("fun", "f"))
    function = arguments.find(0, "fun", "f")
    if function is None:  # @jax.jit(static_argnums=...): a decorator is made
        return AbstractValue(callee=Bound(AbstractValue(static=External(name)), (), options))
    made = Transformed(name, function, options, arguments.given[1:])
    return AbstractValue(held_in([function]), callee=made, host=function.host, places=function.places)


FUNCTIONS = Closure | Bound | Transformed | Choice
PLAIN = named("plain-module")
ANY_NAME = named("any-name")
SQUEEZES = named("squeeze")
SEEDS = named("seed")
TIME = re.compile(r"(^|_)(steps?|epochs?|iter(ation)?s?|rounds?|count|num_updates|i|t)$")
KERNEL_CALL = "jax.experimental.pallas.pallas_call"
ORDERS = named("order")  # of rows, which may be one for unlike rows


def _structural(name: str, arguments: Arguments) -> AbstractValue:
    """What depends on shapes and types only."""
    everything = union(arguments.all())
    array = name.rpartition(".")[2] in (
        "zeros_like",
        "ones_like",
        "empty_like",
        "axis_size",
        "len",
        "ndim",
        "isinstance",
    )
    if name.startswith(library.SILENT):
        return EQUAL
    if name.endswith("_like") and not everything.host:
        return replace(EQUAL, kind="array", marks=_type_of(arguments.find(0)))
    return replace(unsure(EQUAL) if everything.host else EQUAL, kind="array" if array else "unknown")


def _type_of(value: AbstractValue | None) -> frozenset[str]:
    """The mark of what is equal and, as it is made like something that varies, of a type that does."""
    varies = value is not None and (value.level != Level.NO or not value.marks.isdisjoint(OF_VARYING_TYPE))
    return frozenset([VARYING] if varies else [])


def _reads(run: Run, node: ast.Call | None, frame: Frame | None) -> bool:
    """Whether a call of `jax.pure_callback` is given what can be read to be pure."""
    return node is not None and frame is not None and callbacks.is_pure_callback(node, frame.module, run.resolver)


def _unknown(
    run: Run, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None = None
) -> AbstractValue:
    """A function that may do anything; one that gives what the processes do not share at least changes nothing."""
    if run.mode.local and run.mode.lenient and name.startswith(library.HOST_IDENTITIES):
        return AbstractValue(kind="array")  # for rules: one number for the devices of a process
    if run.mode.lenient and name == KERNEL_CALL:
        return AbstractValue(callee=Pure(Level.NO, reduces=_sends(run)))
    if out_of_sight.is_plain(run, name, arguments):
        applies = methods.note_update_by(run, name.rpartition(".")[2], arguments, node, frame)
        made = out_of_sight.computed(run, arguments, node)
        return replace(made, updated=True) if applies else made
    cause = run.cause(name, node, host=library.is_host_source(name))
    escaping_callbacks.run_all(run, arguments.all())
    if run.mode.trusting and not library.may_tell_devices(name):
        return fresh(run.hidden(name, union(arguments.all()), node), node, arguments)
    if name in ANY_NAME:
        run.forget()
    if not library.is_host_source(name) or name == "random.shuffle":
        for one in arguments.all():
            if one.places:
                run.change(one, unsure(union(arguments.all()), cause))
    everything = replace(union(arguments.all()), gradient=False)  # which it may have reduced
    return unsure(replace(everything, places=reachable(arguments) | {name}), cause)


def _sends(run: Run) -> bool:
    """Whether the program has kernels that send to other devices, by which they may reduce."""
    return any("remote_copy" in module.text for module in run.resolver.project.program)


def _pure(run: Run, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    if any(_is_given_function(run, name, one) for one in arguments.all()):
        if name.startswith("jax.") and not name.startswith("jax.nn.initializers"):
            return loops.unknown_order(run, arguments, node, frame)
        escaping_callbacks.run_all(run, arguments.all())
        held = replace(union([replace(a, callee=None) for a in arguments.all()]), gradient=False)  # may be reduced
        functions = [one for one in arguments.all() if isinstance(run.known_callee(one), FUNCTIONS)]
        if functions:  # which it may call, with all that it is given
            called = Arguments((*functions, replace(held, callee=None)))
            made = loops.unknown_order(run, called, node, frame)
            held = union([held, made]) if made.level != Level.NO else held
        return fresh(replace(held, callee=Pure(held.level, hidden=True)), node, arguments)
    if name in library.DRAWS:
        _draw(run, name, arguments, node, frame)
    result = renewed(union(arguments.all()), arguments.all())
    if name in library.DRAWS and run.mode.lenient:
        result = replace(result, marks=result.marks | {DRAWN})
    if name in SEEDS:
        key = arguments.find(0, "key") if name == "jax.random.fold_in" else None
        if run.mode.lenient and key is not None and node is not None and _is_of_time(node):
            given = union(arguments.all()).marks & {GIVEN}
            return replace(key, static=None, marks=(key.marks - kept_keys(key)) | given)
        # A key has one shape, whatever number is in it, and what is drawn by it is no choice among the devices.
        result = replace(result, host=key is not None and key.host, marks=result.marks - {INDEXED})
    if name.startswith(library.ARRAYS) and name not in library.NOT_ARRAYS:
        return _array(run, name, arguments, node, result)
    if result.marks and run.mode.lenient:
        result = means.of_one(name, arguments, node, result)
        result = order.chosen(run, name, arguments, node, result)
    if name.startswith(("numpy.", "jax.numpy.", "jax.lax.")):
        return fresh(certainly(result), node, arguments)
    return fresh(replace(result, callee=Pure(result.level, hidden=_holds_code(arguments))), node, arguments)


def _is_given_function(run: Run, name: str, value: AbstractValue) -> bool:
    """Whether what a function is given is one for it to call.

    What draws takes none, as `config.alpha` is a number. For rules, most that compute with arrays do not either:
    to them, `batch.x` is an array.
    """
    callee = run.known_callee(value) if not name.startswith("jax.random.") else None
    if run.mode.lenient and isinstance(callee, Method) and name.startswith(library.ARRAYS):
        return name in library.CALLS
    return callee is not None


def _array(run: Run, name: str, arguments: Arguments, node: ast.Call | None, result: AbstractValue) -> AbstractValue:
    """What a function gives whose result is one array."""
    reduced = name in library.NUMBERS and not is_first_axis(arguments.find(1, "axis"))
    if name in SQUEEZES and is_first_axis(arguments.find(1, "axis", "dimensions")):
        result = row_of_block(result)
    own, last = reduced and result.gradient, name.rpartition(".")[2]
    result = replace(result, kind="array", gradient=result.gradient and not reduced)  # none itself
    if not run.mode.lenient:
        return result
    if own:
        result = order.normed(run, last, result, node)
    order.cut(run, last, arguments, node)
    return means.of_function(run, last, result, reduced and arguments.find(1, "axis") is None, node)


def _is_of_time(node: ast.Call) -> bool:
    """Whether a number that is folded into a key is, by its name, one that all devices count together."""
    numbers = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "data")]
    return any(TIME.search(last_name(one)) for one in numbers)


def _holds_code(arguments: Arguments) -> bool:
    """Whether an argument may be a class or an object of the project, or made of one, with methods of its own."""
    kinds = Class | Instance | Application | Member | Parameter | Unknown
    return any(isinstance(a.static, kinds) for a in arguments.all())


def _draw(run: Run, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> None:
    key = arguments.find(0, "key")
    one = not run.batched and _is_one_number(name, arguments)  # for the whole batch, as on a single device
    one |= name in ORDERS or _is_in_shape_of_equal(name, arguments)
    if key is not None and node is not None and frame is not None and not run.quiet():
        run.reading.draws.append(Draw(frame.module, node, name, key, common=one))


def _is_one_number(name: str, arguments: Arguments) -> bool:
    """Whether a draw is of a single number: by its shape, or by numbers of the host's that it is drawn from.

    `normal(key)` alone is as likely to be noise on a number of the device's own.
    """
    position = library.DRAWN_SHAPES.get(name.rpartition(".")[2])
    if position is None:
        return False
    shape = arguments.find(position, "shape")
    if shape is not None and shape.static != Constant(None):
        return shape.parts is not None and all(part.static == Constant(1) for part in shape.parts)
    return position > 1 and all(GIVEN not in one.marks for one in list(arguments.all())[1:])


def _is_in_shape_of_equal(name: str, arguments: Arguments) -> bool:
    """Whether a draw has the shape of what is equal everywhere: noise on parameters, which is to be so as well."""
    position = library.DRAWN_SHAPES.get(name.rpartition(".")[2])
    shape = arguments.find(position, "shape") if position is not None else None
    return shape is not None and SHAPED in shape.marks


# Classes of the project that libraries know


def is_network(run: Run, cls: Class) -> bool:
    """Whether a class derives from a library's module class, whose methods do not mean what they say.

    For rules, those of equinox and nnx, which are objects as any, do.
    """
    bases = [v.name for v in run.resolver.bases(cls) if isinstance(v, External)]
    return any("Module" in name.rpartition(".")[2] and not (run.mode.lenient and name in PLAIN) for name in bases)


# Cases of their own


def _preserving(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    value = arguments.find(0) if arguments.given else None
    if value is None:
        return fresh(dict_of(arguments.named) if arguments.named else EQUAL, node, Arguments())
    rest = union([*arguments.given[1:], *arguments.named.values()])
    if value.host or rest.host:
        return unsure(union(arguments.all()))
    return fresh(replace(value, callee=None, static=None), node, arguments)


def _tap(run: Run, arguments: Arguments, _node: ast.Call | None, _frame: Frame | None) -> AbstractValue:
    return _tapped(run, arguments, 1)


def _print(run: Run, arguments: Arguments, _node: ast.Call | None, _frame: Frame | None) -> AbstractValue:
    return _tapped(run, arguments, 0)


def _tapped(run: Run, arguments: Arguments, place: int) -> AbstractValue:
    """What `host_callback.id_tap` and `id_print` give: their argument, or the result that they are told."""
    escaping_callbacks.run_all(run, arguments.all())
    tapped = arguments.find(place, "arg")
    if tapped is None or arguments.rest is not None:
        return unsure(union(arguments.all()))
    return union([tapped, arguments.named["result"]]) if "result" in arguments.named else tapped


def _cast(_run: Run, arguments: Arguments, _node: ast.Call | None, _frame: Frame | None) -> AbstractValue:
    return arguments.given[-1] if arguments.given else EQUAL


def _listed(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    value = arguments.find(0) or EQUAL
    if (value.parts is None and value.fields is None) or (value.fields is not None and value.parts is None):
        value = each(element(value), value.places)
    return made_at(replace(value, callee=None, static=None, kind="unknown"), node)


def _sorted(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    escaping_callbacks.run_all(run, arguments.all())
    return fresh(each(element(arguments.find(0) or EQUAL)), node, arguments)


def _filter(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    escaping_callbacks.run_all(run, arguments.all())
    return _sorted(run, Arguments(arguments.given[1:]), node, frame)


def _dictionary(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    fields = dict(arguments.named)
    if arguments.given:
        first = arguments.given[0]
        fields = {**(first.fields if first.fields is not None else {OTHERS: whole(element(first))}), **fields}
    if arguments.rest is not None:
        fields[OTHERS] = join_all([*fields.values(), arguments.rest])
    return made_at(dictionary(fields), node)


def _zip(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    columns = arguments.given
    if columns and arguments.rest is None and all(c.parts is not None for c in columns):
        rows = zip(*(c.parts or () for c in columns), strict=False)
        return fresh(tuple_of([tuple_of(row) for row in rows]), node, arguments)
    more = [arguments.rest] if arguments.rest is not None else []
    return fresh(each(tuple_of([element(c) for c in (*columns, *more)])), node, arguments)


def _enumerate(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    items = arguments.find(0) or EQUAL
    number = AbstractValue(kind="array")
    if items.parts is not None:
        return fresh(tuple_of([tuple_of([number, part]) for part in items.parts]), node, arguments)
    return fresh(each(tuple_of([number, element(items)])), node, arguments)


def _map(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    function, *columns = arguments.given or (EQUAL,)
    if columns and all(c.parts is not None for c in columns):
        rows = list(zip(*(c.parts or () for c in columns), strict=False))
        return tuple_of([run.apply(function, Arguments(row), node, frame) for row in rows])
    return fresh(each(run.apply(function, Arguments(tuple(element(c) for c in columns)), node, frame)), node, arguments)


def _sum(_run: Run, arguments: Arguments, _node: ast.Call | None, _frame: Frame | None) -> AbstractValue:
    first = arguments.find(0) or EQUAL
    items = first.parts if first.parts is not None else (element(first),)
    result = union([*items, *arguments.given[1:]])
    array = all(i.kind == "array" for i in items)
    return replace(result, kind="array" if array else "unknown", host=result.host or first.host)


def _extreme(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`max` and `min`, which give one of what they are given."""
    escaping_callbacks.run_all(run, arguments.all())
    listed = arguments.given[0] if len(arguments.given) == 1 and arguments.rest is None else None
    items = [element(listed)] if listed is not None else list(arguments.all())
    if all(item.kind == "array" for item in items):
        return _number(run, arguments, node, frame)
    return at_least(join_all([replace(one, callee=None) for one in items]), union(arguments.all()).level)


def _number(_run: Run, arguments: Arguments, _node: ast.Call | None, _frame: Frame | None) -> AbstractValue:
    items = [i for a in arguments.given for i in (a.parts if a.parts is not None else (a,))]
    return replace(union([*items, *arguments.named.values()]), kind="array")


def _range(_run: Run, arguments: Arguments, _node: ast.Call | None, _frame: Frame | None) -> AbstractValue:
    bounds = union(arguments.all())
    numbers = [a.static.value for a in arguments.given if isinstance(a.static, Constant)]
    if len(numbers) == len(arguments.given) and all(isinstance(n, int) for n in numbers):
        found = range(*[n for n in numbers if isinstance(n, int)][:3]) if numbers else range(0)
        if len(found) <= 4:
            return tuple_of([AbstractValue(kind="array", static=Constant(n)) for n in found])
    return replace(each(replace(bounds, kind="array")), host=bounds.host)


def _getattr(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    from jaxmigrate.flow.variance import objects

    value, name = arguments.find(0) or EQUAL, arguments.find(1)
    static = name.static.value if name is not None and isinstance(name.static, Constant) else None
    if not isinstance(static, str):
        return replace(whole(value), callee=None) if not value.host else unsure(value)
    found = objects.attribute(run, value, static)
    default = arguments.find(2)
    return found if default is None else join_all([found, default])


def _setattr(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    if len(arguments.given) == 3:
        run.change(arguments.given[0], arguments.given[2])
    return EQUAL


def _replace(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    value = arguments.find(0) or EQUAL
    if arguments.rest is not None:
        return unsure(union(arguments.all()))
    return fresh(with_fields(value, arguments.named), node, arguments)


def _leaves(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    tree = arguments.find(0, "tree") or EQUAL
    return _kept(tree) if _has_leaves_of_its_own(arguments) else loops.leaves(tree)


def _has_leaves_of_its_own(arguments: Arguments) -> bool:
    """Whether what counts as a leaf is told, so that containers may."""
    return arguments.find(1, "is_leaf") is not None or arguments.rest is not None


def _kept(tree: AbstractValue) -> AbstractValue:
    """Containers out of a tree, in a list."""
    return each(whole(tree), tree.places)


def _flatten(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    tree = arguments.find(0, "tree") or EQUAL
    found = _kept(tree) if _has_leaves_of_its_own(arguments) else loops.leaves(tree)
    return tuple_of([found, AbstractValue(host=tree.host, static=objects.TREE_STRUCTURE)])


def _unflatten(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    items = arguments.find(1, "leaves") or EQUAL
    return fresh(certainly(union([items])) if items.parts is None else whole(items), node, arguments)


def _map_paths(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    return loops.tree_map(run, arguments, node, frame, with_path=True)


def _reduce(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    return loops.associative(run, arguments, node, frame)


def _full_like(_run: Run, arguments: Arguments, _node: ast.Call | None, _frame: Frame | None) -> AbstractValue:
    content = union(list(arguments.all())[1:])
    return replace(content, kind="array", marks=content.marks | _type_of(arguments.find(0)))


def _vjp(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    function, given = arguments.find(0, "fun") or EQUAL, Arguments(arguments.given[1:], rest=arguments.rest)
    out = run.apply(function, given, node, frame)
    depends = transforms.unreduced(run, function, given, node, frame)
    back = AbstractValue(held_in([depends]), callee=Pure(depends.level), host=depends.host)
    if arguments.named.get("has_aux", EQUAL).static == Constant(True):
        return tuple_of([part_at(out, 0), back, part_at(out, 1)])
    return tuple_of([out, back])


def _jvp(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    function = arguments.find(0, "fun") or EQUAL
    primals, tangents = arguments.find(1, "primals") or EQUAL, arguments.find(2, "tangents") or EQUAL
    if primals.parts is None:
        return loops.unknown_order(run, arguments, node, frame)
    given = Arguments(primals.parts)
    out = run.apply(function, given, node, frame)
    depends = transforms.unreduced(run, function, given, node, frame)
    return tuple_of([out, certainly(union([depends, tangents]))])


def _linearize(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    return tuple_of(list(_vjp(run, arguments, node, frame).parts or ())[:2])


def _stop(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    value = arguments.find(0, "x") or EQUAL
    return mapped(value, lambda v: replace(v, static=None))


def _split(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """Keys, or pieces of an array: as many of them as the program takes."""
    return replace(union(arguments.all()), kind="array")


def _apply_updates(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`optax.apply_updates(params, updates)`, and Equinox's of a model."""
    params, updates = arguments.find(0, "params", "model") or EQUAL, arguments.find(1, "updates") or EQUAL
    if run.mode.lenient:
        means.apply(run, updates)
    started = STARTED in updates.marks
    if updates.gradient and not started and not run.quiet() and node is not None and frame is not None:
        run.reading.updates.append((frame.module, node))
    result = certainly(means.applied(union([params, updates])))
    if updates.gradient:
        result = replace(result, updated=True)
    return fresh(result, node, arguments)


def _streams(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`nnx.Rngs(dropout=key)`: what a network draws from, but for parameters, which are to be the same everywhere."""
    if node is not None and frame is not None and not run.quiet():
        drawn = {name: key for name, key in arguments.named.items() if name != "params"}
        run.reading.draws += [Draw(frame.module, node, f"rngs {name}", key) for name, key in drawn.items()]
    return _unknown(run, "flax.nnx.Rngs", arguments, node)


def _unrolled(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """What functions and objects give that are called with their own results, as an environment and a policy are."""
    made = loops.unknown_order(run, arguments, node, frame)
    return run.hidden("step", made, node) if _holds_code(arguments) else made


# by the word that the table has for it
TRANSFERS: dict[str, Case] = {
    "apply-updates": _apply_updates,
    "associative": loops.associative,
    "cast": _cast,
    "combine": kept_leaves.combined,
    "cond": loops.cond,
    "dictionary": _dictionary,
    "enumerate": _enumerate,
    "extreme": _extreme,
    "filter": _filter,
    "fori-loop": loops.fori_loop,
    "full-like": _full_like,
    "getattr": _getattr,
    "jvp": _jvp,
    "keep-leaves": kept_leaves.kept,
    "linearize": _linearize,
    "listed": _listed,
    "map": _map,
    "number": _number,
    "part-leaves": kept_leaves.parted,
    "put-leaves": kept_leaves.put,
    "range": _range,
    "replace": _replace,
    "rows": loops.over_rows,
    "scan": loops.scan,
    "setattr": _setattr,
    "print": _print,
    "sorted": _sorted,
    "split": _split,
    "stop": _stop,
    "statistics": averaging.statistics,
    "streams": _streams,
    "sum": _sum,
    "tap": _tap,
    "switch": loops.switch,
    "unrolled": _unrolled,
    "varying": collectives.varying,
    "vjp": _vjp,
    "while-loop": loops.while_loop,
    "zip": _zip,
}
CASES: dict[str, Case] = {
    **dict.fromkeys(trees.TREE_MAPS, loops.tree_map),
    **dict.fromkeys(trees.PATH_MAPS, _map_paths),
    **dict.fromkeys(trees.TREE_LEAVES, _leaves),
    **dict.fromkeys(trees.TREE_FLATTEN, _flatten),
    **dict.fromkeys(trees.TREE_UNFLATTEN, _unflatten),
    **dict.fromkeys(trees.TREE_REDUCE, _reduce),
    **dict.fromkeys(library.PRESERVING, _preserving),
    **{name: TRANSFERS[word] for name, word in valued("transfer").items()},
}

__all__ = ["TRANSFORMS", "Function", "Level", "call", "is_network", "methods"]
