"""What the attributes of values are: of objects, trees of arrays, containers, classes, modules and libraries."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import partial

from jaxmigrate.flow.layout import (
    accessors,
    class_index,
    classes,
    devices,
    hidden_methods,
    loaded_modules,
    methods,
    module_variables,
    numpys,
    object_flags,
    outcomes,
    read_only_copies,
    sizes,
    tree_methods,
)
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.hidden_methods import Reads
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, blocker_at, given_of
from jaxmigrate.flow.layout.objects import MAKES_ANOTHER
from jaxmigrate.flow.layout.one_array import ARRAY_ATTRIBUTES, SAME_FOR_BOTH
from jaxmigrate.flow.layout.values import (
    NOTHING,
    PLAIN,
    Abstract,
    Dct,
    Ext,
    Func,
    Method,
    Mod,
    Nothing,
    Obj,
    Plain,
    Ref,
    Seq,
    Site,
    Stage,
    Super,
    Tup,
    Unknown,
    entry_of,
    func,
)
from jaxmigrate.program.combined import canonical
from jaxmigrate.program.functions import is_static
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Class, Function, Instance

OF_NUMBERS = frozenset({"T", "flat", "mT"})  # of an array
OF_SHAPE = frozenset({"nbytes", "ndim", "shape", "size"})
OF_COMPILED = frozenset({"as_text", "cost_analysis", "memory_analysis"})  # which says nothing of arrays
DEEPEST_NAME = 10  # of a library: `while isinstance(f, partial): f = f.func` goes down for ever
SAME = named("same-function") | {
    "staticmethod",
    "classmethod",
}  # as they are also written where nothing says whose they are
PROPERTIES = named("property") | {"property"}


def attribute_of(it: Interpreter, owner: Abstract, name: str, node: ast.Attribute, frame: Frame) -> Abstract:
    """An attribute of a value."""
    it.looks.loads.add(node)
    it.looks.run_reads.add(node)
    if name in sizes.READ and not isinstance(owner, Ref | Nothing):
        sizes.read_plain(it, node, frame)
    match owner:
        case Func(items=items):
            result: Abstract = NOTHING
            for item in items:
                result = it.join(result, _item_attribute(it, item, name, node, frame), node, frame.module)
            return result
        case Obj(cls=cls):
            return of_object(it, cls, name, node, frame)
        case Ref():
            return _tree_attribute(it, owner, name, node, frame)
        case Tup(parts=parts, names=names) if name in names:
            return parts[names.index(name)]
        case Seq() | Dct() | Tup():
            before = NOTHING if _is_called(node, frame.module) else it.looks.receivers.get(node, NOTHING)
            it.looks.receivers[node] = it.join(before, owner, node, frame.module)
            return func(Method(node))
        case Nothing():
            return NOTHING
        case Plain(cls=Class() as cls) if (found := _instance_attribute(it, cls, name, node)) is not None:
            return found
        case Plain() if (
            _is_called(node, frame.module) and tree_methods.called(it, owner, node, frame.module) is not None
        ):
            it.looks.receivers[node] = owner
            return func(Method(node))
    it.looks.loads.discard(node)  # any object: an attribute of that name somewhere may be this one
    return PLAIN


def _item_attribute(it: Interpreter, item: object, name: str, node: ast.Attribute, frame: Frame) -> Abstract:
    match item:
        case Ext(name=dotted):
            found = canonical(f"{dotted}.{name}")
            if found == "sys.modules":
                loaded_modules.read(it, node, frame)
            return func(Ext(found)) if found.count(".") < DEEPEST_NAME else PLAIN
        case Mod(module=module):
            return it.settle(module_variables.module_attribute(it, module, name), node, frame.module)
        case Obj(cls=cls):
            return of_object(it, cls, name, node, frame)
        case Super(cls=cls):
            return _above(it, cls, name, node, frame)
        case Class() if name == "create" and (made := _instance_attribute(it, item, name, node)) is not None:
            return made
        case Class():
            return of_object(it, item, name, node, frame, of_class=True)
        case Site() | Stage() if (staged := _of_mapped(item, name)) is not None:
            return staged
        case Unknown():
            it.looks.loads.discard(node)  # as for any object
            return PLAIN
    if name == "__self__" and isinstance(item, Function) and isinstance(item.receiver, Instance):
        it.block_all(
            [Obj(item.receiver.cls)], Stacked.REACHABLE.reason("is reached through __self__"), node, frame.module
        )
    if not isinstance(item, Function) or name not in ("__name__", "__doc__"):
        reason = Stacked.READ_ON_HOST.reason(f"has its `.{name}` read")
        it.block_all([func(item)], reason, node, frame.module)  # type: ignore[arg-type]
    return PLAIN


def _of_mapped(item: Site | Stage, name: str) -> Abstract | None:
    """What leads from a mapped function to its compiled self, and what says nothing of arrays; None for all else."""
    match item:
        case Site(node=site) if name == "lower":
            return func(Stage(site, "lower"))
        case Stage(node=site, name="lowered") if name == "compile":
            return func(Stage(site, "compile"))
        case Site() | Stage(name="lowered") if name in OF_COMPILED:
            return PLAIN
    return None


def of_object(
    it: Interpreter, cls: Class, name: str, node: ast.expr, frame: Frame, *, of_class: bool = False
) -> Abstract:
    """An attribute of an object of a class, or of one that derives from it; or of the class itself."""
    own = not of_class and bool(frame.assumed) and object_flags.is_of_receiver(node, frame)
    decides = partial(_decided, it, frame) if own else None
    reads = _of_class_itself(it, cls, name) if of_class else hidden_methods.reads(it, cls, name, node, decides)
    given: Abstract = NOTHING if reads is Reads.METHOD else object_flags.load(it, cls, name, node, frame)
    holders = class_index.holders(it, cls, name) if reads is not Reads.ATTRIBUTE else ()
    found = (_of_class(it, holder, cls, name, node, frame, of_class) for holder in holders)
    result = _with_methods(it, given, found, node, frame)
    if result is None:
        return PLAIN
    if name in ("__dict__", "__getstate__", "__reduce__"):
        it.block_all(
            [Obj(cls)],
            Stacked.READ_ON_HOST.reason(f"is read through {name}", "is read through an attribute"),
            node,
            frame.module,
        )
        return PLAIN
    if isinstance(result, Nothing) and not class_index.may_have(it, cls, name):
        return PLAIN
    it.note_bound(result)
    result = it.join(result, it.load(("attribute of any", name)), node, frame.module)
    unseen = isinstance(result, Func) and _may_be_other(it, cls, name, given, of_class=of_class)
    return it.join(result, PLAIN, node, frame.module) if unseen else result


def _may_be_other(it: Interpreter, cls: Class, name: str, given: Abstract, *, of_class: bool) -> bool:
    """Whether an attribute that holds a function may hold another one, that nothing in sight sets.

    A tree of arrays may be made with other functions than those that its class says.
    """
    if isinstance(given, Func) and classes.is_pytree(it, cls):
        return True
    owner = cls if of_class else Instance(cls)
    return it.resolver.attributes.is_set_unseen(owner, name, methods=isinstance(given, Nothing))


def _decided(it: Interpreter, frame: Frame, test: ast.expr, constructor: Function) -> bool | None:
    """How a test of a constructor turned out for the object whose method is followed."""
    return outcomes.holds(it, test, frame, constructor)


def _of_class_itself(it: Interpreter, cls: Class, name: str) -> Reads:
    """What an attribute of a class gives: what its objects are given by that name is not the class's."""
    given = it.load(("class attribute", it.root(cls), name))
    scopes = [one.module.table.own_scope[one.node] for one in class_index.holders(it, cls, name)]
    kinds = [binding.kind for scope in scopes for binding in scope.bindings.get(name, ())]
    of_methods = isinstance(given, Nothing) and kinds and all(kind == "def" for kind in kinds)
    return Reads.METHOD if of_methods else Reads.EITHER


