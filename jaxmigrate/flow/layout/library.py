"""What functions of Python, NumPy, JAX and flax do to stacked arrays that host code hands them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from jaxmigrate.flow.layout import (
    attributes,
    fetched_rows,
    host_arithmetic,
    host_optimizers,
    implicit_methods,
    key_rows,
    known_keys,
    methods,
    module_variables,
    numpys,
    operations,
    padding,
    projections,
    read_only_copies,
    reductions,
    sizes,
    trusting,
    unfollowed_calls,
)
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.functions import only_parameter
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import (
    CONSTANTS,
    COUNTINGS,
    FETCHED_FIRSTS,
    FIRSTS,
    KEY_SPLITS,
    METRICS,
    OF_LIBRARIES,
    PREFETCHES,
    SPLITS,
    STACKS,
    UNCHANGED,
    WITHOUT_LOOKING,
    Idiom,
)
from jaxmigrate.flow.layout.model import Frame, Given, blocker_at, given_of
from jaxmigrate.flow.layout.numbers import is_number
from jaxmigrate.flow.layout.shape_texts import is_zero
from jaxmigrate.flow.layout.values import (
    NOTHING,
    PLAIN,
    Abstract,
    Dct,
    Ext,
    Func,
    Mod,
    Nothing,
    Numpys,
    Obj,
    Plain,
    Ref,
    Seq,
    Super,
    Tup,
    func,
    groups_in,
    is_tracked,
    leaves_plain,
    numpys_in,
)
from jaxmigrate.program.functions import is_classmethod, is_static
from jaxmigrate.program.library import by_position, named, starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.trees import ANY_TREE_MAPS, TREE_LEAVES
from jaxmigrate.program.values import Application, Class, External, Function

MAY_UNWRAP = re.compile(r"wrapped__|\bunwrap\b")

ITERATORS = named("iterates")
GOES_THROUGH = named("goes-through")
RESTORES = named("restores")
FIELDWISE = named("fieldwise")
COPIES = named("array-of", "copy")
CASTS = named("casts")
LIKE = named("like")
MERGES = named("merges")
THAWS = named("thaws")
FETCHES = named("fetches")
FROZEN = named("frozen")
NAMED_AFTER = named("named-after")
ADDS_TREES = named("adds-trees")
REGROUPS = named("regroups")
GIVES_ITS_LIKE = FIELDWISE | COPIES | THAWS | MERGES | REGROUPS
ITEM_GETTER = External("operator.itemgetter")
DEVICE_LIBRARIES = starting("on-device")
DEVICE_EXCEPTIONS = starting("not-on-device")


def runs_on_devices(name: str) -> bool:
    """Whether functions given to this run where JAX traces them."""
    return name.startswith(DEVICE_LIBRARIES) and not name.startswith(DEVICE_EXCEPTIONS)


def iterates(name: str) -> bool:
    """Whether a function of a library does no more with what it is given than to iterate over it, in sight."""
    return name in ITERATORS | GOES_THROUGH or name == "builtins.next"


def call(it: Interpreter, name: str, given: Given, node: ast.expr, frame: Frame) -> Abstract | None:  # noqa: C901
    """The value of a call of something outside the project; None where that is not known here."""
    values = given.positional
    if name in WITHOUT_LOOKING or (name in NAMED_AFTER and stays_wrapped(it, given.everything())):
        return PLAIN
    if name in ANY_TREE_MAPS:
        return tree_map(it, given, node, frame)
    if not isinstance(node, ast.Call) or given.open:
        return None
    given = _by_position(given, node, name)
    values = given.positional
    if name == padding.PADS:
        return padding.wrap(it, given, node, frame)
    if name in OF_LIBRARIES and (idiom := it.idioms.of_library(node, name, frame.module)) is not None:
        return operations.apply(it, idiom, values[0], node, frame)
    if name in FETCHES and values and (rows := fetched_rows.fetched(it, values[0], node, frame)) is not None:
        return rows
    if name in FETCHES:
        it.lending.on_host.update(group for value in values for group in groups_in(value))
    if name in UNCHANGED and len(values) == 1:
        return numpys.fetched(it, values[0], node, frame) if name in FETCHES else values[0]
    if name in CASTS and len(values) == 2 and not given.named:
        return values[1]
    if name in LIKE and len(values) == 1 and not given.named and isinstance(values[0], Ref):
        it.changed |= values[0].group.flatten()
        return _of_library(name, values[0].part(leaf=True))
    if name in COPIES and values and isinstance(values[0], Ref) and not any(map(is_tracked, values[1:])):
        it.changed |= values[0].group.flatten()
        return _of_library(name, values[0])
    if name in COPIES | STACKS and reductions.is_reduced_at_once(it, node, frame.module) and _is_list(given):
        return values[0]
    if name in KEY_SPLITS and len(values) == 1 and not is_tracked(values[0]) and it.idioms.some is None:
        return operations.rows(it, node, frame)
    if _gives_rows(it, name, node, frame) and not any(map(is_tracked, values)):
        return operations.rows(it, node, frame)
    if it.idioms.puts_slices(node, frame.module) and it.idioms.some is None and not is_tracked(values[0]):
        return operations.rows(it, node, frame, operations.SLICES, given.places[0])
    if name in CONSTANTS and not any(map(is_tracked, given.everything())):
        return constant(it, name, given, node, frame)
    if name in METRICS and len(values) == 1:
        return metrics(it, values[0], node, given.places[0], frame)
    if name in PREFETCHES and values and not it.final and isinstance(values[0], Nothing):
        return NOTHING
    if name in PREFETCHES and values and isinstance(values[0], Seq):
        return prefetch(it, values[0], node, given.places[0], frame)
    if name in GIVES_ITS_LIKE and values and isinstance(values[0], Nothing) and not it.final:
        return NOTHING
    if name in RESTORES and (target := [*values[1:2], *filter(None, [given.named.get("target")])]):
        return target[0] if isinstance(target[0], Plain) and not any(map(is_tracked, given.everything())) else None
    if name in THAWS and len(values) == 1 and isinstance(values[0], Ref):
        return values[0]
    if name in REGROUPS and len(values) == 1 and isinstance(values[0], Ref) and "is_leaf" not in given.named:
        it.changed |= values[0].group.flatten()
        return values[0].part()
    if name in FROZEN and given.named and not values:
        entries = [*given.named.values()]
        waits = any(isinstance(entry, Nothing) for entry in entries) and not it.final
        return NOTHING if waits else projections.one_group(it, entries, node, frame)
    if name in MERGES and len(values) == 2 and not given.named:
        return projections.merged(it, values[0], values[1], node, frame)
    if name in FIELDWISE and len(values) == 1 and isinstance(values[0], Ref):
        return projections.with_fields(it, values[0], given.named, node, frame)
    if name in TREE_LEAVES and len(values) == 1 and isinstance(values[0], Ref):
        it.changed |= values[0].group.flatten()
        box = it.box(node, frame.context)
        it.fill(box, values[0].part(leaf=True), node, frame.module)
        return Seq(box)
    if name in ADDS_TREES and len(values) == 2 and not given.named:
        return host_optimizers.applied(it, values, node, frame)
    if (made := host_arithmetic.function(it, name, given, node, frame)) is not None:
        return made
    if name == "builtins.getattr" and len(values) == 2 and isinstance(values[0], Obj):
        text = known_keys.text_of(values[1])
        if text is None:
            methods.let_go_of_all(it, values[0].cls, blocker_at(methods.BY_ANY_NAME, node, frame))
            return None
        return attributes.of_object(it, values[0].cls, text, node, frame)
    if name == "builtins.getattr" and values:
        return None if is_tracked(values[0]) else _of_module(it, values[0], node, frame)
    return _of_python(it, name, given, node, frame)


def stays_wrapped(it: Interpreter, given: Sequence[Abstract]) -> bool:
    """Whether functions that others are named after are never reached through these, by `__wrapped__`."""
    texts = (module.text for module in it.modules)
    return all(isinstance(one, Func) for one in given) and not any(map(MAY_UNWRAP.search, texts))


def _of_python(  # noqa: C901 - one case a function
    it: Interpreter, name: str, given: Given, node: ast.Call, frame: Frame
) -> Abstract | None:
    values = given.positional
    if name in ITERATORS | {"builtins.sorted"} and len(values) == 1 and not given.named and _is_dictionary(values[0]):
        return PLAIN  # its keys
    if name in ITERATORS and values:
        return _iterator(it, values[0], node, frame)
    match name:
        case "builtins.type" if len(values) > 1:
            return None
        case "builtins.len" if len(values) == 1 and _is_length(it, values[0], node, frame):
            return PLAIN
        case "builtins.type" | "builtins.isinstance" if isinstance(values[0], Ref) and not given.named:
            operations.record(it, "type", node, node.args[0], values[0].group, "", frame)
            return PLAIN
        case "builtins.hasattr" if len(values) == 2 and isinstance(values[0], Obj):
            asked = node.args[1] if len(node.args) == 2 else None
            if not isinstance(asked, ast.Constant) or not isinstance(asked.value, str):
                return None
            attributes.of_object(it, values[0].cls, asked.value, node, frame)  # which runs a property
            return PLAIN
        case "builtins.len" | "builtins.isinstance" | "builtins.type":
            return None if any(isinstance(v, Ref) for v in values) else PLAIN
        case "builtins.next" if values and isinstance(values[0], Obj):
            following = implicit_methods.element(it, values[0], node, frame, following=True)
            if following is None:
                return None
            for default in values[1:]:
                following = it.join(following, default, node, frame.module)
            return following
        case "builtins.next" if values:
            found = projections.element(it, values[0], node, frame)
            for default in values[1:]:
                found = it.join(found, default, node, frame.module)
            return found
        case "builtins.zip" | "itertools.zip_longest":
            parts = [projections.element(it, v, node, frame, given.places.get(i)) for i, v in enumerate(values)]
            return _seq(it, Tup((*parts,)), node, frame)
        case "builtins.enumerate" if values:
            return _seq(
                it, Tup((PLAIN, projections.element(it, values[0], node, frame, given.places.get(0)))), node, frame
            )
        case "builtins.map" if (
            it.idioms.some is None and _is_split(values[:-1]) and isinstance(node.args[0], ast.Name | ast.Attribute)
        ):
            unfollowed_calls.note_callee(it, node.args[0], values[0], "applies")
            one = projections.element(it, values[1], node, frame)
            split = operations.make(it, "split", one, node.args[0], node.args[1], "each", frame)
            return _seq(it, split, node, frame)
        case "builtins.map" if len(values) >= 2:
            elements = [projections.element(it, v, node, frame) for v in values[1:]]
            return _seq(it, it.call_value(values[0], given_of(elements), node.args[0], frame), node, frame)
        case "builtins.filter" if len(values) == 2:
            one = projections.element(it, values[1], node, frame)
            it.call_value(values[0], given_of([one]), node.args[0], frame)
            return _seq(it, one, node, frame)
        case "builtins.dict" | "collections.OrderedDict" if not values:
            box = it.box(node, frame.context)
            for field, value in given.named.items():
                it.fill(box, value, node, frame.module, field)
            return Dct(box)
        case "builtins.dict" | "builtins.list" | "collections.deque" | "collections.defaultdict" if not values:
            return Seq(it.box(node, frame.context))
        case "builtins.super":
            return _super(given, frame)
        case "jaxline.utils.py_prefetch" if values and not any(map(is_tracked, [*values[1:], *given.named.values()])):
            made = it.call_value(values[0], given_of([]), node, frame)
            if isinstance(made, Seq | Tup | Nothing) or is_tracked(made):
                return _seq(it, projections.element(it, made, node, frame), node, frame)
            return PLAIN
        case "itertools.chain":
            box = it.box(node, frame.context)
            for value in values:
                it.fill(box, projections.element(it, value, node, frame), node, frame.module)
            return Seq(box)
    return None


def _of_module(it: Interpreter, owner: Abstract, node: ast.Call, frame: Frame) -> Abstract | None:
    """`getattr(module, "name")` of a module of the project."""
    match owner, node.args[1:]:
        case Func(items=items), [ast.Constant(value=str(name))] if len(items) == 1 and not node.keywords:
            for item in items:
                if isinstance(item, Mod):
                    found = module_variables.module_attribute(it, item.module, name)
                    return it.settle(found, node, frame.module)
    return None


def _is_list(given: Given) -> bool:
    """Whether a call gets a list of stacked arrays, as far as that has been filled, and nothing else."""
    match given.positional:
        case (Seq(box=box),) if not given.named:
            return isinstance(box.element, Ref | Nothing)
    return False


def _is_length(it: Interpreter, value: Abstract, node: ast.Call, frame: Frame) -> bool:
    """Whether the length of a value is the number of devices, of a stacked array."""
    if not isinstance(value, Ref | Nothing):
        sizes.length_of_plain(it, node, frame)
    return sizes.length(it, value, node, frame)


def _is_split(values: Sequence[Abstract]) -> bool:
    """Whether one value is given, and certainly a library's function that splits a batch over all devices."""
    match values:
        case [Func(items=items)]:
            return len(items) == 1 and all(isinstance(one, Ext) and one.name in SPLITS for one in items)
    return False


