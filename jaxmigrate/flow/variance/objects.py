"""Objects and variables: attributes and entries read, and what storing something changes."""
# ruff: noqa: ARG001 - handlers of one table take the same arguments

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.receivers import PROPERTIES, overriding
from jaxmigrate.flow.variance import escaping_callbacks
from jaxmigrate.flow.variance.callees import Closure, Method
from jaxmigrate.flow.variance.frames import Arguments, Frame
from jaxmigrate.flow.variance.lattice import (
    DATA,
    EQUAL,
    GIVEN,
    KEPT,
    MOST_CHOICES,
    OTHERS,
    OWN_LENGTH,
    SHAPED,
    AbstractValue,
    Choice,
    Kind,
    Level,
    element,
    held_in,
    join_all,
    list_of,
    made_at,
    mapped,
    replace,
    union,
    unsure,
    whole,
    with_fields,
)
from jaxmigrate.flow.variance.library import FUNCTIONS_OF, NAMED_TUPLES, is_changed
from jaxmigrate.flow.variance.run import KEY, OUTSIDE, OUTSIDE_KEY, Run, at_least, stored_of, weaker
from jaxmigrate.program.functions import is_abstract
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    ModuleValue,
    Partial,
    Unknown,
    Value,
)

SHAPES = frozenset({"shape", "ndim", "dtype", "weak_type", "aval", "sharding"})
UPDATED_AT = External("jax.numpy.ndarray.at")
TREE_STRUCTURE = External("jax.tree_util.PyTreeDef")  # of one that `tree_flatten` gives


STORING = frozenset({"__setattr__", "__setitem__"})


def own_methods(run: Run, value: AbstractValue, names: frozenset[str]) -> list[Function]:
    """The methods of some names that an object's class, which is in sight, has of its own."""
    found = (run.resolver.attribute(one, name) for one in _instances(run, value) for name in sorted(names))
    return [one for values in found for one in values if isinstance(one, Function)]


def _is_property(run: Run, value: AbstractValue, name: str | None) -> bool:
    """Whether storing an attribute may run a method of a class in sight."""
    found = (v for one in _instances(run, value) for v in run.resolver.attribute(one, name)) if name else ()
    return any(isinstance(v, Application) and not _is_field(v) for v in found)


def _instances(run: Run, value: AbstractValue) -> list[Instance]:
    """What a value is an object of, as far as its class is in sight: made in the body, where that is not known."""
    return [value.static] if isinstance(value.static, Instance) else run.made_of(value)


def _is_field(value: Application) -> bool:
    return isinstance(value.callee, External) and value.callee.name.startswith(("dataclasses.", "flax.struct."))


def operate(run: Run, values: Sequence[AbstractValue], names: frozenset[str]) -> None:
    """Python runs methods of objects, which may store something in these: an operator's, a context's."""
    for value in values:
        if any(escaping_callbacks.stores(method.node) for method in own_methods(run, value, names)):
            run.change_within(value, stored_of(values))


# Reading


def field(value: AbstractValue, name: str) -> AbstractValue:
    """An entry of an object or dictionary by its name."""
    if value.fields is not None:
        found = value.fields.get(name, value.fields.get(OTHERS))
        if found is not None:
            return found if found.places else replace(found, places=value.places)
    return whole(value)


def attribute(run: Run, value: AbstractValue, name: str) -> AbstractValue:
    """What `value.name` is."""
    if value.fields is not None and name in value.fields:
        return value.fields[name]
    if name in SHAPES and not _is_instance(value):
        kind: Kind = "array" if name == "ndim" else "unknown"
        shared = name == "shape" and value.level == Level.NO and (GIVEN in value.marks or value.reduced)
        own = name == "shape" and (value.level == Level.YES or DATA in value.marks)
        marks = frozenset([SHAPED] if shared else [OWN_LENGTH] if own else [])
        return replace(EQUAL if not value.host else unsure(EQUAL), kind=kind, marks=marks)
    if name == "__class__":
        return run.kept(EQUAL, name)
    if name == "at":
        return replace(union([value]), kind="array", static=UPDATED_AT)
    if name == "size" and value.kind == "array":
        return AbstractValue(kind="array", host=value.host, level=Level.MAY if value.host else Level.NO)
    if name in ("T", "mT", "real", "imag") and value.kind in ("array", "tree"):
        return replace(union([value]), kind="array")
    known = _known(run, value, name)
    if known is not None:
        outside = run.mode.lenient and known.level == Level.NO and known.callee is None
        if outside and isinstance(value.static, Instance | ModuleValue) and KEY.search(name):
            return replace(known, marks=known.marks | {GIVEN, f"{KEPT}{OUTSIDE_KEY}"})  # given, as a parameter is
        return known
    inner = field(value, name)
    if _is_of_class(run, value, name):
        kept = run.kept(inner, (value.static, name))
        inner = replace(join_all([kept, inner]), places=kept.places | inner.places)
    if run.spilled == Level.MAY and isinstance(value.static, Class | Function | Instance) and not _has(value, name):
        inner = unsure(inner)  # what was stored may have been stored there
    return replace(inner, callee=Method(value, name), places=inner.places | value.places)


