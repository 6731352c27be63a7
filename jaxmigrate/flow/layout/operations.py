"""Expressions that make stacked arrays and take them apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jaxmigrate.flow.layout import class_index, made_arrays, numbers, numpys, read_only_copies
from jaxmigrate.flow.layout.buffers import is_written
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import CONSTANTS, LEADING, OF_ARRAY, PATTERN, REPLICATES, UNREPLICATE, Idiom, Kind
from jaxmigrate.flow.layout.model import ENTRY, OBSERVED, PRESUMED, Frame, Op
from jaxmigrate.flow.layout.one_array import seems_several
from jaxmigrate.flow.layout.values import (
    NOTHING,
    OF_ARRAYS,
    PLAIN,
    Abstract,
    Blocker,
    Dct,
    Group,
    Nothing,
    Numpys,
    Obj,
    Plain,
    Ref,
    Tup,
    entry_of,
    has_own_order,
    is_empty,
    is_tracked,
    leaves_plain,
    numpys_in,
)
from jaxmigrate.flow.variance import AbstractValue
from jaxmigrate.flow.variance.lattice import OTHERS
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.trees import ANY_TREE_MAPS
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, External, Function, Partial, Value

SCALARS = named("scalar")
ARRAYS_OF = frozenset(f"{home}.{name}" for home in ("jax.numpy", "numpy") for name in ("array", "asarray"))
DTYPES = frozenset(
    f"{home}.{name}"
    for home in ("jax.numpy", "numpy")
    for name in ("int32", "int64", "uint32", "float16", "float32", "float64", "bfloat16", "bool_")
)
FETCHES = named("scalar", "fetches", "host-number")
COPIED = "copied"  # the form of what joins the rows of an array in a copy that is numpy's
SLICES = "slices"  # `device_put_sharded`: one for each device
CHAINED = "chained"  # the form of `chain(*x)`, which gives the rows of an array one by one
FETCHED_ROWS = "fetched rows"  # the form of what fetches an array that gets another shape at once
WITHIN = "within"  # the form of what is taken out of the first device's slice in the same subscript: `x[0, 1]`
NAMINGS = ("def", "class", "import", "from")  # what binds a name without a value
NUMBER_SPECS = tuple("bdoxXeEfFgGn%")
_ALSO_PLAIN = Stacked.MIXED.reason("is unstacked (as by `x[0]`) in code that also runs on arrays without a device axis")


def item(it: Interpreter, owner: Ref, node: ast.Subscript, key: object, frame: Frame) -> Abstract:
    """`x[key]` of a tree of arrays: device 0's slice, a field, or something that is not followed."""
    shape = owner.shape
    if isinstance(key, str):
        it.changed |= owner.group.flatten()
        return owner.part(entry_of(shape, key))
    if key is None and shape is not None and shape.kind == "dict":
        it.changed |= owner.group.flatten()
        return any_entry(owner)
    parts = shape.parts if shape is not None and not owner.is_array else None
    if isinstance(key, int) and parts is not None and -len(parts) <= key < len(parts):
        it.changed |= owner.group.flatten()
        return owner.part(parts[key])
    if isinstance(key, int) and parts is None and seems_several(it, owner, node.value, frame):
        indexes_others(it, node, frame)
        it.changed |= owner.group.flatten()
        return owner.part()
    if it.idioms.is_first(node.slice) and not _is_tree(shape):
        if owner.is_array or _is_scalar_here(it, node, frame):
            return first(it, owner, node, node.value, "index", frame)
        if it.trust.likely and _seems_one_array(it, node, frame.module):
            says = f"`{ast.unparse(node)}` takes the first device's slice of one array"
            it.lean([owner], Assumption("likely", "unreplicates", "", says, frame.module, node))
            return first(it, owner, node, node.value, "index", frame)
        read_only_copies.keep_read(
            it,
            [(owner, node.value)],
            Stacked.READ_ON_HOST.reason("is indexed with [0], but may be a list or tuple instead of an array"),
            node,
            frame,
        )
        return PLAIN
    if _is_within_first(node.slice, of_array=owner.is_array):
        return first(it, owner.part(leaf=True), node, node.value, WITHIN, frame)
    if _is_behind_first(node.slice) and node not in it.operations.plain_indices:
        it.changed |= owner.group.flatten()
        record(it, "inner", node, node.value, owner.group, "", frame)
        return owner.part(leaf=True)
    read = Stacked.READ_ON_HOST.reason("is indexed along its device axis")
    read_only_copies.keep_read(it, [(owner, node.value)], read, node, frame, exact=isinstance(key, int | tuple))
    return PLAIN