def _with_methods(
    it: Interpreter, given: Abstract, found: Iterable[Abstract | None], node: ast.expr, frame: Frame
) -> Abstract | None:
    """What an attribute is given, or any of the methods found by its name; None where one of these is not followed."""
    for methods_of_one in found:
        if methods_of_one is None:
            return None
        given = it.join(given, methods_of_one, node, frame.module)
    return given


def _of_class(
    it: Interpreter, holder: Class, cls: Class, name: str, node: ast.expr, frame: Frame, of_class: bool
) -> Abstract | None:
    """The methods of a name that a class defines, for objects of another that derives from it; None if not followed."""
    result: Abstract = NOTHING
    for binding in holder.module.table.own_scope[holder.node].bindings.get(name, []):
        if binding.kind != "def" or not isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not of_class and accessors.is_followed_setter(it, binding, holder):
            continue
        if any(d in it.sites for d in binding.node.decorator_list):
            found = methods.attribute(it, cls, binding.node, holder.module, of_class)
            if found is None:
                return None
        else:
            receiver = None if is_static(binding.node) else Instance(cls)
            found = _method(it, Function(holder.module, binding.node, receiver), node, frame)
        result = it.join(result, found, node, frame.module)
    return result


def _above(it: Interpreter, cls: Class, name: str, node: ast.Attribute, frame: Frame) -> Abstract:
    """An attribute of `super()` in a method of a class: a method of what it derives from."""
    lines = [it.resolver.lineage(one) for one in (cls, *class_index.descendants(it, cls))]
    holders = class_index.holders_above(it, cls, name)
    if not holders or any(classes.foreign_base(it, one) for line in lines for one in line):
        it.looks.loads.discard(node)  # as for any object
        return PLAIN
    given = object_flags.load(it, cls, name, node, frame)
    found = (_of_class(it, holder, cls, name, node, frame, of_class=False) for holder in holders)
    result = _with_methods(it, given, found, node, frame)
    return PLAIN if result is None else result


