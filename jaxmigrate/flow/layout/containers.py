"""Methods of the lists, dictionaries and trees of arrays that host code fills and reads."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import (
    class_index,
    host_arithmetic,
    named_functions,
    operations,
    projections,
    read_only_copies,
    reductions,
    tree_methods,
    trusting,
)
from jaxmigrate.flow.layout.aliases import CHANGES
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.objects import MAKES_ANOTHER, REPLACES
from jaxmigrate.flow.layout.values import (
    NONE,
    NOTHING,
    PLAIN,
    Abstract,
    Dct,
    Func,
    Plain,
    Ref,
    Seq,
    Tup,
    entry_of,
    is_tracked,
)

UNCHANGED = frozenset({"block_until_ready", "copy", "astype"})

CHANGING = CHANGES | {"at", "delete", "discard", "fill", "partition", "popitem", "resize", "setflags"}
OF_BUFFERS = frozenset(  # which say where an array lies, or whether it does
    {
        "addressable_data",
        "block_until_ready",
        "copy_to_host_async",
        "devices",
        "is_deleted",
        "is_ready",
        "on_device_size_in_bytes",
    }
    | {"unsafe_buffer_pointer"}
)


def call_method(it: Interpreter, owner: Abstract, name: str, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """A method of a list, dictionary, tuple or tree of arrays."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
        site = tree_methods.called(it, owner, node.func, frame.module)
        if site is not None:
            return tree_methods.call(it, site, owner, given, node, frame)
    match owner:
        case Seq():
            result = _of_list(it, owner, name, given, node, frame)
        case Dct():
            result = _of_dict(it, owner, name, given, node, frame)
        case Ref():
            result = _of_tree(it, owner, name, given, node, frame)
        case Plain() if name in MAKES_ANOTHER and not any(map(is_tracked, given.everything())):
            functions = [value for value in given.everything() if isinstance(value, Func)]
            it.block_all(functions, named_functions.UNSEEN, node, frame.module)
            result = owner
        case Tup() if name in ("count", "index") and not is_tracked(owner):
            result = PLAIN
        case _:
            result = None
    if result is not None:
        return result
    read = Stacked.READ_ON_HOST.reason(f"has .{name}() called on the host", "has a method called on the host")
    place = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if name in CHANGING | OF_BUFFERS or trusting.KEEPING.match(name) or any(map(is_tracked, given.everything())):
        place = None
    read_only_copies.keep_read(it, [(owner, place)], read, node, frame, exact=name in ("item", "tolist"))
    it.block_all(given.everything(), read, node, frame.module)
    return PLAIN


def _of_list(it: Interpreter, owner: Seq, name: str, given: Given, node: ast.expr, frame: Frame) -> Abstract | None:
    box, values = owner.box, given.positional
    match name, len(values):
        case (("append" | "appendleft" | "put" | "add"), 1):
            it.fill(box, values[0], node, frame.module)
            return NONE
        case "insert", 2:
            it.fill(box, values[1], node, frame.module)
            return NONE
        case "extend", 1:
            it.fill(box, projections.element(it, values[0], node, frame), node, frame.module)
            return NONE
        case (("pop" | "popleft" | "get" | "__next__"), _):
            return projections.held(it, box, box.element, node, frame)
        case (("copy" | "__iter__"), 0):
            return owner
        case (("clear" | "reverse" | "close"), 0):
            return NONE
        case _, 0 if name in reductions.REDUCING and not given.named:  # of an array that is made of a list
            return reductions.reduced(it, reductions.REDUCING[name], owner, node, frame)
    return None


def _all_of(it: Interpreter, owner: Dct, node: ast.expr, frame: Frame) -> Abstract:
    result = owner.box.element
    for value in list(owner.box.fields.values()):
        result = it.join(result, value, node, frame.module)
    return result


def _of_dict(  # noqa: C901 - one case a method
    it: Interpreter, owner: Dct, name: str, given: Given, node: ast.expr, frame: Frame
) -> Abstract | None:
    box, values = owner.box, given.positional
    match name:
        case "keys" | "clear":
            return PLAIN
        case "copy":
            return owner
        case "values":
            made = it.box("values", node)
            it.fill(made, _all_of(it, owner, node, frame), node, frame.module)
            return Seq(made)
        case "items":
            made = it.box("items", node)
            it.fill(made, Tup((PLAIN, _all_of(it, owner, node, frame))), node, frame.module)
            return Seq(made)
        case "get" | "pop" | "setdefault" if values:
            key = node.args[0] if isinstance(node, ast.Call) and node.args else None
            known = isinstance(key, ast.Constant) and isinstance(key.value, str)
            found = box.fields.get(key.value, NOTHING) if known else _all_of(it, owner, node, frame)  # type: ignore[union-attr]
            found = it.join(found, box.element, node, frame.module)
            for default in values[1:]:
                found = it.join(found, default, node, frame.module)
                if name == "setdefault":
                    it.fill(box, default, node, frame.module, key.value if known else None)  # type: ignore[union-attr]
            return projections.held(it, box, found, node, frame)
        case "update":
            for value in values:
                if isinstance(value, Dct):
                    it.fill(box, value.box.element, node, frame.module)
                    for field, one in list(value.box.fields.items()):
                        it.fill(box, one, node, frame.module, field)
                elif is_tracked(value):
                    return None
                else:
                    it.fill(box, PLAIN, node, frame.module)
            for field, one in given.named.items():
                it.fill(box, one, node, frame.module, field)
            return NONE
    return None


def _of_tree(it: Interpreter, owner: Ref, name: str, given: Given, node: ast.expr, frame: Frame) -> Abstract | None:
    if class_index.is_method(it, name) and name not in REPLACES:
        return None
    if name == "copy" and len(given.positional) == 1 and not given.named and not given.open:
        return projections.merged(it, owner, given.positional[0], node, frame)
    if name in UNCHANGED and not any(is_tracked(v) for v in given.everything()):
        return owner
    if name in REPLACES and not given.positional and not given.open:
        owner.group.find().methods.add(name)
        functions = [value for value in given.everything() if isinstance(value, Func)]
        it.block_all(functions, named_functions.UNSEEN, node, frame.module)
        return projections.with_fields(it, owner, given.named, node, frame)
    if isinstance(node, ast.Call) and (made := host_arithmetic.method(it, owner, name, given, node, frame)) is not None:
        return made
    if owner.is_array:
        return None
    match name:
        case "keys":
            return PLAIN
        case "values":
            it.changed |= owner.group.flatten()
            box = it.box("values", node)
            it.fill(box, operations.any_entry(owner), node, frame.module)
            return Seq(box)
        case "items" if not given.positional:
            it.changed |= owner.group.flatten()
            box = it.box("items", node)
            it.fill(box, Tup((PLAIN, operations.any_entry(owner))), node, frame.module)
            return Seq(box)
        case "get" | "pop" if given.positional:
            key = node.args[0] if isinstance(node, ast.Call) and node.args else None
            known = isinstance(key, ast.Constant) and isinstance(key.value, str)
            shape = entry_of(owner.shape, key.value) if known else None  # type: ignore[union-attr]
            it.changed |= owner.group.flatten()
            found: Abstract = owner.part(shape)
            for default in given.positional[1:]:
                found = it.join(found, default, node, frame.module)
            return found
    return None