def any_entry(owner: Ref) -> Ref:
    """Any of the arrays that a dictionary holds."""
    entries = owner.shape.fields if owner.shape is not None else None
    if entries and all(one.kind == "array" for one in entries.values()):
        return owner.part(leaf=True)
    return owner.part(entry_of(owner.shape, OTHERS) if owner.shape == OF_ARRAYS else None)


def _is_tree(shape: AbstractValue | None) -> bool:
    """Whether what is known of a value says that it is no array."""
    return shape is not None and shape.fields is not None and shape.kind != "array"


def indexes_others(it: Interpreter, node: ast.Subscript, frame: Frame) -> None:
    """Notes that a subscript is also one of what has no device axis: `x[0]` in a helper that gets a list, say."""
    it.operations.plain_indices.add(node)
    known = it.operations.ops.get(node)
    if known is not None and known.kind in ("first", "inner"):
        it.changed |= known.group.block(Blocker(_ALSO_PLAIN, frame.module, node))


def _seems_one_array(it: Interpreter, index: ast.Subscript, module: Module) -> bool:
    """Whether a reader takes what is indexed with 0 for one array: a part of a result, an entry or a field of a tree.

    What is all that a map gives may as well be a tuple; what was one array at first, before a loop, stays one.
    """
    match index.value:
        case ast.Attribute() | ast.Subscript(slice=ast.Constant(value=str())):
            return True
        case ast.Call(func=called, args=[ast.Name() | ast.Attribute() | ast.Subscript()], keywords=[]):
            return it.idioms.external(called, module) in ARRAYS_OF  # of a list, it is none of arrays as a rule
        case ast.Name() as name:
            made = [one for one in it.resolver.bindings_at(name, module) if one.value is not index]  # loss = loss[0]
            starts = [one.value for one in made if not one.path and one.value is not None]
            parts = [one for one in made if one.path or _is_entry(one, module)]
            return bool(parts) and len(parts) + len(starts) == len(made) and all(_starts(it, s, module) for s in starts)
    return False


def _is_entry(binding: Binding, module: Module) -> bool:
    """Whether a loop over a dictionary's items or values binds a name to each entry."""
    above, method = module.table.parents.get(binding.node), "values"
    if isinstance(above, ast.Tuple) and above.elts[-1] is binding.node:
        above, method = module.table.parents.get(above), "items"
    match above:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr=called), args=[])):
            return called == method
        case ast.comprehension(iter=ast.Call(func=ast.Attribute(attr=called), args=[])):
            return called == method
    return False


def _starts(it: Interpreter, value: ast.expr, module: Module) -> bool:
    """Whether an expression replicates one array, or a number: `replicate(jnp.int32(0))`."""
    if not isinstance(value, ast.Call) or not value.args or it.idioms.external(value.func, module) not in REPLICATES:
        return False
    operand = value.args[0]
    is_cast = isinstance(operand, ast.Call) and it.idioms.external(operand.func, module) in DTYPES
    return (
        is_cast
        or made_arrays.makes_array(it.resolver, operand, module)
        or numbers.is_number(operand, module, it.resolver)
    )


def _is_within_first(index: ast.expr, *, of_array: bool) -> bool:
    """Whether a subscript takes a part of the first slice of one array: `x[0, 1]`, and `x[0, :2]`, which is no key."""
    match index:
        case ast.Tuple(elts=[ast.Constant(value=int(first)), *rest]) if first == 0 and rest:
            known = all(isinstance(one, ast.Slice) or _is_place(one) for one in rest)
            return known and not isinstance(first, bool) and (of_array or any(isinstance(o, ast.Slice) for o in rest))
    return False


def _is_place(node: ast.expr) -> bool:
    """Whether an index is a number, `...` or `None`, which cannot be an array of places."""
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is ... or type(node.value) is int
    return _is_number(node)