def _is_of_class(run: Run, value: AbstractValue, name: str) -> bool:
    """Whether an attribute may be one that all objects of a class share, and that may be changed in place."""
    if not isinstance(value.static, Instance) or value.fields is None or name in value.fields:
        return False
    if run.resolver.attribute(value.static, name) != (UNKNOWN,):
        return False
    scopes = (one.module.table.own_scope[one.node] for one in run.resolver.lineage(value.static.cls))
    made = [binding.value for scope in scopes for binding in scope.bindings.get(name, ())]
    return any(not isinstance(one, ast.Call) or last_name(one.func) != "field" for one in made)


def _has(value: AbstractValue, name: str) -> bool:
    """Whether an entry is an object's own, and not its class's."""
    return value.fields is not None and (name in value.fields or OTHERS in value.fields)


def is_named_tuple(run: Run, cls: Class) -> bool:
    """Whether objects of a class are tuples of its fields."""
    return any(isinstance(v, External) and v.name in NAMED_TUPLES for v in run.resolver.bases(cls))


def in_order(run: Run, value: AbstractValue) -> AbstractValue:
    """A tuple's elements one by one, also where it is a named one."""
    if value.parts is not None or value.fields is None or not isinstance(value.static, Instance):
        return value
    names = run.resolver.declared_fields(value.static.cls)
    if not is_named_tuple(run, value.static.cls) or set(names) != set(value.fields):
        return value
    return replace(value, parts=tuple(value.fields[name] for name in names), fields=None, static=None)


def _is_instance(value: AbstractValue) -> bool:
    return isinstance(value.static, Instance | ModuleValue | External | Class)


def _known(run: Run, value: AbstractValue, name: str) -> AbstractValue | None:
    """An attribute of a module, a class or an object of a class of the project."""
    owner = value.static
    if isinstance(owner, External | ModuleValue | Class):
        values = run.resolver.attribute(owner, name)
        match values:
            case (Function() as function,) if function.receiver is not None:
                return AbstractValue(held_in([value]), callee=Closure(function, receiver=value), host=value.host)
        return _of_values(run, owner, name, values)
    if not isinstance(owner, Instance):
        return _of_functions(run, owner, name) if isinstance(owner, Application) and not run.mode.lenient else None
    values = run.resolver.attribute(owner, name)
    if run.mode.lenient and 1 < len(values) <= MOST_CHOICES and all(isinstance(v, Function | Partial) for v in values):
        return run.kept(AbstractValue(callee=run.any_of(values, (owner, name))), (owner, name))
    if len(values) != 1:
        return None
    if owner.call is None and (value.fields is None or OTHERS in value.fields) and run.overrides(owner, name):
        return None
    match values[0]:
        case Function() as function if function.receiver is not None:
            return _method(run, value, owner, function)
        case Application(callee=External(name=decorator), arguments=(one,)) if decorator in PROPERTIES:
            getter = run.resolver.argument_values(one)
            if len(getter) == 1 and isinstance(getter[0], Function):
                made = AbstractValue(callee=Closure(getter[0], receiver=value))
                return run_call(run, made, Arguments())
            return None
        case Application(callee=External(), arguments=(one,)) if isinstance(one.value, Function):
            return None
    if value.fields is not None and OTHERS in value.fields:
        outside = _of_values(run, owner, name, values) if run.spilled is not None else None
        return join_all([outside, field(value, name)]) if outside is not None else None
    return _of_values(run, owner, name, values)


