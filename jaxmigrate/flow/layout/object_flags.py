"""Flags that an object keeps from its constructor on, and on which the values of its attributes hang.

`if self.use_pmap: self.params = replicate(self.params)` in one method and `self.step_fn(self.params, batch)` in another
hold together as they do in one function: what a method stores where the flag holds is read only where it holds. So all
methods of such a class are followed once for each outcome, and its attributes have a value for each. An object that
another one holds may have the other outcome: what is read from it is either.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator

from jaxmigrate.flow.conditions import known_truth
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Assumed, Flag, Frame
from jaxmigrate.flow.layout.values import NOTHING, Abstract
from jaxmigrate.program.functions import is_classmethod, is_static
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import Scope, walk
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, External, Function
from jaxmigrate.records import record

LEAST_METHODS = 2  # that ask a flag, where none stores what hangs on it
OUTCOMES = (False, True)
Def = ast.FunctionDef


@record
class Asked:
    """What a test of a method asks of its object: the flag, as all its methods write it, and its sense.

    `homes` are the modules whose own names it mentions.
    """

    text: str
    sense: bool
    homes: tuple[ast.AST, ...] = ()

    def is_of(self, flag: Flag) -> bool:
        """Whether it is about a flag."""
        return (self.text, self.homes) == (flag.text, flag.owners)


@record
class Reader:
    """How tests are read: `question` gives the text of a test and its sense, `flag` what it asks if the answer stays.

    `kept` says whether an expression gives the same each time, as far as is known, `decides` of an if whether one way
    maps and not the other, `atoms` gives the parts of a test.
    """

    question: Callable[[ast.expr], tuple[str, bool] | None]
    flag: Callable[[ast.expr, Module], Flag | None]
    kept: Callable[[ast.expr, Module], bool]
    decides: Callable[[ast.If | ast.IfExp], bool]
    atoms: Callable[[ast.expr], Iterator[ast.expr]]


def class_of(function: Function | None) -> Class | None:
    """The class of whose objects a function is a method."""
    if function is None or not isinstance(function.node, Def):
        return None
    scope = function.module.table.scope_of[function.node]
    if scope.kind != "class" or is_static(function.node) or is_classmethod(function.node):
        return None
    has_own = bool(function.node.args.args) and isinstance(scope.node, ast.ClassDef)
    return Class(function.module, scope.node) if has_own else None  # type: ignore[arg-type]


def of_method(it: Interpreter, function: Function, reader: Reader) -> Flag | None:
    """The flag of the objects that a function is a method of."""
    cls = class_of(function)
    if cls is None:
        return None
    known, root = it.bodies.object_flags, it.root(cls)
    it.reads.add(("object flag", root))
    if root not in known:
        known[root] = _found(it, root, reader)
    return known[root]


def _of_frame(it: Interpreter, frame: Frame) -> tuple[Flag, bool] | None:
    """The flag of the object whose method is followed, and the outcome for which it is."""
    cls = class_of(frame.function) if frame.assumed else None
    if cls is None:
        return None
    it.reads.add(("object flag", it.root(cls)))
    flag = it.bodies.object_flags.get(it.root(cls))
    outcome = dict(frame.assumed).get(flag) if flag is not None else None
    return (flag, outcome) if flag is not None and outcome is not None else None


def answer(
    it: Interpreter, test: ast.expr, frame: Frame, reader: Reader, asking: Function | None = None
) -> bool | None:
    """Whether a test of the flag of a method's object holds, for the outcome that the method is followed for.

    The test may stand in another method of that object, `asking`.
    """
    known = _of_frame(it, frame)
    asking = asking or frame.function
    if known is not None and asking is not None:
        test = _copied(it, test, asking) or test
    asked = canonical(it, test, asking, reader) if known is not None and asking is not None else None
    if known is None or asked is None or not asked.is_of(known[0]) or reader.flag(test, frame.module) is None:
        return None
    return known[1] is asked.sense


def canonical(it: Interpreter, test: ast.expr, function: Function, reader: Reader) -> Asked | None:
    """What a test asks, as any method of the object may write it; None where it asks something of its own."""
    said = reader.question(test)
    if said is None:
        return None
    aliases = _set_by(it, function, reader) if getattr(function.node, "name", "") == "__init__" else {}
    if (own := aliases.get(said[0])) is not None:
        return Asked(own.text, own.sense is said[1], own.homes)
    module = function.module
    scope = module.table.own_scope[function.node]
    names = [one for one in ast.walk(test) if isinstance(one, ast.Name)]
    if len(names) == 1 and names[0] is test:
        kept = _copied(it, test, function)
        return canonical(it, kept, function, reader) if kept is not None else None
    text = said[0]
    for one in names:
        if one.id in aliases and _holder(one, module) is scope:
            text = re.sub(rf"(?<![\w.]){one.id}\b", aliases[one.id].text, text)
        elif not _is_seen_by_all(one, scope, module):
            return None
    own_names = any(_holder(one, module) is not scope and not _is_library(it, one, module) for one in names)
    return Asked(text, said[1], (module.tree,) if own_names else ()) if names else None


def _holder(name: ast.Name, module: Module) -> Scope | None:
    scope = module.table.scope_of.get(name)
    return scope.lookup(name.id) if scope is not None else None


def _is_seen_by_all(name: ast.Name, own: Scope, module: Module) -> bool:
    """Whether a name is the object of a method, or one that is the same for all its methods."""
    holder = _holder(name, module)
    if holder is own:
        return name.id == "self" and own.bindings["self"][0].kind == "param" and len(own.bindings["self"]) == 1
    return holder is None or holder.kind == "module"


def _is_library(it: Interpreter, name: ast.Name, module: Module) -> bool:
    return isinstance(it.resolver.value(name, module), External)


def _copied(it: Interpreter, test: ast.expr, function: Function) -> ast.expr | None:
    """What a variable of a method is given that asks a flag of its object: `use_pmap = self.use_pmap`."""
    own = function.module.table.own_scope[function.node]
    if not isinstance(test, ast.Name) or _holder(test, function.module) is not own:
        return None
    bindings = own.bindings.get(test.id, [])
    if len(bindings) != 1 or bindings[0].path or ("variable", function.node, test.id) in it.scope.rebound:
        return None
    value = bindings[0].value
    return value if isinstance(value, ast.Attribute) and bindings[0].kind == "assign" else None


@once
def _aliases(_it: Interpreter) -> dict[ast.AST, dict[str, Asked]]:
    """What constructors set attributes to, as they write it."""
    return {}


def _set_by(it: Interpreter, function: Function, reader: Reader) -> dict[str, Asked]:
    """What a constructor sets attributes to, which it may ask instead: `self.use_pmap = use_pmap`."""
    if function.node not in _aliases(it):
        found = _aliases(it)[function.node] = {}
        assert isinstance(function.node, Def)
        for statement in function.node.body:
            match statement:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self")) as target], value=value):
                    said = reader.question(value)
                    named = any(isinstance(one, ast.Name) and one.id == "self" for one in ast.walk(value))
                    stays = reader.kept(target, function.module) and reader.kept(value, function.module)
                    if said is not None and not named and stays:
                        found.setdefault(said[0], Asked(ast.unparse(target), said[1]))
    return _aliases(it)[function.node]


def _found(it: Interpreter, root: ast.ClassDef, reader: Reader) -> Flag | None:
    """The flag that methods of a family ask most, of those on which it hangs whether they map."""
    asked: Counter[tuple[str, tuple[ast.AST, ...]]] = Counter()
    first: dict[object, Flag] = {}
    storing: set[object] = set()
    methods: dict[object, set[ast.AST]] = {}
    for function in _methods_of(it, root):
        for node in walk(function.node):
            if not isinstance(node, ast.If | ast.IfExp) or not reader.decides(node):
                continue
            for test in reader.atoms(node.test):
                said = None if _is_settled(it, test, function) else canonical(it, test, function, reader)
                flag = reader.flag(test, function.module) if said is not None else None
                if said is None or flag is None:
                    continue
                key = said.text, said.homes
                asked[key] += 1
                methods.setdefault(key, set()).add(function.node)
                known = first.get(key)
                proven = flag.proven and (known is None or known.proven)
                first[key] = Flag(said.text, said.homes, proven, flag.module, flag.node)
                if _stores(node, function.module):
                    storing.add(key)
    found = [key for key, _ in asked.most_common() if key in storing or len(methods[key]) >= LEAST_METHODS]
    return first[found[0]] if found else None


def _is_settled(it: Interpreter, test: ast.expr, function: Function) -> bool:
    """Whether a comparison has one outcome for all objects."""
    return isinstance(test, ast.Compare) and known_truth(it.resolver, test, function.module) is not None


def _methods_of(it: Interpreter, root: ast.ClassDef) -> Iterator[Function]:
    for module in it.modules:
        for node, scope in module.table.own_scope.items():
            if isinstance(node, ast.ClassDef) and it.root(Class(module, node)) is root:
                bound = (binding.node for found in scope.bindings.values() for binding in found)
                functions = (Function(module, one) for one in bound if isinstance(one, Def))
                yield from (one for one in functions if class_of(one) is not None)


def _stores(node: ast.If | ast.IfExp, module: Module) -> bool:
    """Whether what a test decides is stored in an attribute."""
    statement = module.table.statement_of(node) if isinstance(node, ast.IfExp) else node
    return statement is not None and any(
        isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) for one in walk(statement)
    )


# Attributes


def load(it: Interpreter, cls: Class, name: str, node: ast.expr, frame: Frame) -> Abstract:
    """What an attribute of an object may hold: of a method's own object what hangs on its outcome, else all of it."""
    root = it.root(cls)
    found = it.load(("attribute", root, name))
    known = _of_frame(it, frame) if _is_own(node, cls, it, frame) else None
    for outcome in OUTCOMES if known is None else (known[1],):
        held = it.load(("attribute", root, name, outcome))
        found = it.join(found, held, node, frame.module)
        if known is not None:
            _lean(it, held, known[0])
    return found