def _is_behind_first(index: ast.expr) -> bool:
    """Whether a subscript keeps the first axis of one array, and all that it takes is behind: `x[:, 0]`."""
    match index:
        case ast.Tuple(elts=[ast.Slice(lower=None, upper=None, step=None), _, *_]):
            return all(isinstance(one, ast.Slice | ast.Constant) or _is_number(one) for one in index.elts)
    return False


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def _is_scalar_here(it: Interpreter, node: ast.expr, frame: Frame) -> bool:
    """Whether what is done with `x[0]` works on one number only, so that x is one array with a number a device."""
    parent = frame.module.table.parents.get(node)
    match parent:
        case ast.Call(func=func, args=[argument]) if argument is node:
            value = it.resolver.value(func, frame.module)
            return isinstance(value, External) and value.name in SCALARS
        case ast.Attribute(attr="item"):
            return True
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=[*_, ast.Constant(value=str(spec))])):
            return spec.endswith(NUMBER_SPECS)
    return False


def is_fetched(resolver: Resolver, node: ast.expr, module: Module) -> bool:
    """Whether a value is copied to the host where it stands."""
    parent = module.table.parents.get(node)
    match parent:
        case ast.Call(func=func, args=[argument, *_]) if argument is node:
            value = resolver.value(func, module)
            return isinstance(value, External) and value.name in FETCHES
        case ast.Attribute(attr="item"):
            return True
        case ast.FormattedValue():
            return True
    return False


def is_converted(resolver: Resolver, node: ast.expr, module: Module) -> bool:
    """Whether a value is made a number of Python's, an array of NumPy's, or a part of either, where it stands."""
    match module.table.parents.get(node):
        case ast.BinOp() | ast.UnaryOp():
            return True
        case ast.Call(func=func):
            value = resolver.value(func, module)
            return is_fetched(resolver, node, module) and value != External("builtins.round")
        case ast.FormattedValue(conversion=conversion):
            return conversion == -1
    return is_fetched(resolver, node, module)


def record(
    it: Interpreter, kind: Kind, node: ast.expr, operand: ast.expr, group: Group, form: str, frame: Frame
) -> None:
    """Notes an operation; one that stands in code which also runs on devices keeps its arrays stacked."""
    known = it.operations.ops.get(node)
    if known is not None:
        it.changed |= known.group.unify(group)
    else:
        it.operations.ops[node] = Op(
            kind, frame.module, node, operand, group, form, is_fetched(it.resolver, node, frame.module)
        )
        it.changed = True
    if frame.function is not None and frame.function.node in it.bodies.device:
        reason = Stacked.MAP_STAYS.reason(
            "is stacked or unstacked in a function that is also called inside a mapped function"
        )
        it.changed |= group.block(Blocker(reason, frame.module, node))
    if not it.editable(frame.module):
        group.block(
            Blocker(
                Stacked.NOT_VISIBLE.reason(f"is stacked or unstacked in {_why_kept(it, frame.module)}"),
                frame.module,
                node,
            )
        )


def _why_kept(it: Interpreter, module: Module) -> str:
    """What kind of file it is in which nothing can change."""
    if module.path not in it.reachable.given:
        return "a file that is not among the paths given, or that cannot be rewritten"
    if not module.runs_in_order:
        return "a notebook whose cells last ran out of order"
    return "a file that does not import jax"


def make(
    it: Interpreter, kind: Kind, value: Abstract, node: ast.expr, operand: ast.expr, form: str, frame: Frame
) -> Abstract:
    """A stacked array made from one that is not."""
    if isinstance(value, Nothing) and not isinstance(operand, ast.Constant) and (value.none or not it.final):
        return NOTHING  # in the end, what nobody knows is no stacked array
    beside = Blocker(
        Stacked.READ_ON_HOST.reason("is stacked by code that also receives arrays with a device axis"),
        frame.module,
        node,
    )
    if is_tracked(value):
        it.operations.twice.add(node)
        it.block_all([value], Stacked.READ_ON_HOST.reason("gets a second device axis"), node, frame.module)
        if (known := it.operations.ops.get(node)) is not None:
            it.changed |= known.group.block(beside)
        return PLAIN
    group = it.joined_group(kind, node)
    it.note_record(node, _class_of(it, value))
    record(it, kind, node, operand, group, form, frame)
    op = it.operations.ops[node]
    op.numpys = Numpys.NO if form in (OBSERVED, PRESUMED) else numpys.made(it, node, frame.module)
    if node in it.operations.twice:
        it.changed |= group.block(beside)
    written = form in ("reshape", "sizes", "product", "wider", LEADING, PATTERN) or "numpy." in form
    leaf = written or form in CONSTANTS or made_arrays.makes_array(it.resolver, operand, frame.module)
    viewed = kind == "split" or form in ("numpy.broadcast_to", "wider")
    if viewed and is_written(it, operand, frame.module):
        it.operations.views[node] = group
    if form in ("tree", "each") and isinstance(value, Tup):
        apart = kind == "replicate" and not value.names and node not in it.operations.made_whole and _has_parts(operand)
        if not apart:
            it.changed |= group.flatten()
        groups = [group.field(str(i)) if apart else group for i in range(len(value.parts))]
        pairs = zip(value.parts, groups, strict=True)
        return Tup(tuple(p if isinstance(p, Nothing) else Ref(c, numpys=op.numpys) for p, c in pairs), value.names)
    it.operations.made_whole.add(node)
    shape = OF_ARRAYS if made_arrays.holds_arrays(it.resolver, operand, frame.module) else None
    made = Ref(group, shape, leaf=leaf, numpys=op.numpys)
    has_parts = any(name.isdigit() for name in group.find().fields)
    if kind != "replicate" or has_parts or not is_object(made, node, operand, frame.module):
        it.changed |= group.flatten()
    return made


