"""Attributes that hold a value only until a statement soon after gives them another, which nobody sees in between.

`self.params = model.init(key)` and then `self.params = replicate(self.params)`: what the attribute holds for the rest
of the program is the second value. The first is followed as a local variable is. Either the second statement comes
right after the first, or both stand in the constructor of an object that nobody else has yet: whatever is called in
between, and whoever goes on where it raises, has no way to the object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.flow.layout import class_index, outcomes
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Assumed, Frame
from jaxmigrate.flow.layout.values import Abstract, Func, is_tracked
from jaxmigrate.program import momentary
from jaxmigrate.program.functions import is_classmethod, is_static
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, Function

LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.TryStar)
HIDING = (*LEAVING, ast.With, ast.AsyncWith, ast.Delete, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)
HOOKS = frozenset({"__new__", "__setattr__", "__getattribute__", "__getattr__", "__slots__"})
LOOPS = (ast.For, ast.AsyncFor, ast.While)


def name_of(node: ast.expr) -> str:
    """The name that such an attribute of a local name goes by among the variables of a frame; no variable has it."""
    return (
        f"{node.value.id}.{node.attr}" if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
    )


@once
def _passing(_it: Interpreter) -> dict[tuple[ast.Attribute, int, Assumed], bool]:
    """Which attributes hold what they are given for a moment alone, as far as so many modules tell."""
    return {}


def is_passing(it: Interpreter, target: ast.Attribute, module: Module, frame: Frame | None = None) -> bool:
    """Whether what is assigned to an attribute of `self` is only seen by the statements up to its next assignment.

    That may stand in an if of which the outcome is known for which a body is followed, `frame`.
    """
    assumed: Assumed = frame.assumed if frame is not None else frozenset()
    key = (target, len(it.modules), assumed)  # another module may bring a class that derives from this one
    if key not in _passing(it):
        _passing(it)[key] = _is_passing(it, target, module, frame)
    return _passing(it)[key]


def _is_passing(it: Interpreter, target: ast.Attribute, module: Module, frame: Frame | None) -> bool:
    parents = module.table.parents
    statement = parents[target]
    if not _assigns(statement, target):
        return False
    cls = class_of_receiver(target, module)
    if cls is None or is_tried(target, module):
        return False
    between = _until_next(it, statement, target, module, frame)
    if not between or any(isinstance(node, HIDING) for one in between for node in ast.walk(one)):
        return False
    methods = _methods(it, cls)
    if target.attr in methods or methods & HOOKS:
        return False
    if len(between) == 1 and replicates(it, between[0], target, module):
        return True
    if momentary.is_momentary(target, module, it.resolver):
        return True
    if len(between) == 1 and it.trust.likely and _is_handed_on(between[0], target):
        return True
    function = next(_functions_above(target, module))
    return _is_constructor(it, function, cls) and not _is_shown(function, between, methods, module)


def lean(it: Interpreter, target: ast.Attribute, value: Abstract, frame: Frame) -> None:
    """Has what such an attribute holds meanwhile rest on nobody else reading it, where that is no more than likely."""
    module = frame.module
    between = _until_next(it, module.table.parents[target], target, module, frame)
    if len(between) != 1 or not _is_handed_on(between[0], target) or replicates(it, between[0], target, module):
        return
    if not it.trust.likely or momentary.is_momentary(target, module, it.resolver):
        return
    if not isinstance(value, Func) and not is_tracked(value):
        return
    says = f"`{ast.unparse(between[0].value.func)}` does not read `{ast.unparse(target)}`"  # type: ignore[attr-defined]
    why = Assumption("likely", "apart", "", says, module, between[0])
    it.leans = True
    it.assumed.apart.setdefault(module, {})[why] = None
    it.lean([value], why)


def _is_handed_on(statement: ast.stmt, target: ast.Attribute) -> bool:
    """Whether a statement gives a function what an attribute holds, but not its object: `self.f = dist(self.f)`."""
    match statement:
        case ast.Assign(value=ast.Call(func=called, args=arguments, keywords=keywords)):
            given = [*arguments, *(one.value for one in keywords)]
        case _:
            return False
    read = [ast.dump(one) for one in given]
    before = ast.dump(target).replace("Store()", "Load()")
    names = [node for one in (called, *given) for node in ast.walk(one) if isinstance(node, ast.Name)]
    receiver = target.value.id if isinstance(target.value, ast.Name) else ""
    return before in read and [one.id for one in names].count(receiver) == 1


def replicates(it: Interpreter, statement: ast.stmt, target: ast.Attribute, module: Module) -> bool:
    """Whether a statement does nothing but replicate what an attribute holds."""
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.Call) or len(value.args) != 1 or value.keywords:
        return False
    idiom = it.idioms.of_array(value, module)
    if idiom is None:
        function = it.resolver.value(value.func, module)
        idiom = it.idioms.of_helper(function) if isinstance(function, Function) else None
    given = value.args[0]
    return idiom is not None and idiom.kind == "replicate" and ast.unparse(given) == ast.unparse(target)


def class_of_receiver(node: ast.Attribute, module: Module) -> Class | None:
    """The class whose method reads or sets an attribute of its own object; None for any other attribute."""
    function = next(_functions_above(node, module), None)
    receiver = "" if function is None else _receiver(function, module)
    if function is None or not receiver or receiver != name_of(node).split(".")[0]:
        return None
    owner = module.table.parents[function]
    assert isinstance(owner, ast.ClassDef)  # as only a method has a receiver
    return Class(module, owner)


def _is_constructor(it: Interpreter, function: ast.AST, cls: Class) -> bool:
    """Whether a function runs only where an object is made of a class, and before all else that knows it."""
    node = cls.node
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__" or function.decorator_list:
        return False
    if node.decorator_list or node.keywords or any(ast.unparse(base) != "object" for base in node.bases):
        return False
    by_name = any(_is_named_init(n) for module in it.modules for n in module.table.references)
    return not by_name and not class_index.descendants(it, cls)


def _is_named_init(node: ast.AST) -> bool:
    """Whether a constructor is run by its name, and not as that of a base."""
    if not isinstance(node, ast.Attribute) or node.attr != "__init__":
        return False
    owner = node.value
    return not (isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super")


def _is_shown(function: ast.AST, between: Sequence[ast.stmt], methods: set[str], module: Module) -> bool:
    """Whether a constructor may have shown its object to anything before the end of some statements."""
    receiver, last = _receiver(function, module), between[-1]
    comes_round = any(isinstance(n, LOOPS) and last in ast.walk(n) for n in ast.walk(function))
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or (node.lineno > (last.end_lineno or 0) and not comes_round):
            continue
        if node.id in ("super", "locals", "vars"):
            return True
        used = module.table.parents[node]
        if node.id == receiver and (
            not isinstance(used, ast.Attribute)
            or used.attr in methods
            or used.attr.startswith("__")
            or next(_functions_above(node, module), None) is not function
        ):
            return True
    return False


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


def _until_next(
    it: Interpreter, statement: ast.AST, target: ast.Attribute, module: Module, frame: Frame | None
) -> Sequence[ast.stmt]:
    """The statements after one, up to that which assigns the same attribute; none where there is none such."""
    block = module.table.block_of(statement)
    after: list[ast.stmt] = []
    for one in _run(it, block[block.index(statement) + 1 :], frame):  # type: ignore[arg-type]
        after.append(one)
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        if any(ast.dump(t) == ast.dump(target) for t in targets) and getattr(one, "value", None) is not None:
            return after
    return ()


def _run(it: Interpreter, statements: Sequence[ast.stmt], frame: Frame | None) -> Iterator[ast.stmt]:
    """Statements, and in place of an if of which the outcome is known those that run."""
    for one in statements:
        way = outcomes.holds(it, one.test, frame) if isinstance(one, ast.If) and frame is not None else None
        if isinstance(one, ast.If) and way is not None:
            yield from _run(it, one.body if way else one.orelse, frame)
        else:
            yield one


def _methods(it: Interpreter, cls: Class) -> set[str]:
    """The names that are bound in a class, in its bases and in what derives from it as anything but a value."""
    root, found = it.root(cls), set[str]()
    for module in {one.module: None for one in it.resolver.lineage(cls)} | dict.fromkeys(it.modules):
        for node, scope in module.table.own_scope.items():
            if isinstance(node, ast.ClassDef) and it.root(Class(module, node)) is root:
                found |= {name for name, every in scope.bindings.items() if any(b.kind == "def" for b in every)}
                found |= HOOKS & scope.bindings.keys()
    return found