def _super(given: Given, frame: Frame) -> Abstract | None:
    """`super()` in a method, or the same in the old way; None elsewhere."""
    match given.positional:
        case (Func(items=items), Obj()) if len(items) == 1 and isinstance(cls := next(iter(items)), Class):
            return func(Super(cls))
        case () if frame.function is not None and isinstance(frame.function.node, ast.FunctionDef):
            node = frame.function.node
            owner = frame.module.table.scope_of[node].node
            if isinstance(owner, ast.ClassDef) and not (is_static(node) or is_classmethod(node)):
                return func(Super(Class(frame.module, owner)))
    return None


def _seq(it: Interpreter, value: Abstract, node: ast.expr, frame: Frame) -> Abstract:
    box = it.box(node, frame.context)
    it.fill(box, value, node, frame.module)
    return Seq(box)


def _is_dictionary(value: Abstract) -> bool:
    """Whether a value is certainly a dictionary."""
    return isinstance(value, Dct) or (isinstance(value, Ref) and value.shape is not None and value.shape.kind == "dict")


def _iterator(it: Interpreter, value: Abstract, node: ast.expr, frame: Frame) -> Abstract | None:
    if isinstance(value, Seq):
        return value
    if isinstance(value, Nothing):
        return Seq(it.box(node, frame.context))
    if isinstance(value, Tup):
        return _seq(it, projections.element(it, value, node, frame), node, frame)
    if isinstance(value, Obj):
        one = implicit_methods.element(it, value, node, frame)
        return _seq(it, one, node, frame) if one is not None else None
    return None if is_tracked(value) else PLAIN