def _class_of(it: Interpreter, value: Abstract) -> Class | None:
    """The class that a tree of arrays is of, and not of one that derives from it."""
    cls = value.cls if isinstance(value, Plain | Obj) else None
    return cls if cls is not None and not class_index.descendants(it, cls) else None


def _can_be_apart(value: Tup, operand: ast.expr) -> bool:
    """Whether each part of a tuple that is written out can be read by itself."""
    shown = isinstance(operand, ast.Tuple) and len(operand.elts) == len(value.parts) and _has_parts(operand)
    return shown and not value.names and len(value.parts) > 1


def _by_entries(it: Interpreter, value: Abstract, node: ast.expr, operand: ast.expr, form: str) -> Group | None:
    """The entries of a dictionary of results whose first slices are taken; None where other trees may stand there."""
    whole = it.operations.taken_whole
    if node in whole:
        return None
    if form in ("tree", "fetched") and isinstance(value, Dct) and _has_entries(value, operand):
        each = it.joined_group("first", node)
        entries = {f'{ENTRY}"{name}"]': part for name, part in value.box.fields.items()}
        if {*each.find().fields} in (set(), {*entries}):
            for name, part in entries.items():
                own = it.group_of(part)
                it.changed |= own is not None and each.field(name).unify(own)
            return each
    whole.add(node)
    known = it.operations.ops.get(node)
    if known is not None and any(name.startswith(ENTRY) for name in known.group.find().fields):
        it.changed |= known.group.flatten()
    return None


def _has_entries(value: Dct, operand: ast.expr) -> bool:
    """Whether each entry of a dictionary of results can be read by itself."""
    arrays = [*value.box.fields.values()]
    alone = isinstance(value.box.element, Nothing) and len(arrays) > 1 and all(isinstance(one, Ref) for one in arrays)
    return alone and isinstance(operand, ast.Name) and value.box.is_results


def _has_parts(operand: ast.expr) -> bool:
    """Whether an operation on a tuple can be written as one on each of its parts."""
    if isinstance(operand, ast.Tuple):
        return not any(isinstance(part, ast.Starred) for part in operand.elts)
    return isinstance(operand, ast.Name)


def is_object(value: Ref, node: ast.expr, operand: ast.expr, module: Module) -> bool:
    """Whether a value may be an object with fields that each can be written: its operand, or the result, has a name."""
    while isinstance(operand, ast.Attribute):
        operand = operand.value
    return not value.is_array and (isinstance(operand, ast.Name) or _is_named(node, module))


def _is_named(node: ast.expr, module: Module) -> bool:
    """Whether an expression is all that a name is assigned, by a statement that has its lines for itself."""
    statement = module.table.parents.get(node)
    if not isinstance(statement, ast.Assign) or [type(target) for target in statement.targets] != [ast.Name]:
        return False
    before = module.lines[statement.lineno - 1].encode()[: statement.col_offset]
    after = module.lines[(statement.end_lineno or 0) - 1].encode()[statement.end_col_offset :]
    return statement.value is node and not before.strip() and not after.strip()


def first(it: Interpreter, value: Abstract, node: ast.expr, operand: ast.expr, form: str, frame: Frame) -> Abstract:
    """Device 0's slice of every array in a value."""
    return _apart(it, "first", value, node, operand, form, frame)


