"""Attributes that hold a training state now once and now for each device: `self.state = replicate(self.state)`.

A trainer replicates its state before it trains, and takes one slice of it again to save it. As a global array the state
looks the same all the time, so what matters is which of the two the program means where it reads the attribute. The
order of the statements says so to a reader, and to `likely`, which lists each such place: after an assignment of one
copy, before the statement that replicates it, and in methods that are called nowhere but at such places.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.layout import object_flags, transient_attributes
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.values import Abstract, Dct, Nothing, Plain, Ref, Seq, Tup, is_tracked
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class

DEEPEST = 3  # methods that methods call
LOOPS = (ast.For, ast.AsyncFor, ast.While)


@once
def _phased(_it: Interpreter) -> dict[int, list[tuple[Class, str]]]:
    """The attributes that are replicated in place, by the number of modules that were read for them."""
    return {}


@once
def _given(_it: Interpreter) -> dict[ast.AST, bool]:
    """Whether statements give such an attribute one copy, as far as that is known."""
    return {}


def is_phased(it: Interpreter, cls: Class, name: str) -> bool:
    """Whether objects of a class replicate what an attribute of theirs holds, and keep it there."""
    if not it.trust.likely:
        return False
    known, count = _phased(it), len(it.modules)
    if count not in known:
        known[count] = [key for module in it.modules for key in _replicated_in(it, module)]
    return any(attr == name and it.root(one) is it.root(cls) for one, attr in known[count])


def _replicated_in(it: Interpreter, module: Module) -> Iterator[tuple[Class, str]]:
    for stored in module.table.attributes:
        match stored.node:
            case ast.Assign(targets=[ast.Attribute() as target]) as statement:
                cls = transient_attributes.class_of_receiver(target, module)
                if cls is not None and transient_attributes.replicates(it, statement, target, module):
                    yield cls, target.attr


def assigned(
    it: Interpreter, cls: Class, target: ast.Attribute, value: Abstract, node: ast.AST, module: Module
) -> bool:
    """Whether an assignment gives such an attribute one copy, which is then no second representation of it."""
    if not is_phased(it, cls, target.attr):
        return False
    if isinstance(value, Nothing) and not value.none:
        return False
    is_one = isinstance(value, Plain | Nothing | Dct | Seq | Tup) and not is_tracked(value)
    if _given(it).get(node) not in (is_one, False):  # what gives a stack for one outcome of a flag does so for good
        _given(it)[node] = is_one
        it.touch(("phased", it.root(cls), target.attr))
    if not is_one:
        return False
    _lean(it, cls, target, "is given one copy, not one for each device", module)
    return True


def holds_one(it: Interpreter, cls: Class, node: ast.Attribute, module: Module) -> bool | None:
    """Whether such an attribute holds one copy where it is read; None where that is not known yet."""
    if not is_phased(it, cls, node.attr) or transient_attributes.class_of_receiver(node, module) is None:
        return False
    it.reads.add(("phased", it.root(cls), node.attr))
    single = _is_single_at(it, node, node.attr, module, DEEPEST)
    if single:
        _lean(it, cls, node, "holds one copy, not one for each device", module)
    return single


def _lean(it: Interpreter, cls: Class, node: ast.Attribute, does: str, module: Module) -> None:
    held = [one for one in object_flags.every(it, cls, node.attr) if isinstance(one, Ref)]
    if held:
        says = f"`{ast.unparse(node)}` {does}"
        it.lean(held, Assumption("likely", "unreplicates", "", says, module, node))


def _is_single_at(it: Interpreter, node: ast.AST, name: str, module: Module, depth: int) -> bool | None:
    """Whether the statements say that an attribute of `self` holds one copy at a place in a method."""
    statement, function = module.table.statement_of(node), None
    assert statement is not None  # as all expressions stand in one
    if _replicates_in_place(it, statement, name, module):
        return True
    while not isinstance(function, ast.FunctionDef):
        block = module.table.block_of(statement)
        for earlier in reversed(block[: block.index(statement)]):
            target = _target(earlier, name)
            if target is not None:
                return _given(it).get(earlier)
            if _touches(earlier, name):
                return False
        for later in block[block.index(statement) :]:
            if _replicates_in_place(it, later, name, module):
                return True
            if _touches(later, name):
                break
        function = module.table.parents[statement]
        if isinstance(function, LOOPS) and any(_touches(one, name) for one in ast.walk(function)):
            return False
        if not isinstance(function, ast.stmt) or isinstance(function, ast.AsyncFunctionDef | ast.ClassDef):
            return False
        statement = function
    return _is_called_single(it, function, name, module, depth - 1) if depth else False


def _is_called_single(it: Interpreter, function: ast.FunctionDef, name: str, module: Module, depth: int) -> bool | None:
    """Whether a method is called, and nowhere but where the attribute of its object holds one copy."""
    named = [
        (node, one)
        for one in it.modules
        for node in one.table.named.get(function.name, ())
        if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Attribute)  # of what this one holds
    ]
    if not named or not all(one is module and _is_own_call(node, one) for node, one in named):
        return False
    found = {_is_single_at(it, node, name, one, depth) for node, one in named}
    return False if False in found else None if None in found else True


def _is_own_call(node: ast.Attribute, module: Module) -> bool:
    """Whether a method of the same object is called where it is named."""
    above = module.table.parents.get(node)
    is_called = isinstance(above, ast.Call) and above.func is node
    return is_called and transient_attributes.class_of_receiver(node, module) is not None


def _target(statement: ast.stmt, name: str) -> ast.Attribute | None:
    """What a statement assigns to an attribute of a name, if that is all that it does."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(), attr=attr) as target]) if attr == name:
            return target
    return None


def _replicates_in_place(it: Interpreter, statement: ast.stmt, name: str, module: Module) -> bool:
    target = _target(statement, name)
    return target is not None and transient_attributes.replicates(it, statement, target, module)


def _touches(node: ast.AST, name: str) -> bool:
    """Whether a statement may give an attribute another value: it assigns one of that name, or calls a method."""
    return any(
        (isinstance(one, ast.Attribute) and one.attr == name and not isinstance(one.ctx, ast.Load))
        or (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and isinstance(one.func.value, ast.Name)
            and one.func.value.id == "self"
        )
        for one in ast.walk(node)
    )