def tree_map(it: Interpreter, given: Given, node: ast.expr, frame: Frame) -> Abstract | None:
    """`jax.tree.map(f, tree, ...)`: an idiom, or f run on a leaf."""
    if given.open or len(given.positional) < 2 or not isinstance(node, ast.Call):
        return _map_together(it, given, node, frame)
    function, *trees = given.positional
    unfollowed_calls.note_callee(it, node, function, "applies")
    alone = len(trees) == 1 and not given.named
    mapped = next(iter(function.items)) if isinstance(function, Func) and len(function.items) == 1 else None
    operand = given.places.get(1)  # none where a partial binds the tree itself
    if alone and operand is not None and isinstance(mapped, Function):
        idiom = it.idioms.of_function(mapped) or it.idioms.of_helper(mapped)
        if idiom is not None:
            unfollowed_calls.note_value(it, node, function)
            whole = type(idiom)(idiom.kind, operand, "fetched" if idiom.form == "fetched" else "tree")
            return operations.apply(it, whole, trees[0], node, frame)
        counted = trusting.by_named_count(it, lambda idioms: idioms.of_function(mapped), node, frame)
        if counted is not None:
            unfollowed_calls.note_value(it, node, function)
            result = operations.apply(it, Idiom(counted[0].kind, operand, "tree"), trees[0], node, frame)
            it.lean([result], counted[1])
            return result
    fetches_first = isinstance(mapped, Ext) and mapped.name in FETCHED_FIRSTS
    takes_first = (isinstance(mapped, Ext) and mapped.name in FIRSTS) or _takes_first(it, node, frame)
    if alone and operand is not None and (takes_first or fetches_first):
        return operations.first(it, trees[0], node, operand, "fetched" if fetches_first else "tree", frame)
    if isinstance(mapped, Ext) and mapped.name in FETCHES:
        it.lending.on_host.update(group for tree in trees for group in groups_in(tree))
    if alone and _hands_back(it, mapped):
        tree = _as_tree(it, trees[0], node, frame)
        fetched = isinstance(mapped, Ext) and mapped.name in FETCHES
        return numpys.fetched(it, tree, node, frame) if fetched else tree
    if not any(is_tracked(tree) for tree in trees):
        if isinstance(mapped, Ext):
            return PLAIN
        plain = [NOTHING if isinstance(tree, Nothing) and not it.final else PLAIN for tree in trees]
        result = it.call_value(function, given_of(plain), node, frame)
        if isinstance(result, Nothing) and all(isinstance(t, Nothing) for t in trees):
            return NOTHING
        return _leafless(result) if given.named else _like(trees[0], _leafless(result))  # `is_leaf` ends trees
    if not isinstance(mapped, Function) or given.named:
        return _reduced(it, mapped, trees[0], node, frame) if alone else None
    lent = [read_only_copies.lend(it, tree, given.places.get(i), frame) for i, tree in enumerate(trees, 1)]
    leaves = [_leaf(it, tree, node, frame) for tree in lent]
    result = it.call_value(function, given_of(leaves), node, frame)
    return _like(trees[0], _leafless(result))