def merge(it: Interpreter, value: Abstract, node: ast.expr, operand: ast.expr, form: str, frame: Frame) -> Abstract:
    """The slices of all devices put one after the other."""
    return _apart(it, "merge", value, node, operand, form, frame)


def _apart(
    it: Interpreter, kind: Kind, value: Abstract, node: ast.expr, operand: ast.expr, form: str, frame: Frame
) -> Abstract:
    example = kind == "first" and numpys.is_example(it, value, node, frame)
    if not example and not numpys.keeps_type(it, value, "is taken apart", node, frame, operand):
        return PLAIN
    if isinstance(value, Nothing) or (is_empty(value) and not it.final):
        return NOTHING
    if not is_tracked(value):
        it.operations.plain_ops.add(node)
        for inner in _taken_apart_in(it, operand, frame.module) if kind == "first" else ():
            it.changed |= inner.group.block(
                Blocker(Stacked.READ_ON_HOST.reason("is unstacked twice"), frame.module, node)
            )
        known = it.operations.ops.get(node)
        if known is not None:
            known.group.block(
                Blocker(
                    _ALSO_PLAIN,
                    frame.module,
                    node,
                )
            )
        return PLAIN
    if leaves_plain(value) or node in it.operations.plain_ops or node in it.operations.plain_indices:
        it.block_all(
            [value],
            _ALSO_PLAIN,
            node,
            frame.module,
        )
        return PLAIN
    if kind == "first" and form in ("tree", "fetched") and isinstance(value, Tup) and _can_be_apart(value, operand):
        each = it.joined_group(kind, node)
        for index, part in enumerate(value.parts):
            own = it.group_of(part)
            it.changed |= own is not None and each.field(str(index)).unify(own)
        return _taken(it, kind, value, node, operand, each, form, frame)
    apart = _by_entries(it, value, node, operand, form) if kind == "first" else None
    if apart is not None:
        return _taken(it, kind, value, node, operand, apart, form, frame)
    group = it.group_of(value)
    assert group is not None
    if kind != "first" or not (isinstance(value, Ref) and is_object(value, node, operand, frame.module)):
        it.changed |= group.flatten()
    return _taken(it, kind, value, node, operand, group, form, frame)


def _taken(
    it: Interpreter,
    kind: Kind,
    value: Abstract,
    node: ast.expr,
    operand: ast.expr,
    group: Group,
    form: str,
    frame: Frame,
) -> Abstract:
    record(it, kind, node, operand, group, form, frame)
    op = it.operations.ops[node]
    op.sorts |= has_own_order(value)
    op.numpys = max(op.numpys, numpys_in([value]))
    return Tup(tuple(PLAIN for _ in value.parts), value.names) if isinstance(value, Tup) else PLAIN


def _sources(it: Interpreter, operand: ast.expr, module: Module) -> Iterator[tuple[ast.AST, Sequence[Binding]]]:
    """The nodes of an operand and of all that its names are assigned, with the bindings of each name."""
    pending, seen = [operand], set()
    while pending:
        for node in ast.walk(pending.pop()):
            bindings: Sequence[Binding] = ()
            if isinstance(node, ast.Name) and node.id not in seen and node in module.table.scope_of:
                seen.add(node.id)
                bindings = it.resolver.bindings(node.id, module.table.scope_of[node])
                pending += [b.value for b in bindings if b.value is not None]
            yield node, bindings


def _taken_apart_in(it: Interpreter, operand: ast.expr, module: Module) -> list[Op]:
    """The operations that an operand comes from: flax's unreplicate looks at how an array lies on the devices."""
    nodes = (node for node, _ in _sources(it, operand, module))
    return [
        it.operations.ops[node]
        for node in nodes
        if node in it.operations.ops and it.operations.ops[node].kind == "first"
    ]


def slices_in(it: Interpreter, operand: ast.expr, module: Module) -> list[Op]:
    """The operations whose results an operand may be made of; all of them where it is made of what is not followed."""
    for node, bindings in _sources(it, operand, module):
        elsewhere = isinstance(node, ast.Attribute) and not isinstance(it.resolver.value(node, module), External)
        if elsewhere or any(b.value is None and b.kind not in NAMINGS for b in bindings):
            return [op for op in it.operations.ops.values() if op.kind == "first"]
    return _taken_apart_in(it, operand, module)