def _of_functions(run: Run, owner: Application, name: str) -> AbstractValue | None:
    """A function of the project's in a library's tuple of functions, such as `GradientTransformation(init, update)`."""
    maker = owner.callee
    if isinstance(maker, Function):
        match run.resolver.returned(maker) if not isinstance(maker.node, ast.Lambda) else ():
            case (Application(callee=External()) as made,):
                return _of_functions(run, made, name)
    if not isinstance(maker, External) or maker.name not in FUNCTIONS_OF or is_changed(run.resolver, maker.name):
        return None
    names = FUNCTIONS_OF[maker.name].split(":")
    if name not in names:
        return None
    positional = [one for one in owner.arguments if one.keyword is None]
    given = [one for one in owner.arguments if one.keyword == name] or positional[names.index(name) :][:1]
    values = run.resolver.argument_values(given[0]) if given else ()
    if len(values) != 1 or not isinstance(values[0], Function):
        return None
    return _of_values(run, owner, name, values)


def _method(run: Run, value: AbstractValue, owner: Instance, method: Function) -> AbstractValue | None:
    """A method of an object; where that is no proof, of one that its class leaves to others, what these have.

    None for too many of them.
    """
    if run.mode.proves or not isinstance(method.node, ast.FunctionDef) or not is_abstract(method.node):
        callee = Closure(method, receiver=value)
        return AbstractValue(held_in([value]), callee=callee, host=value.host, places=value.places)
    found = overriding(owner.cls, method, run.resolver) if owner.call is None else ()
    if not 0 < len(found) <= MOST_CHOICES:
        return None
    ways = tuple(Closure(one, receiver=replace(value, static=one.receiver)) for one in found)
    any_of = ways[0] if len(ways) == 1 else Choice(ways)
    return AbstractValue(held_in([value]), callee=any_of, host=value.host, places=value.places)


def _of_values(run: Run, owner: Value, name: str, values: tuple[Value, ...]) -> AbstractValue | None:
    if len(values) == 1 and isinstance(values[0], Member | Unknown) and isinstance(owner, Instance):
        values = _held(run, owner, name)
    if len(values) != 1:
        return None
    if run.spilled is not None and isinstance(values[0], Constant):
        return EQUAL if run.spilled == Level.NO else unsure(EQUAL)  # what was stored may have been stored there
    if isinstance(values[0], Constant) and isinstance(values[0].value, tuple):
        return run.kept(AbstractValue(static=values[0]), (owner, name))  # a list, perhaps
    hosts = run.hosts
    cls = owner.cls if isinstance(owner, Instance) else owner if isinstance(owner, Class) else None
    module = owner.module if isinstance(owner, ModuleValue) else None

    def differs() -> bool:
        if cls is not None:
            return hosts.attribute_differs(cls, name)
        return module is not None and hosts.name_differs(module, name)

    return run.static(values[0], (owner, name), differs)


def _held(run: Run, owner: Instance, name: str) -> tuple[Value, ...]:
    """For rules, what a field of an object is that a class only declares: what is given for it wherever one is made."""
    given = run.shared.callers.held(owner.cls, name) if run.mode.lenient else ()
    return (Member(owner, name),) if given and UNKNOWN not in given else ()


def run_call(run: Run, function: AbstractValue, arguments: Arguments) -> AbstractValue:
    """Calls something that no call expression calls."""
    return run.apply(function, arguments, None)


# Storing


def bind_name(run: Run, name: str, value: AbstractValue, frame: Frame) -> None:
    """Assigns a variable of a frame."""
    for watched in frame.watching:
        before = [v for v in (watched.get(name), frame.names.get(name)) if v is not None]
        watched[name] = join_all([*before, value])
    frame.names[name] = value


def assign(run: Run, target: ast.expr, value: AbstractValue, frame: Frame) -> None:
    """Binds the names of an assignment's target, or stores into the object that it names."""
    match target:
        case ast.Name(id=name):
            _assign_name(run, target, name, run.settle(value), frame)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for one, part in zip(elements, _unpacked(in_order(run, value), elements), strict=True):
                assign(run, one, part, frame)
        case ast.Starred(value=inner):
            assign(run, inner, value, frame)
        case ast.Subscript(value=owner, slice=index):
            key = run.evaluate(index, frame)
            store(run, owner, _key(key), at_least(value, key.level), frame)
        case ast.Attribute(value=owner, attr=name):
            store(run, owner, name, value, frame)