def _map_together(it: Interpreter, given: Given, node: ast.expr, frame: Frame) -> Abstract | None:
    """`jax.tree.map(lambda *xs: ..., *trees)` of a list of trees: the function gets a leaf of each."""
    match given.positional:
        case (Func(items=items) as function, tree) if given.star == 1 and not given.named and len(items) == 1:
            mapped = next(iter(items))
        case _:
            return None
    if not isinstance(mapped, Function) or mapped.node.args.vararg is None or mapped.passed_names():
        return None
    leaf = _leaf(it, tree, node, frame)
    result = it.call_value(function, replace(given, positional=(leaf,), sure=0, star=0, places={}), node, frame)
    return _like(tree, _leafless(result))


def _reduced(it: Interpreter, mapped: object, tree: Abstract, node: ast.expr, frame: Frame) -> Abstract | None:
    """`jax.tree.map(np.mean, tree)`: one number of all elements of each array."""
    name = mapped.name if isinstance(mapped, Ext) else ""
    if name not in reductions.EXACT | reductions.MEANS:
        return None
    leaf = _leaf(it, tree, node, frame)
    if not isinstance(leaf, Ref):
        return PLAIN
    made = reductions.reduced(it, name, leaf, node, frame, fetched=name.startswith("numpy."))
    return _like(tree, made) if made is not None else None


