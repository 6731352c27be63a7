"""The classes in sight: what they name methods, properties and fields, and which of them are of one family."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.values import Class, Function

Def = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Survey:
    """The classes of the modules that take part: names of methods, computed and assigned attributes, families by root.

    `declared` are the annotated names of classes, with the lines that declare them; `measured` are the classes that
    say themselves whether their objects are true; `holders` and `descendants` are remembered.
    """

    methods: set[str]
    properties: set[str]
    assigned: set[str]
    families: dict[ast.ClassDef, list[Class]]
    declared: dict[str, list[ast.AnnAssign]]
    measured: list[Class]
    holders: dict[tuple[ast.ClassDef, str], list[Class]] = field(default_factory=dict)
    descendants: dict[ast.ClassDef, list[Class]] = field(default_factory=dict)


@once
def _surveys(_it: Interpreter) -> dict[int, Survey]:
    """What is known of the classes of so many modules."""
    return {}


def _survey(it: Interpreter) -> Survey:
    known = _surveys(it)
    if len(it.modules) not in known:
        known.clear()  # of fewer modules
        classes = [
            Class(module, node)
            for module in it.modules
            for node in module.table.own_scope
            if isinstance(node, ast.ClassDef)
        ]
        methods, properties = _methods(classes)
        assigned = {name for module in it.modules for name in _assigned(module, it)}
        families: dict[ast.ClassDef, list[Class]] = {}
        for cls in classes:
            assigned |= set(cls.module.table.own_scope[cls.node].bindings)
            families.setdefault(it.root(cls), []).append(cls)
        measured = [cls for cls in classes if has(cls, "__bool__") or has(cls, "__len__")]
        known[len(it.modules)] = Survey(methods, properties, assigned, families, _declared(classes), measured)
    return known[len(it.modules)]


@once_each
def _assigned(module: Module, _it: Interpreter) -> frozenset[str]:
    """The attributes that a module gives a value, also as parts of what it unpacks."""
    return frozenset(n.attr for n in module.nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))


def _methods(classes: Iterable[Class]) -> tuple[set[str], set[str]]:
    """The names of methods, and those of computed attributes."""
    methods: set[str] = set()
    properties: set[str] = set()
    for cls in classes:
        for name, bindings in cls.module.table.own_scope[cls.node].bindings.items():
            for binding in bindings:
                if isinstance(binding.node, ast.FunctionDef):
                    decorated = {ast.unparse(d).rpartition(".")[2] for d in binding.node.decorator_list}
                    (properties if decorated & {"property", "cached_property"} else methods).add(name)
    return methods, properties


def _declared(classes: Iterable[Class]) -> dict[str, list[ast.AnnAssign]]:
    """The lines that declare fields, by the fields' names."""
    declared: dict[str, list[ast.AnnAssign]] = {}
    for line in (s for cls in classes for s in cls.node.body if isinstance(s, ast.AnnAssign)):
        if isinstance(line.target, ast.Name):
            declared.setdefault(line.target.id, []).append(line)
    return declared


def family(it: Interpreter, root: ast.ClassDef) -> list[Class]:
    """The classes in sight that descend from one."""
    return _survey(it).families.get(root, [])


def methods_of(it: Interpreter, root: ast.ClassDef) -> list[Function]:
    """The methods of all classes of a family, as their bodies define them."""
    return [Function(one.module, node) for one in family(it, root) for node in one.node.body if isinstance(node, Def)]


def descendants(it: Interpreter, cls: Class) -> list[Class]:
    """The classes in sight that derive from one."""
    known = _survey(it).descendants
    if cls.node not in known:
        known[cls.node] = [one for one in family(it, it.root(cls)) if one != cls and cls in it.resolver.lineage(one)]
    return known[cls.node]


def holders(it: Interpreter, cls: Class, name: str) -> list[Class]:
    """The classes whose attribute of a name the objects of a class have, or those of one that derives from it."""
    known, key = _survey(it).holders, (cls.node, name)
    if key not in known:
        lines = (it.resolver.lineage(one) for one in (cls, *descendants(it, cls)))
        known[key] = list(dict.fromkeys(holder for line in lines for holder in _nearest(line, name)))
    return known[key]


def holders_above(it: Interpreter, cls: Class, name: str) -> list[Class]:
    """The same of what `super()` gives in a method of a class: of the next class in line, for any of its objects."""
    lines = [it.resolver.lineage(one) for one in (cls, *descendants(it, cls))]
    if not all(_is_one_line(line) for line in lines):
        return [one for one in dict.fromkeys(c for line in lines for c in line) if one != cls and has(one, name)]
    return list(_nearest(it.resolver.lineage(cls)[1:], name))


def has(cls: Class, name: str) -> bool:
    """Whether a class itself says what an attribute of that name is."""
    return name in cls.module.table.own_scope[cls.node].bindings


def _is_one_line(line: Sequence[Class]) -> bool:
    return all(len(cls.node.bases) <= 1 for cls in line)


def _nearest(line: Sequence[Class], name: str) -> Iterator[Class]:
    """The classes of a lineage from which an attribute may come: the first that has it, of one line of bases."""
    is_one_line = _is_one_line(line)
    for cls in line:
        bindings = cls.module.table.own_scope[cls.node].bindings.get(name, [])
        if bindings:
            yield cls
            if is_one_line and any(binding.node in cls.node.body for binding in bindings):
                return


@once
def _looked_for(_it: Interpreter) -> dict[str, int]:
    """How many modules there were when a name was last looked for in the others."""
    return {}


def _look_for(it: Interpreter, name: str) -> None:
    """Takes in the modules that those in sight import and that have a method of a name."""
    if _looked_for(it).get(name) != len(it.modules):
        _looked_for(it)[name] = len(it.modules)
        for module in it.reachable.defining({m.path for m in it.modules}, name):
            it.join_module(module)


def is_method(it: Interpreter, name: str) -> bool:
    """Whether some class in sight has a method of that name."""
    _look_for(it, name)
    return name in _survey(it).methods


def having(it: Interpreter, name: str) -> list[Class]:
    """The classes in sight that say themselves what an attribute of that name is."""
    _look_for(it, name)
    return [cls for line in _survey(it).families.values() for cls in line if has(cls, name)]


def is_assigned(it: Interpreter, name: str) -> bool:
    """Whether some module in sight assigns an attribute of that name, or declares it in a class."""
    return name in _survey(it).assigned


def may_have(it: Interpreter, cls: Class, name: str) -> bool:
    """Whether some module in sight assigns an attribute of that name, or a class of the same family has one."""
    if any(name in _assigned(module, it) for module in it.modules):
        return True
    return any(name in one.module.table.own_scope[one.node].bindings for one in family(it, it.root(cls)))


def is_property(it: Interpreter, name: str) -> bool:
    """Whether some class in sight computes an attribute of that name."""
    _look_for(it, name)
    return name in _survey(it).properties


def measured(it: Interpreter) -> list[Class]:
    """The classes in sight that say themselves whether their objects are true, and those that derive from them."""
    return [one for cls in _survey(it).measured for one in (cls, *descendants(it, cls))]


def declarations(it: Interpreter, name: str) -> list[ast.AnnAssign]:
    """The lines of classes in sight that declare a field of that name."""
    return _survey(it).declared.get(name, [])
