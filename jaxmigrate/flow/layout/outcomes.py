"""Flags that decide whether a program maps: a function is followed once for each outcome of those that it asks.

`if use_pmap: state = replicate(state)` at the top of a trainer and `step = pmap(f) if use_pmap else jit(f)` below hold
together or not at all. Followed at once, the state would be stacked or not, whatever the step is.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product

from jaxmigrate.flow.conditions import constants
from jaxmigrate.flow.layout import object_flags, several_devices
from jaxmigrate.flow.layout.buffers import is_written
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kept_flags import (
    bound_in_classes,
    class_values,
    is_own,
    is_said_to_be,
    is_self,
    is_truth_of_class,
    is_unchanging,
    reflects,
    stored,
    stores_of,
)
from jaxmigrate.flow.layout.kinds import COUNTS
from jaxmigrate.flow.layout.model import Assumed, Context, Flag, Frame, Given
from jaxmigrate.flow.layout.values import Abstract
from jaxmigrate.flow.map_prefilter import MAPS
from jaxmigrate.program.attribute_stores import stored_value
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.remade_objects import remakes_objects
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, Scope, walk
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import External, Function
from jaxmigrate.records import record

MOST_FLAGS = 2  # of a function, which is followed twice as often for each
STACKING = named("replicates", "splits", "unreplicates", "first", "first-fetched", "prefetches")
DECIDED = MAPS | {name.rpartition(".")[2] for name in STACKING}
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.NotEq: ast.Eq,
    ast.IsNot: ast.Is,
    ast.LtE: ast.Gt,
    ast.Lt: ast.GtE,
}
SIGNS: dict[type[ast.cmpop], str] = {ast.Eq: "==", ast.Is: "is", ast.Gt: ">", ast.GtE: ">="}
COMPARING = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
BOOL = frozenset({"bool"})
SET = (
    ast.BoolOp | ast.IfExp | ast.Attribute | ast.Name | ast.Subscript
)  # what a flag is set to that is no new container
TRUTHS = frozenset(External(f"builtins.{name}") for name in ("bool", "isinstance", "callable"))
FLAG = re.compile(r"pmap|multi|distribut|parallel|replicat|shard|tpu|gpu|^(use|is|do|enable|should)_|(^|_)(on|off)$")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def runs(it: Interpreter, unit: Module | Function, context: Context | None) -> Iterator[Assumed]:
    """The outcomes for which a body is followed, each by itself; those without maps first."""
    node, module = (unit.tree, unit) if isinstance(unit, Module) else (unit.node, unit.module)
    if node not in _deciding(it):
        _deciding(it)[node] = [] if isinstance(node, ast.Lambda) else _flags(it, node, module)
    told = it.bodies.told.get((unit.node, context), {}) if isinstance(unit, Function) and context is not None else {}
    flags, fixed = _deciding(it)[node], frozenset[tuple[Flag, bool]]()
    if isinstance(unit, Function) and (kept := object_flags.of_method(it, unit, reader := _reader(it))) is not None:
        flags = [kept, *(flag for flag in flags if not _is_same(it, flag, kept, unit, reader))][:MOST_FLAGS]
        fixed = it.bodies.of_object.get((unit.node, context), fixed) if context is not None else fixed
        outcome = object_flags.told_outcome(it, unit, told, reader, kept)
        fixed = frozenset({(kept, outcome)}) if outcome is not None else fixed
    flags = [flag for flag in flags if flag.text not in told and flag not in dict(fixed)]
    flags = [flag for flag in flags if several_devices.holds(it, flag.node, flag.module) is None]
    for outcomes in product((False, True), repeat=len(flags)):
        yield fixed.union(zip(flags, outcomes, strict=True))


@once
def _reader(it: Interpreter) -> object_flags.Reader:
    """How the flags of objects are read."""

    def question(test: ast.expr) -> tuple[str, bool] | None:
        asked = _question(test, it)
        return (asked.text, asked.sense) if asked is not None else None

    def flag(test: ast.expr, module: Module) -> Flag | None:
        found = _flag(it, test, module)
        return found[0] if found is not None else None

    def kept(node: ast.expr, module: Module) -> bool:
        asked = (node.left, *node.comparators) if isinstance(node, ast.Compare) else (node,)
        return all(_kept(it, one, module) is not None for one in asked)

    return object_flags.Reader(question, flag, kept, lambda node: _decides(node, it), _atoms)


def _is_same(it: Interpreter, flag: Flag, kept: Flag, function: Function, reader: object_flags.Reader) -> bool:
    """Whether a flag that a method asks is that of its object."""
    asked = object_flags.canonical(it, flag.node, function, reader)
    return asked is not None and asked.is_of(kept)


def holds(it: Interpreter, test: ast.expr, frame: Frame, asking: Function | None = None) -> bool | None:
    """Whether a test holds for the outcomes that a body is followed for; None where they do not say.

    It may stand in another method of the same object, `asking`.
    """
    if not frame.assumed and not frame.told and it.devices is None:
        return None
    if (known := several_devices.holds(it, test, frame.module)) is not None:
        return known
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = holds(it, operand, frame, asking)
            return None if inner is None else not inner
        case ast.BoolOp(op=op, values=values):
            decisive = isinstance(op, ast.Or)
            parts = [holds(it, value, frame, asking) for value in values]
            return decisive if decisive in parts else None if None in parts else not decisive
    if isinstance(test, ast.Name) and test.id in frame.told and _is_own(test, frame):
        return frame.told[test.id]
    if frame.assumed and (of_object := object_flags.answer(it, test, frame, _reader(it), asking)) is not None:
        return of_object
    asked = _question(test, it) if frame.assumed else None
    if asked is None or all(flag.text != asked.text for flag, _ in frame.assumed):
        return None
    found = _flag(it, test, frame.module)
    if found is None:
        return None
    outcome = dict(frame.assumed).get(found[0])
    return None if outcome is None else outcome is found[1]


def lean(it: Interpreter, values: list[Abstract], frame: Frame) -> None:
    """Has arrays of a body that is followed for some outcomes rest on what is assumed of the flags."""
    several_devices.lean(it, values)
    for flag, _ in frame.assumed:
        if not flag.proven:
            says = f"`{flag.text}` does not change while the program runs"
            it.lean(values, Assumption("likely", "apart", "", says, flag.module, flag.node))


def tell(it: Interpreter, function: Function, given: Given, context: Context, frame: Frame) -> None:
    """Notes which parameters a call gives the answer of a flag, or a truth value."""
    names = function.passed_names()
    found: dict[str, bool] = {}
    for place, expression in given.places.items():
        name = place if isinstance(place, str) else names[place] if place < len(names) else ""
        truth = holds(it, expression, frame)
        if isinstance(expression, ast.Constant) and isinstance(expression.value, bool):
            truth = expression.value
        if name and truth is not None and _is_bound_once(it, function, name):
            found[name] = truth
    known = it.bodies.told.setdefault((function.node, context), found)
    if known and known != found:
        it.bodies.told[function.node, context] = {}
        it.bodies.units.get(function.node, set()).discard(context)
        it.changed = True


def _is_bound_once(it: Interpreter, function: Function, name: str) -> bool:
    """Whether a parameter keeps what it is given."""
    bindings = function.module.table.own_scope[function.node].bindings.get(name, ())
    return len(bindings) == 1 and ("variable", function.node, name) not in it.scope.rebound


def _is_own(name: ast.Name, frame: Frame) -> bool:
    """Whether a name is a variable of the function that is followed."""
    scope = frame.module.table.scope_of.get(name)
    return scope is not None and scope.lookup(name.id) is frame.scope


@once
def _deciding(_it: Interpreter) -> dict[ast.AST, list[Flag]]:
    """The flags of functions and modules."""
    return {}


def _flags(it: Interpreter, unit: ast.AST, module: Module) -> list[Flag]:
    """The flags of a body on which it depends whether it maps, those asked most often first."""
    tests = _tests(unit, it.resolver)
    deciders = {node for node in tests if _decides(node, it)}
    if not deciders:  # what is no matter of maps is not looked into
        return []
    asked: Counter[Flag] = Counter()
    deciding: set[Flag] = set()
    for node in tests:
        flags = [found[0] for one in _atoms(node.test) if (found := _flag(it, one, module)) is not None]
        asked.update(flags)
        if node in deciders:
            deciding.update(flags)
    return [flag for flag, _ in asked.most_common() if flag in deciding][:MOST_FLAGS]


@once_each
def _tests(unit: ast.AST, _resolver: Resolver) -> list[ast.If | ast.IfExp]:
    """The tests of a body, without those of functions and classes in it."""
    nodes = [*ast.iter_child_nodes(unit)]
    for node in nodes:  # which grow
        if not isinstance(node, _FUNCTIONS):
            nodes += ast.iter_child_nodes(node)
    return [node for node in nodes if isinstance(node, ast.If | ast.IfExp)]


def _atoms(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _atoms(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _atoms(value)
        case _:
            yield test


def _decides(node: ast.If | ast.IfExp, it: Interpreter) -> bool:
    """Whether one of two ways, and not the other, maps or makes stacked arrays or takes them apart."""
    sides = [[node.body], [node.orelse]] if isinstance(node, ast.IfExp) else [node.body, node.orelse]
    found = [any(_maps(one, it) for statement in side for one in walk(statement)) for side in sides]
    return found[0] is not found[1]


def _maps(node: ast.AST, it: Interpreter) -> bool:
    return node in it.sites or (isinstance(node, ast.Name | ast.Attribute) and last_name(node) in DECIDED)


@record
class _Question:
    """What a test asks, as it is written: `sense` is whether it holds where that does, `operands` what it is about."""

    text: str
    sense: bool
    operands: tuple[ast.expr, ...]


@once_each
def _question(test: ast.expr, it: Interpreter) -> _Question | None:
    """What a test asks; None where that may be no flag. It is asked whenever its body is followed, and read once."""
    if isinstance(test, ast.Name | ast.Attribute):
        return _Question(ast.unparse(test), True, (test,))
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    kind = type(test.ops[0])
    sense, kind = kind not in TURNED, TURNED.get(kind, kind)
    if kind not in SIGNS or (kind is not ast.Is and not COMPARING.isdisjoint(_methods(it))):
        return None
    operands = (test.left, *test.comparators)
    if not any(isinstance(one, ast.Constant | ast.Call) for one in operands):
        return None  # of what is in two lists, say
    return _Question(f" {SIGNS[kind]} ".join(map(ast.unparse, operands)), sense, operands)


def _flag(it: Interpreter, test: ast.expr, module: Module) -> tuple[Flag, bool] | None:
    """What a test asks, and whether it holds where that does; None where the answer may change while a body runs."""
    asked = _question(test, it)
    truth = asked and (True if isinstance(test, ast.Compare) else _is_truth(it, test, module))
    if asked is None or truth is None:
        return None
    kept = [_kept(it, one, module) for one in asked.operands]
    if None in kept or all(isinstance(one, ast.Constant) for one in asked.operands):
        return None
    proven = truth and all(kept) and (not _compares(test) or all(_is_number(it, one, module) for one in asked.operands))
    if not proven and not it.trust.likely:
        return None
    names = [one for one in ast.walk(test) if isinstance(one, ast.Name)]
    holders = (module.table.scope_of[one].lookup(one.id) for one in names)
    owners = tuple(holder.node for holder in holders if holder is not None)
    return Flag(asked.text, owners, bool(proven), module, test), asked.sense


def _is_truth(it: Interpreter, node: ast.expr, module: Module, above: frozenset[object] = frozenset()) -> bool | None:
    """Whether an expression is proven to be a truth value, whose own truth never changes; None where it may be none.

    What has the name of a flag is likely to be one. `above` is what is asked already, which says nothing of itself:
    in `self.use_pmap = config.use_pmap` one attribute hangs on others of its name.
    """
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()):
            return True
        case ast.Call(func=ast.Name() as function) if function in module.table.scope_of:
            return True if it.resolver.value(function, module) in TRUTHS else None
        case ast.Attribute(attr=name):
            if not all(map(is_truth_of_class, class_values(it, name))):
                return None
            stores = stores_of(it, node, module, stored(it).get(name, [])) if name not in above else []
            values, inside = [(stored_value(one, where), where) for one, where in stores], above | {name}
            if values and all(value is not None and _is_truth(it, value, where, inside) for value, where in values):
                return True
            return False if FLAG.search(name.lower()) else None
        case ast.Name():
            binding = _binding(it, node, module)
            if binding is None or binding in above:
                return None
            if binding.kind == "param":
                return True if is_said_to_be(binding, BOOL, bool) else False if _is_named_flag(node, module) else None
            truth = _is_truth(it, binding.value, module, above | {binding}) if binding.value is not None else None
            named = truth is None and _holds_no_container(binding.value) and _is_named_flag(node, module)
            return False if named else truth
    return None


def _is_named_flag(node: ast.Name, module: Module) -> bool:
    """Whether a variable is called as a flag is, and nothing is done with it that a truth value does not have."""
    scope = module.table.scope_of[node].lookup(node.id)
    if FLAG.search(node.id.lower()) is None or scope is None:
        return False
    for use in module.table.named.get(node.id, ()):
        above = module.table.parents.get(use)
        taken_apart = isinstance(above, ast.Attribute | ast.Subscript) and above.value is use
        if taken_apart and module.table.scope_of[use].lookup(node.id) is scope:
            return False
    return True


def _holds_no_container(value: ast.expr | None) -> bool:
    """Whether what is assigned is written as flags are put together, and nothing that is made there."""
    match value:
        case ast.BoolOp(values=parts):
            return all(map(_holds_no_container, parts))
        case ast.IfExp(body=body, orelse=orelse):
            return _holds_no_container(body) and _holds_no_container(orelse)
    return isinstance(value, ast.Attribute | ast.Name | ast.Subscript | ast.Compare | ast.Constant | ast.UnaryOp)


def _kept(it: Interpreter, node: ast.expr, module: Module) -> bool | None:
    """Whether an expression is proven to give the same each time; None where it may not."""
    match node:
        case ast.Constant():
            return True
        case ast.Name():
            binding = _binding(it, node, module)
            if binding is None or is_written(it, node, module):
                return None
            return not isinstance(binding.value, ast.Attribute)
        case ast.Attribute(value=ast.Name() | ast.Attribute() as owner):
            inner, stores = _kept(it, owner, module), stored(it).get(node.attr, [])
            set_later = any(not _makes(one, where) for one, where in stores)
            remade = is_self(owner) and remakes_objects(it.resolver)
            if inner is None or set_later or remade or node.attr in _methods(it) or is_written(it, node, module):
                return None
            own = is_self(owner) and len(stores) == 1
            return own and is_own(it, node, stores[0][0], module, stores[0][1]) and not reflects(it)
        case ast.Call(keywords=[]):
            return True if _counts(it, node, module) else None
    return None


def _compares(test: ast.expr) -> bool:
    """Whether a test reads the values of its operands, which may change in place, and not only which they are."""
    return isinstance(test, ast.Compare) and not isinstance(test.ops[0], ast.Is | ast.IsNot)


def _is_number(it: Interpreter, node: ast.expr, module: Module, above: frozenset[str] = frozenset()) -> bool:
    """Whether an operand is a number or a text: of an attribute what the `__init__` sets it to.

    An attribute that is set to others of its name, `above`, says nothing of itself.
    """
    if isinstance(node, ast.Attribute):
        stores = [(stored_value(target, where), where) for target, where in stored(it).get(node.attr, [])]
        inside = above | {node.attr}
        return (
            node.attr not in above
            and bool(stores)
            and all(value is not None and _is_number(it, value, where, inside) for value, where in stores)
        )
    binding = _binding(it, node, module) if isinstance(node, ast.Name) else None
    if isinstance(node, ast.Name) and constants(it.resolver, node, module):
        return True
    return is_unchanging(it, node, binding, module)


def _counts(it: Interpreter, call: ast.Call, module: Module) -> bool:
    """Whether a call counts devices: `jax.device_count()`, `len(jax.devices())`."""
    value = it.resolver.value(call.func, module) if call.func in module.table.scope_of else None
    name = value.name if isinstance(value, External) else ""
    match call.args:
        case []:
            return name in COUNTS
        case [ast.Call(args=[], keywords=[]) as inner]:
            listed = it.resolver.value(inner.func, module) if inner.func in module.table.scope_of else None
            return name == "builtins.len" and listed in (External("jax.devices"), External("jax.local_devices"))
    return False


def _binding(it: Interpreter, name: ast.Name, module: Module) -> Binding | None:
    """The one binding of a variable, which nothing makes anew while a body runs."""
    scope = module.table.scope_of.get(name)
    holder: Scope | None = scope.lookup(name.id) if scope is not None else None
    bindings = holder.bindings[name.id] if holder is not None else []
    if holder is None or holder.kind not in ("function", "module") or len(bindings) != 1:
        return None
    key = ("variable", holder.node, name.id)
    if key in it.scope.rebound or (holder.kind == "module" and name.id in it.scope.of_modules):
        return None
    only = bindings[0]
    if only.kind not in ("param", "assign") or only.path:
        return None
    above = module.table.parents.get(only.node)
    while above is not None and above is not holder.node:
        if isinstance(above, ast.For | ast.AsyncFor | ast.While):
            return None
        above = module.table.parents.get(above)
    return only


def _makes(target: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is set by the `__init__` of its object, once."""
    function = module.table.function_of(target)
    own = is_self(target.value)
    parent = module.table.parents.get(module.table.parents.get(target, target))
    return own and getattr(function, "name", "") == "__init__" and parent is function


@once
def _methods(it: Interpreter) -> frozenset[str]:
    """The methods of the program's classes, of which some are read as attributes are, and others compare."""
    found = bound_in_classes(it).items()
    return frozenset(name for name, each in found if any(one.kind == "def" for one in each))
