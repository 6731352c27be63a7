"""What assigning a value to a name, an attribute, an item or several of them does."""

from __future__ import annotations

import ast
from typing import TypeGuard

from jaxmigrate.flow.layout import (
    accessors,
    frames,
    known_keys,
    monkeypatching,
    object_flags,
    observing,
    phased_attributes,
    projections,
    transient_attributes,
)
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import PLAIN, Abstract, Dct, Func, Mod, Nothing, Obj, Ref, Seq
from jaxmigrate.program.values import Class


def assign(it: Interpreter, target: ast.expr, value: Abstract, node: ast.AST, frame: Frame) -> None:
    """Binds a target to a value."""
    match target:
        case ast.Name(id=name):
            frames.assign_name(it, name, observing.bound(it, value, target, frame), target, frame)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element, part in zip(elements, projections.unpack(it, value, elements, node, frame), strict=True):
                assign(it, element, part, node, frame)
        case ast.Starred(value=inner):
            assign(it, inner, value, node, frame)
        case ast.Attribute(value=owner, attr=name):
            value = observing.bound(it, value, target, frame)
            holder = it.evaluate(owner, frame)
            if isinstance(holder, Obj | Func):
                it.looks.known_targets.add(target)
            if frame.env is not None:
                if isinstance(holder, Obj) and transient_attributes.is_passing(it, target, frame.module, frame):
                    transient_attributes.lean(it, target, value, frame)
                    frame.env[transient_attributes.name_of(target)] = value
                    return
                frame.env.pop(transient_attributes.name_of(target), None)
            _assign_attribute(it, holder, target, value, node, frame)
            monkeypatching.note_stored(it, holder, name, value, node, frame)
        case ast.Subscript(value=owner, slice=index):
            holder = it.evaluate(owner, frame)
            text = known_keys.text_of(it.evaluate(index, frame))
            key = ast.copy_location(ast.Constant(text), index) if text is not None else index
            _assign_item(it, holder, key, value, node, frame)


def _assign_attribute(
    it: Interpreter, owner: Abstract, target: ast.Attribute, value: Abstract, node: ast.AST, frame: Frame
) -> None:
    name = target.attr
    match owner:
        case Obj(cls=cls):
            accessors.set_of(it, cls, name, value, target, frame)
            if phased_attributes.assigned(it, cls, target, value, node, frame.module):
                return
            object_flags.store(it, cls, target, value, node, frame)
        case Func(items=items):
            for item in items:
                if isinstance(item, Mod):
                    it.store(("variable", item.module.tree, name), value, node, frame.module)
                elif isinstance(item, Class):
                    it.set_attribute(item, name, value, node, frame.module)
                    it.store(("class attribute", it.root(item), name), PLAIN, node, frame.module)
                elif isinstance(item, Obj):
                    _assign_attribute(it, item, target, value, node, frame)
                else:
                    it.block_all(
                        [value],
                        Stacked.REACHABLE.reason("is stored in an attribute that fix cannot follow"),
                        node,
                        frame.module,
                    )
        case _:
            if isinstance(value, Func):  # which any object may have by that name
                it.store(("attribute of any", name), value, node, frame.module)
            it.block_all(
                [owner, value],
                Stacked.REACHABLE.reason("is stored in an attribute that fix cannot follow"),
                node,
                frame.module,
            )


def _assign_item(
    it: Interpreter, holder: Abstract, index: ast.expr, value: Abstract, node: ast.AST, frame: Frame
) -> None:
    match holder, index:
        case Dct(box=box), ast.Constant(value=str(key)):
            it.fill(box, value, node, frame.module, key)
        case ((Seq(box=box) | Dct(box=box)), _):
            it.fill(box, value, node, frame.module)
            if isinstance(holder, Dct):
                for name in list(box.fields):
                    it.fill(box, value, node, frame.module, name)
        case Ref(), ast.Constant(value=str()) if _is_array_as(value, holder):
            it.changed |= holder.group.flatten()  # a dictionary, as its key says
            it.changed |= value.group.flatten()
            it.changed |= holder.group.unify(value.group)
            _in_containers(it, holder, value, node, frame)
        case Ref(), ast.Constant(value=str()) if isinstance(value, Nothing) and not value.none and not it.final:
            pass
        case Nothing(), _:
            pass
        case _:
            it.block_all(
                [holder, value],
                Stacked.REACHABLE.reason("is stored as an item of an object that fix cannot follow"),
                node,
                frame.module,
            )


def _in_containers(it: Interpreter, tree: Ref, value: Ref, node: ast.AST, frame: Frame) -> None:
    """What is put into a tree may be in any of the containers that are such a tree in another place."""
    root = tree.group.find()
    if not root.has_own_order:
        root.has_own_order = it.changed = True
    for box in [box for box in it.boxes.values() if box.tree is not None and box.tree.find() is root]:
        it.fill(box, value, node, frame.module)


def _is_array_as(value: Abstract, holder: Ref) -> TypeGuard[Ref]:
    """Whether a value is one array, and of NumPy's only where those of the dictionary may be that it is put into."""
    return isinstance(value, Ref) and value.is_array and value.numpys <= holder.numpys