def _takes_first(it: Interpreter, node: ast.Call, frame: Frame) -> bool:
    """Whether a call maps `operator.itemgetter(0)` over a tree."""
    values = it.resolver.values(node.args[0], frame.module) if node.args else ()
    getters = [one for one in values if isinstance(one, Application) and one.callee == ITEM_GETTER]
    if not getters or len(getters) != len(values):
        return False
    indices = [one.arguments[0].expression for one in getters if len(one.arguments) == 1]
    return len(indices) == len(getters) and all(one is not None and is_zero(one) for one in indices)


def _like(tree: Abstract, leaf: Abstract) -> Abstract:
    """A tree in the form of another, all of whose leaves are a value."""
    if not isinstance(tree, Tup):
        return leaf
    return Tup(tuple(part if isinstance(part, Nothing) else _like(part, leaf) for part in tree.parts), tree.names)


def _of_library(name: str, value: Ref) -> Ref:
    """Arrays as those of the library whose function gives them."""
    if name.startswith("jax."):
        return replace(value, numpys=Numpys.NO)
    return replace(value, numpys=max(value.numpys, Numpys.FETCHED)) if name.startswith("numpy.") else value


def _leafless(value: Abstract) -> Abstract:
    """A tree whose leaves are a value."""
    return value.part() if isinstance(value, Ref) else value if isinstance(value, Nothing) else _plain(value)