def store(it: Interpreter, cls: Class, target: ast.Attribute, value: Abstract, node: ast.AST, frame: Frame) -> None:
    """Stores in an attribute of an object; of a method's own object for its outcome."""
    known = _of_frame(it, frame) if _is_own(target, cls, it, frame) else None
    it.set_attribute(cls, target.attr, value, node, frame.module, *(() if known is None else (known[1],)))


def every(it: Interpreter, cls: Class, name: str) -> list[Abstract]:
    """All that an attribute of the objects of a class may hold, whatever their flag says."""
    root = it.root(cls)
    return [it.load(("attribute", root, name, *outcome)) for outcome in ((), *((one,) for one in OUTCOMES))]


def _lean(it: Interpreter, value: Abstract, flag: Flag) -> None:
    if not flag.proven and value is not NOTHING:
        says = f"`{flag.text}` does not change while the program runs"
        it.lean([value], Assumption("likely", "apart", "", says, flag.module, flag.node))


def _is_own(node: ast.expr, cls: Class, it: Interpreter, frame: Frame) -> bool:
    """Whether an expression is an attribute of the object whose method is followed."""
    mine = class_of(frame.function)
    if mine is None or it.root(mine) is not it.root(cls):
        return False
    return isinstance(node, ast.Attribute) and _is_receiver(node.value, frame)