def _assign_name(run: Run, node: ast.Name, name: str, value: AbstractValue, frame: Frame) -> None:
    scope = frame.module.table.scope_of.get(node)
    if scope is not None and name in scope.outer_names:
        holder = frame.parent.holder(name) if frame.parent is not None else None
        if holder is None:
            run.spill(value)
            return
        run.changes += 1
        run.changed.append(None)
        value = join_all([holder.names[name], value])  # whoever reads it may do so before or after
        frame = holder
    bind_name(run, name, value, frame)


def _unpacked(value: AbstractValue, elements: list[ast.expr]) -> list[AbstractValue]:
    stars = [i for i, e in enumerate(elements) if isinstance(e, ast.Starred)]
    if value.parts is None or len(value.parts) < len(elements) - len(stars):
        return [element(value)] * len(elements)
    if not stars:
        return list(value.parts) if len(value.parts) == len(elements) else [element(value)] * len(elements)
    first = stars[0]
    behind = len(elements) - first - 1
    middle = value.parts[first : len(value.parts) - behind]
    return [*value.parts[:first], made_at(list_of(middle), elements[first]), *value.parts[len(value.parts) - behind :]]


def _key(index: AbstractValue) -> str | None:
    return index.static.value if isinstance(index.static, Constant) and isinstance(index.static.value, str) else None


def store(run: Run, owner: ast.expr, key: str | None, value: AbstractValue, frame: Frame) -> None:
    """`owner[key] = value` or `owner.key = value`: precise for what the expression names, doubtful for all aliases."""
    before = run.evaluate(owner, frame)
    value = run.settle(value)
    if own_methods(run, before, STORING) or _is_property(run, before, key):
        after = weaker(before, value)
        run.change_within(before, replace(value, places=value.places | before.places))
    elif key is not None and (before.fields is not None or before.places or before.kind != "array"):
        after = with_fields(before, {key: value})
    else:
        after = weaker(before, value)
    replace_object(run, owner, before, after, value, frame)


def replace_object(
    run: Run, owner: ast.expr, before: AbstractValue, after: AbstractValue, stored: AbstractValue, frame: Frame
) -> None:
    """An object is changed in place: the expression that names it now gives `after`, its aliases are doubtful."""
    run.change(before, stored)
    if isinstance(before.static, Class | Function):
        run.spill(stored)
    if run.doubt:
        after = weaker(after, stored)
    match owner:
        case ast.Name(id=name):
            holder = frame.holder(name)
            if holder is not None:
                bind_name(run, name, after, holder)
            else:
                run.spill(stored)
        case ast.Attribute(value=outer, attr=name):
            _change_around(run, before, outer, stored, frame)
            _store_inner(run, outer, name, after, frame)
        case ast.Subscript(value=outer, slice=index):
            _change_around(run, before, outer, stored, frame)
            _store_inner(run, outer, _key(run.evaluate(index, frame)), after, frame)
        case _:
            if not before.places:
                run.spill(stored)


def _change_around(run: Run, before: AbstractValue, outer: ast.expr, stored: AbstractValue, frame: Frame) -> None:
    """What holds an object counts as changed where it is not known where the object itself was made."""
    if not before.origins:
        run.change(run.evaluate(outer, frame), stored)


def _store_inner(run: Run, outer: ast.expr, key: str | None, inner: AbstractValue, frame: Frame) -> None:
    holder = run.evaluate(outer, frame)
    after = with_fields(holder, {key: inner}) if key is not None else weaker(holder, inner)
    if isinstance(outer, ast.Name):
        found = frame.holder(outer.id)
        if found is not None:
            bind_name(run, outer.id, after, found)
        else:
            run.spill(inner)
    elif isinstance(outer, ast.Attribute):
        _store_inner(run, outer.value, outer.attr, after, frame)
    elif isinstance(outer, ast.Subscript):
        _store_inner(run, outer.value, _key(run.evaluate(outer.slice, frame)), after, frame)


def placed(value: AbstractValue, place: object) -> AbstractValue:
    """An object that was made somewhere, with everything in it made there too."""
    return mapped(value, lambda v: v if v.kind == "array" else replace(v, places=v.places | {place}))


__all__ = ["OUTSIDE", "assign", "attribute", "bind_name", "field", "placed", "replace_object", "store"]
