"""Attributes that hold a value only until a statement soon after gives them another, which nobody sees in between.

`self.params = model.init(key)` and then `self.params = replicate(self.params)`: what the attribute holds for the rest
of the program is the second value. The first is followed as a local variable is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import is_classmethod, is_static
from jaxmigrate.program.values import Class, External, Function

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.frames import Frame
    from jaxmigrate.flow.layout.interpreter import Interpreter

LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.TryStar)
HIDING = (*LEAVING, ast.With, ast.AsyncWith, ast.Delete, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)
HOOKS = frozenset({"__setattr__", "__getattribute__", "__getattr__", "__slots__"})
BLIND = ("jax.", "flax.", "numpy.", "optax.", "chex.", "haiku.", "functools.partial", "logging.", "absl.logging.")
BLIND_BUILTINS = frozenset(
    f"builtins.{name}"
    for name in ("dict", "float", "int", "len", "list", "max", "min", "print", "range", "sum", "tuple")
)
DEEPEST = 3  # calls within calls that are looked at


def name_of(node: ast.expr) -> str:
    """The name that such an attribute of a local name goes by among the variables of a frame; no variable has it."""
    return (
        f"{node.value.id}.{node.attr}" if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
    )


def is_passing(it: Interpreter, target: ast.Attribute, frame: Frame) -> bool:
    """Whether what is assigned to an attribute of `self` is only seen by the statements up to its next assignment."""
    key = (target, len(it.modules))  # another module may bring a class that derives from this one
    if key not in it.passing:
        it.passing[key] = _is_passing(it, target, frame.module)
    return it.passing[key]


def _is_passing(it: Interpreter, target: ast.Attribute, module: Module) -> bool:
    parents = module.table.parents
    statement = parents[target]
    if not _assigns(statement, target):
        return False
    function = next(_functions_above(target, module), None)
    if function is None or is_tried(target, module) or _receiver(function, module) != name_of(target).split(".")[0]:
        return False
    between = _until_next(statement, target, module)
    owner = parents[function]
    assert isinstance(owner, ast.ClassDef)
    methods = _methods(it, Class(module, owner))
    if not between or target.attr in methods or methods & HOOKS:
        return False
    looks = _Looks(it, target.attr, methods)
    return not any(looks.may_show(one, function, module) for one in between)


def _assigns(statement: ast.AST, target: ast.Attribute) -> bool:
    if isinstance(statement, ast.Assign):
        return statement.targets == [target]
    return isinstance(statement, ast.AnnAssign) and statement.value is not None


def _functions_above(node: ast.AST, module: Module) -> Iterator[ast.AST]:
    while node in module.table.parents:
        node = module.table.parents[node]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node


def _receiver(function: ast.AST, module: Module) -> str:
    """What a method calls its object, if it never calls anything else so."""
    if not isinstance(function, ast.FunctionDef) or not isinstance(module.table.parents[function], ast.ClassDef):
        return ""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if not parameters or is_static(function) or is_classmethod(function):
        return ""
    name = parameters[0].arg
    return name if len(module.table.own_scope[function].bindings.get(name, ())) == 1 else ""


def _until_next(statement: ast.AST, target: ast.Attribute, module: Module) -> Sequence[ast.stmt]:
    """The statements after one, up to that which assigns the same attribute; none where there is none such."""
    block = module.table.block_of(statement)
    after = block[block.index(statement) + 1 :]  # type: ignore[arg-type]
    for index, one in enumerate(after):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        if any(ast.dump(t) == ast.dump(target) for t in targets) and getattr(one, "value", None) is not None:
            return after[: index + 1]
    return ()


def _methods(it: Interpreter, cls: Class) -> set[str]:
    """The names that are bound in a class, in its bases and in what derives from it as anything but a value."""
    root, found = it.root(cls), set[str]()
    for module in {one.module: None for one in it.resolver.lineage(cls)} | dict.fromkeys(it.modules):
        for node, scope in module.table.own_scope.items():
            if isinstance(node, ast.ClassDef) and it.root(Class(module, node)) is root:
                found |= {name for name, every in scope.bindings.items() if any(b.kind == "def" for b in every)}
                found |= HOOKS & scope.bindings.keys()
    return found


class _Looks:
    """Asks of code whether it may look at an attribute by any other way than by the name of the object."""

    def __init__(self, it: Interpreter, attribute: str, methods: set[str]) -> None:
        self.it = it
        self.attribute = attribute
        self.methods = methods

    def may_show(self, statement: ast.stmt, function: ast.AST, module: Module) -> bool:
        """Whether a statement of a method may let anything else see the object as it is, or may not come to its end."""
        receiver = _receiver(function, module)
        own: set[ast.AST] = set()
        for node in ast.walk(statement):
            if isinstance(node, HIDING):
                return True
            if isinstance(node, ast.Name) and node.id == receiver:
                used = module.table.parents[node]
                own.add(used)
                if not isinstance(used, ast.Attribute) or used.attr in self.methods or used.attr.startswith("__"):
                    return True
                if next(_functions_above(node, module), None) is not function:
                    return True
        return self._look((node for node in ast.walk(statement) if node not in own), module, DEEPEST)

    def _look(self, nodes: Iterable[ast.AST], module: Module, depth: int) -> bool:
        """Whether code may read the attribute of objects that it knows; a library that is called knows none."""
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr == self.attribute:
                return True
            if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name | ast.Attribute | ast.Lambda):
                return True
            if isinstance(node, ast.Call) and not isinstance(node.func, ast.Lambda):
                values = self.it.resolver.values(node.func, module)
                known = (isinstance(v, Function) or (isinstance(v, External) and _is_blind(v.name)) for v in values)
                if not values or not all(known):
                    return True
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                every = self.it.resolver.values(node, module) if node in module.table.scope_of else ()
                functions = [value for value in every if isinstance(value, Function)]
                if any(not depth or self._look(ast.walk(one.node), one.module, depth - 1) for one in functions):
                    return True
        return False


def _is_blind(name: str) -> bool:
    """Whether a function of a library only sees what it is given."""
    return name.startswith(BLIND) or name in BLIND_BUILTINS
