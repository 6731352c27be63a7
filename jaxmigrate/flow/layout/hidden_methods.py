"""Methods that an attribute of the same name hides: `self.step = jax.pmap(self.step)` in a constructor.

From there on `trainer.step` is the mapped function, and before it the method, which the class goes on to have: what the
one is given is not given to the other. Python looks for an object's own attributes first, but for properties.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from jaxmigrate.flow.layout import class_index, classes
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import is_docstring
from jaxmigrate.program.values import Class, Function

WRAPS = named("defers")  # what runs no function that it is given
WRAPPERS = frozenset({"staticmethod", "classmethod"})  # what they make lets an object's own attribute go before it
HOOKS = frozenset(  # by which a class makes objects, or finds their attributes, in another way
    {"__new__", "__getattribute__", "__setattr__", "__delattr__", "__getstate__", "__setstate__", "__slots__"}
    | {"__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__", "__init_subclass__", "__getnewargs__"}
)


Decides = Callable[[ast.expr, Function], bool | None]


class Reads(Enum):
    """What reading a name of an object gives, where a class has a method and its objects an attribute of that name."""

    EITHER = 0
    METHOD = 1
    ATTRIBUTE = 2


def reads(it: Interpreter, cls: Class, name: str, node: ast.AST, decides: Decides | None = None) -> Reads:
    """What the attribute `node` of an object of a class, or of one that derives from it in sight, gives.

    `decides` says how tests of the constructor turned out for that object, where that is known.
    """
    root = it.root(cls)
    it.reads.add(("blocked class", root))
    if name not in it.scope.assigned or root in it.blockers.blocked_classes:
        return Reads.EITHER
    if not class_index.is_method(it, name):
        return Reads.EITHER
    makers = [_setting(it, one, name, decides) for one in (cls, *class_index.descendants(it, cls))]
    if any(maker is None for maker in makers) or _is_deleted(it, name):
        return Reads.EITHER
    within = [before for before in makers if before is not None and any(node in ast.walk(s) for s in before)]
    return Reads.METHOD if within else Reads.ATTRIBUTE


@once
def _deleted(_it: Interpreter) -> dict[Module, frozenset[str]]:
    """The attributes that modules delete."""
    return {}


def _is_deleted(it: Interpreter, name: str) -> bool:
    """Whether some module in sight deletes an attribute of that name."""
    for module in it.modules:
        if module not in _deleted(it):
            nodes = (n for n in module.nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Del))
            _deleted(it)[module] = frozenset(n.attr for n in nodes)
    return any(name in _deleted(it)[module] for module in it.modules)


def _setting(it: Interpreter, cls: Class, name: str, decides: Decides | None) -> Sequence[ast.AST] | None:
    """What an object's constructor runs until it has set an attribute; None where the object may be used before."""
    line = it.resolver.lineage(cls)
    if not all(_is_plain(it, one, name) for one in line):
        return None
    constructors: list[tuple[ast.FunctionDef, str, Module]] = []  # of which each runs the next one before all else
    for one in line:
        bindings = one.module.table.own_scope[one.node].bindings.get("__init__", [])
        if not bindings:
            continue
        made = bindings[0].node
        if len(bindings) > 1 or not isinstance(made, ast.FunctionDef) or made.decorator_list or not made.args.args:
            return None
        constructors.append((made, made.args.args[0].arg, one.module))
        if not _calls_next(made, made.args.args[0].arg):
            break
    seen: list[ast.AST] = []
    for made, receiver, module in reversed(constructors):
        if any(isinstance(s, ast.Return) for s in own_statements(made)):
            return None
        body = [s for s in made.body if not is_docstring(s)]
        setting = _Setting(it, receiver, name, module, made, decides)
        found = setting.before(body[1:] if _calls_next(made, receiver) else body)
        if found is None:
            return None
        seen += found.code
        if found.is_set:
            return seen
    return None


def _is_plain(it: Interpreter, cls: Class, name: str) -> bool:
    """Whether a class makes its objects as any does, and all that it has of a name are methods."""
    node, bindings = cls.node, cls.module.table.own_scope[cls.node].bindings
    if node.keywords or node.decorator_list or len(node.bases) > 1 or classes.foreign_base(it, cls):
        return False
    own = [binding.node for binding in bindings.get(name, [])]
    return HOOKS.isdisjoint(bindings) and all(
        isinstance(one, ast.FunctionDef) and {ast.unparse(d) for d in one.decorator_list} <= WRAPPERS for one in own
    )