def _plain(value: Abstract) -> Abstract:
    return value if is_tracked(value) else PLAIN


def _leaf(it: Interpreter, tree: Abstract, node: ast.expr, frame: Frame) -> Abstract:
    if not is_tracked(tree):
        return PLAIN
    if leaves_plain(tree):
        it.block_all(
            [tree],
            Stacked.MIXED.reason("is mapped over together with values that are not stacked here"),
            node,
            frame.module,
        )
        return PLAIN
    group = it.group([tree])
    return Ref(group, leaf=True, numpys=numpys_in([tree])) if group is not None else PLAIN


def _as_tree(it: Interpreter, tree: Abstract, node: ast.expr, frame: Frame) -> Abstract:
    if isinstance(tree, Ref) or not is_tracked(tree):
        return tree
    if isinstance(tree, Tup):
        return Tup(tuple(_as_tree(it, part, node, frame) for part in tree.parts), tree.names)
    leaf = _leaf(it, tree, node, frame)
    return leaf.part() if isinstance(leaf, Ref) else PLAIN


def _hands_back(it: Interpreter, mapped: object) -> bool:
    """Whether a function gives back the one array that it is given, as an array of JAX, or cast to another dtype."""
    if isinstance(mapped, Ext):
        return mapped.name in COPIES | UNCHANGED | LIKE
    return isinstance(mapped, Function) and _casts(it, mapped)


def _casts(it: Interpreter, function: Function) -> bool:
    name = only_parameter(function.node)

    def same_as(value: ast.expr | None) -> bool:
        match value:
            case ast.Name(id=read):
                return read == name
            case ast.Call(
                func=ast.Attribute(value=owner, attr="astype"), args=[ast.Name() | ast.Attribute()], keywords=[]
            ):
                return same_as(owner)
            case ast.Call(func=called, args=[one], keywords=[]):
                made = it.idioms.external(called, function.module)
                return made in COPIES and made.startswith("jax.") and same_as(one)
        return False

    if name is None or function.receiver is not None or function.node.args.defaults:
        return False
    if isinstance(function.node, ast.Lambda):
        return same_as(function.node.body)
    *before, last = function.node.body
    if function.node.decorator_list or isinstance(function.node, ast.AsyncFunctionDef):
        return False
    steps = [s.value if isinstance(s, ast.Assign) and _rebinds(s, name) else None for s in before]
    return all(map(same_as, steps)) and isinstance(last, ast.Return) and same_as(last.value)


def _rebinds(statement: ast.Assign, name: str) -> bool:
    """Whether a statement gives a new value to one name."""
    return (
        len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name) and statement.targets[0].id == name
    )