def _instance_attribute(it: Interpreter, cls: Class, name: str, node: ast.Attribute) -> Abstract | None:
    """A method of a tree of arrays that is not stacked; None for anything else."""
    for holder in it.resolver.lineage(cls):
        for binding in holder.module.table.own_scope[holder.node].bindings.get(name, []):
            plain = isinstance(binding.node, ast.FunctionDef) and not binding.node.decorator_list
            return func(Function(holder.module, binding.node, Instance(cls))) if plain else None  # type: ignore[arg-type]
    if name not in MAKES_ANOTHER or class_index.descendants(it, cls):
        return None
    it.looks.receivers[node] = Plain(cls)
    return func(Method(node))


def _method(it: Interpreter, method: Function, node: ast.expr, frame: Frame) -> Abstract:
    assert not isinstance(method.node, ast.Lambda)
    names = {it.idioms.called(d, method.module) or ast.unparse(d) for d in method.node.decorator_list}
    names -= SAME
    if names & PROPERTIES:
        return it.call_function(method, given_of([]), node, frame)
    if names:
        it.escape(
            method,
            blocker_at(Stacked.REACHABLE.reason("is changed by a decorator that fix cannot follow"), node, frame),
        )
        if not all(devices.is_of_host(it, one, method.module) for one in method.node.decorator_list):
            devices.enter_device(it, method)
        return PLAIN
    return func(method)


def _is_called(node: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is called where it stands."""
    parent = module.table.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _tree_attribute(it: Interpreter, owner: Ref, name: str, node: ast.Attribute, frame: Frame) -> Abstract:
    """A field of a tree of arrays; of an array what does not depend on its leading axis."""
    if _is_called(node, frame.module):
        it.looks.receivers[node] = owner
        return func(Method(node))
    if tree_methods.named(it, name):
        it.looks.loads.discard(node)  # a method that is stored or passed on
    if name == "dtype" and not numpys.keeps_type(it, owner, "has .dtype read", node, frame):
        return PLAIN
    if name in SAME_FOR_BOTH or sizes.read(it, owner, node, frame):
        return PLAIN
    if name in ARRAY_ATTRIBUTES or class_index.is_property(it, name):
        read = Stacked.READ_ON_HOST.reason(f"has .{name} read")
        seen = name in OF_NUMBERS or (name in OF_SHAPE and it.trust.likely)  # a donated array has its shape still
        read_only_copies.keep_read(it, [(owner, node.value if seen else None)], read, node, frame)
        return PLAIN
    shape = entry_of(owner.shape, name)
    return owner.part(shape, group=owner.group if owner.is_array else owner.group.field(name))