def is_of_receiver(node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is an attribute of the object that a method is called on."""
    is_method = class_of(frame.function) is not None
    return is_method and isinstance(node, ast.Attribute) and _is_receiver(node.value, frame)


def _is_receiver(node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is the object that a method is called on."""
    scope = frame.module.table.scope_of.get(node)
    if not isinstance(node, ast.Name) or scope is None or scope.lookup(node.id) is not frame.scope:
        return False
    assert frame.function is not None
    assert isinstance(frame.function.node, Def)
    return node.id == frame.function.node.args.args[0].arg and len(frame.scope.bindings[node.id]) == 1


# Calls


def passed_on(it: Interpreter, function: Function, node: ast.expr, frame: Frame) -> Assumed:
    """The outcome that a method is called for by another of the same object: `self.prepare(batch)`."""
    known, cls = _of_frame(it, frame), class_of(function)
    mine = class_of(frame.function)
    if known is None or cls is None or mine is None or it.root(cls) is not it.root(mine):
        return frozenset()
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            above = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
            held = name in it.scope.assigned  # perhaps a method of another object
            if (above or _is_receiver(owner, frame)) and not held and name == getattr(function.node, "name", ""):
                return frozenset({known})
    return frozenset()


def told_outcome(it: Interpreter, function: Function, told: dict[str, bool], reader: Reader, flag: Flag) -> bool | None:
    """The outcome that what a constructor is given says; None where it says nothing."""
    if getattr(function.node, "name", "") != "__init__":
        return None
    for name, truth in told.items():
        asked = _set_by(it, function, reader).get(name)
        if asked is not None and asked.is_of(flag):
            return truth is asked.sense
    return None