def keeps_place(it: Interpreter, op: Op) -> bool:
    """Whether a stacked array lies where that lies which it is made of, rather than with a slice on each device."""
    made = it.idioms.external(op.node.func, op.module) if isinstance(op.node, ast.Call) else ""
    return op.kind in ("replicate", "split") and made not in REPLICATES and op.form not in (OBSERVED, PRESUMED)


def may_look_at_place(it: Interpreter, op: Op) -> bool:
    """Whether an operation may look at how an array lies on the devices, as flax's unreplicate does."""
    return op.kind == "first" and isinstance(op.node, ast.Call) and _may_be_flaxs(it, op.node, op.module, set())


def _may_be_flaxs(it: Interpreter, call: ast.Call, module: Module, seen: set[ast.AST]) -> bool:
    """Whether a call may be one of flax's unreplicate, or of a function of the project that calls it."""
    given = call.args[:1] if it.idioms.external(call.func, module) in ANY_TREE_MAPS else []
    every = (value for called in (call.func, *given) for value in it.resolver.values(called, module))
    return any(_may_run_flaxs(it, value, seen) for value in every)


def _may_run_flaxs(it: Interpreter, value: Value, seen: set[ast.AST]) -> bool:
    """Whether a call of a value may be one of flax's unreplicate, or call it; a partial runs what it is given, too."""
    match value:
        case External(name=name):
            return name == UNREPLICATE
        case Partial(callee=callee, arguments=arguments):
            given = (one for argument in arguments for one in it.resolver.argument_values(argument))
            return any(_may_run_flaxs(it, one, seen) for one in (callee, *given))
        case Function(node=node, module=module) if node not in seen:
            seen.add(node)
            return any(_may_be_flaxs(it, n, module, seen) for n in ast.walk(node) if isinstance(n, ast.Call))
    return not isinstance(value, Function)


def is_on_one_device(it: Interpreter, op: Op) -> bool:
    """Whether a slice of a stacked array certainly lies on one device; `x[0]` lies on all of them."""
    return isinstance(op.node, ast.Call) and it.idioms.external(op.node.func, op.module) == UNREPLICATE


def rows(it: Interpreter, node: ast.expr, frame: Frame, form: str = "", operand: ast.expr | None = None) -> Abstract:
    """Arrays with one unrelated slice for each device: they stay stacked, and show how many devices there are."""
    group = it.joined_group("rows", node)
    record(it, "rows", node, operand or node, group, form, frame)
    return Ref(group, leaf=True)


def put(it: Interpreter, value: Abstract, node: ast.expr, operand: ast.expr, frame: Frame) -> Abstract:
    """The same arrays, whose slices have been put on the devices."""
    if isinstance(value, Nothing) or (is_empty(value) and not it.final):
        return NOTHING
    known = it.operations.ops.get(node)
    if not is_tracked(value):
        it.operations.plain_ops.add(node)
        if known is not None:
            it.changed |= known.group.block(
                Blocker(Stacked.MIXED.reason("is put on the devices in one call with other values"), frame.module, node)
            )
        return PLAIN
    if leaves_plain(value) or node in it.operations.plain_ops:
        it.block_all(
            [value],
            Stacked.MIXED.reason("is put on the devices in one call with arrays that are not stacked"),
            node,
            frame.module,
        )
        return PLAIN
    group = it.group_of(value)
    assert group is not None
    it.changed |= group.flatten()
    record(it, "identity", node, operand, group, "tree", frame)
    return (
        replace(value, numpys=Numpys.NO)
        if isinstance(value, Ref) and numpys.made(it, node, frame.module) is Numpys.NO
        else value
    )


def apply(it: Interpreter, idiom: Idiom, value: Abstract, node: ast.expr, frame: Frame) -> Abstract:
    """What an idiom makes of the value of its operand."""
    if idiom.kind in ("replicate", "split"):
        return make(it, idiom.kind, value, node, idiom.operand, idiom.form, frame)
    if idiom.kind == "identity":
        if idiom.form == OF_ARRAY and not (isinstance(value, Ref) and value.is_array):
            it.block_all(
                [value],
                Stacked.READ_ON_HOST.reason("is iterated over where it may be a tuple or a list as well as an array"),
                node,
                frame.module,
            )
            return NOTHING if isinstance(value, Nothing) else PLAIN
        return put(it, value, node, idiom.operand, frame)
    return _apart(it, idiom.kind, value, node, idiom.operand, idiom.form, frame)