def _by_position(given: Given, node: ast.Call, name: str) -> Given:
    """The arguments of a call of a library's function, the first by position also where it gives them by keyword."""
    call = by_position(node, name)
    if call is node:
        return given
    names = {keyword.value: keyword.arg for keyword in node.keywords}
    moved = [names[one] for one in call.args[len(node.args) :]]
    places: dict[int | str, ast.expr] = {**given.places, **dict[int | str, ast.expr](enumerate(call.args))}
    return Given(
        (*given.positional, *(given.named[one] for one in moved if one is not None)),
        {key: value for key, value in given.named.items() if key not in moved},
        sure=len(call.args),
        places={key: one for key, one in places.items() if key not in moved},
    )


def _gives_rows(it: Interpreter, name: str, node: ast.Call, frame: Frame) -> bool:
    """Whether a call gives an array with a row of its own for each device: keys, numbers, what a list has for each."""
    if name == "jax.random.split":
        return key_rows.splits_for_each(it.idioms, node, frame.module)
    if name in COUNTINGS:
        return len(node.args) == 1 and not node.keywords and it.idioms.is_count(node.args[0], frame.module)
    return name in STACKS and (
        key_rows.listed_for_each(it.idioms, node, frame.module)
        or key_rows.made_one_by_one(it.idioms, node, frame.module)
    )


def constant(it: Interpreter, name: str, given: Given, node: ast.Call, frame: Frame) -> Abstract:
    """`jnp.zeros((n, 3))` and `jnp.full((n,), 0.5)`: the same slice for each device; what fills it is one number."""
    filler: ast.expr = node.func
    if name.endswith(".full"):
        given_one = given.places.get(1) or given.places.get("fill_value")
        if given_one is None or not is_number(given_one, frame.module, it.resolver):
            return PLAIN
        filler = given_one
    idiom = Idiom("replicate", filler, name)
    if it.idioms.repeats_a_constant(node, frame.module):
        return operations.make(it, "replicate", PLAIN, node, filler, name, frame)
    counted = trusting.by_named_count(
        it, lambda idioms: idiom if idioms.repeats_a_constant(node, frame.module) else None, node, frame
    )
    if counted is None:
        return PLAIN
    result = operations.make(it, "replicate", PLAIN, node, filler, name, frame)
    it.lean([result], counted[1])
    return result


def metrics(it: Interpreter, value: Abstract, node: ast.Call, operand: ast.expr, frame: Frame) -> Abstract | None:
    """flax's `get_metrics`: device 0's slice of each step's metrics, stacked on the host."""
    if isinstance(value, Nothing):
        return NOTHING
    if not isinstance(value, Seq) or not is_tracked(value):
        return None if is_tracked(value) else PLAIN
    if leaves_plain(value):
        it.block_all(
            [value],
            Stacked.MIXED.reason("is unstacked (as by `x[0]`) in code that also runs on arrays without a device axis"),
            node,
            frame.module,
        )
        return PLAIN
    group = it.group([value])
    assert group is not None
    operations.record(it, "metrics", node, operand, group, "metrics", frame)
    return PLAIN


def prefetch(it: Interpreter, value: Seq, node: ast.Call, operand: ast.expr, frame: Frame) -> Abstract:
    """flax's `prefetch_to_device`: the same batches, put on the devices ahead of their use."""
    if not is_tracked(value):
        return value
    if leaves_plain(value) or not _prefetches_to_all(it, node, frame.module):
        it.block_all(
            [value], Stacked.NOT_FOLLOWED.reason("is prefetched in a way that fix cannot follow"), node, frame.module
        )
        return value
    group = it.group([value])
    assert group is not None
    operations.record(it, "prefetch", node, operand, group, "prefetch", frame)
    return value


def _prefetches_to_all(it: Interpreter, node: ast.Call, module: Module) -> bool:
    """Whether a call of `prefetch_to_device` names no devices but those that pmap uses."""
    given = passed_by(node, ("iterator", "size", "devices"))
    if "size" not in given or any(isinstance(one, ast.Starred) for one in node.args):
        return False
    devices = given.get("devices")
    is_default = devices is None or (isinstance(devices, ast.Constant) and devices.value is None)
    is_default &= it.idioms.some is None
    return is_default or (isinstance(devices, ast.expr) and it.idioms.is_devices(devices, module))