def _calls_next(made: ast.FunctionDef, receiver: str) -> bool:
    """Whether a constructor begins with the one of its base, and hands it nothing of the new object's."""
    first = next((s for s in made.body if not is_docstring(s)), None)
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Call):
        return False
    call = first.value
    given = [*call.args, *(k.value for k in call.keywords)]
    named = {n.id for one in given for n in ast.walk(one) if isinstance(n, ast.Name)}
    return ast.unparse(call.func) == "super().__init__" and receiver not in named


class _Before(NamedTuple):
    """What a constructor runs until it has set an attribute, or all that it runs where it does not."""

    code: list[ast.AST]
    is_set: bool


@dataclass(slots=True)
class _Setting:
    """How a constructor sets an attribute of the new object, its receiver."""

    it: Interpreter
    receiver: str
    name: str
    module: Module
    made: ast.FunctionDef
    decides: Decides | None

    def before(self, statements: Sequence[ast.stmt]) -> _Before | None:
        """The statements until one sets the attribute; None where that is not known."""
        seen: list[ast.AST] = []
        for statement in statements:
            value = _set_by(statement, self.receiver, self.name)
            either = self._either(statement) if isinstance(statement, ast.If) and value is None else None
            if either is not None and either.is_set:
                return _Before([*seen, *either.code], is_set=True)
            seen.append(statement if value is None else value)
            quiet = either is not None or _is_quiet(self.it, seen[-1], self.receiver, self.name, self.module)
            if not quiet:
                return None
            if value is not None:
                return _Before(seen, is_set=True)
        return _Before(seen, is_set=False)

    def _either(self, node: ast.If) -> _Before | None:
        """The same of the ways that an if takes, all of which set the attribute, or none."""
        if not _is_quiet(self.it, node.test, self.receiver, self.name, self.module):
            return None
        way = self.decides(node.test, Function(self.module, self.made)) if self.decides is not None else None
        bodies = [node.body, node.orelse] if way is None else [node.body if way else node.orelse]
        found = [self.before(body) for body in bodies]
        known = [one for one in found if one is not None]
        if len(known) < len(found) or len({one.is_set for one in known}) > 1:
            return None
        return _Before([node.test, *(code for one in known for code in one.code)], known[0].is_set)


def _set_by(statement: ast.stmt, receiver: str, name: str) -> ast.expr | None:
    """The value that a statement gives the attribute of a name and nothing else."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner), attr=attr)], value=value):
            return value if owner == receiver and attr == name else None
        case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id=owner), attr=attr), value=ast.expr() as value):
            return value if owner == receiver and attr == name else None
    return None


def _is_quiet(it: Interpreter, code: ast.AST, receiver: str, name: str, module: Module) -> bool:
    """Whether code runs no method of the new object, hands it to nobody and leaves the attribute alone.

    Methods may be wrapped, which does not run them: `jax.pmap(self.step)`.
    """
    parents = module.table.parents
    for one in (n for n in ast.walk(code) if isinstance(n, ast.Name) and n.id == receiver):
        attribute = parents.get(one)
        if not isinstance(attribute, ast.Attribute) or isinstance(attribute.ctx, ast.Del):
            return False
        call = parents.get(attribute)
        wrapped = isinstance(call, ast.Call) and attribute in call.args and it.idioms.called(call, module) in WRAPS
        if class_index.is_property(it, attribute.attr):
            return False
        method = isinstance(attribute.ctx, ast.Load) and class_index.is_method(it, attribute.attr)
        if (method or attribute.attr == name) and not (wrapped and _is_at_once(code, attribute)):
            return False
    return not any(isinstance(n, ast.Name) and n.id in ("super", "locals", "vars") for n in ast.walk(code))


def _is_at_once(code: ast.AST, node: ast.AST) -> bool:
    """Whether a part of some code is evaluated where it stands, and by no function that the code makes."""
    inner = (n for n in ast.walk(code) if isinstance(n, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef))
    return not any(node in ast.walk(function) for function in inner)
