"""Functions and classes of a program that it gets at without naming them: by computed names, or by their own making."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, Instance, ModuleValue, Value

PLAIN_METACLASSES = frozenset({"ABCMeta", "EnumMeta", "EnumType"})  # which keep no class that they make
GETTERS = frozenset({"attrgetter", "methodcaller", "getattr_static"})
MAKERS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def reached(module: Module, resolver: Resolver, imported: Collection[Module]) -> Iterator[tuple[str, Module]]:
    """The names of what a module's code gets at by computed names, and of its classes that something keeps.

    `imported` are the modules of the project that it imports: what is looked up in something that is not known, or in
    an unusual way, may be in any of them.
    """
    anywhere = [module, *imported]
    for call in module.table.calls:
        yield from _by_call(call, module, resolver, anywhere)
    for owner, name in _looked_up(module):
        yield from _of(owner, _start(name), module, resolver)
    getters = module.table.named.get("getattr", ())
    if any(not _is_called(node, module) for node in getters):  # it has another name, or is given to something
        yield from _anything(anywhere, "")
    for node in module.table.own_scope:
        if isinstance(node, ast.ClassDef) and _is_kept(Class(module, node), resolver):
            yield node.name, module


def _by_call(
    call: ast.Call, module: Module, resolver: Resolver, anywhere: Sequence[Module]
) -> Iterator[tuple[str, Module]]:
    """What one call gets at."""
    match call:
        case ast.Call(func=ast.Name(id="globals")):
            yield from _anything([module], "")
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, *_]) if not isinstance(name, ast.Constant):
            if isinstance(owner, ast.Subscript) and last_name(owner.value) == "modules":
                here = isinstance(owner.slice, ast.Name) and owner.slice.id == "__name__"
                yield from _anything([module] if here else anywhere, _start(name))
            yield from _of(owner, _start(name), module, resolver)
        case ast.Call(func=ast.Attribute(value=owner, attr="__getattribute__"), args=[*given, name]):
            yield from _of(given[0] if given else owner, _start(name), module, resolver)
        case ast.Call(func=function, args=[first, *_]) if last_name(function) in GETTERS:
            if not isinstance(first, ast.Constant):
                yield from _anything(anywhere, "")


def _looked_up(module: Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is looked up, and by which name, in the dictionary of what something defines: `x.__dict__`, `vars(x)`."""
    parents = module.table.parents
    tables: list[tuple[ast.AST, ast.expr]] = [
        (node, node.value) for node in module.table.named.get("__dict__", ()) if isinstance(node, ast.Attribute)
    ]
    tables += [(c, c.args[0]) for c in module.table.calls if last_name(c.func) == "vars" and len(c.args) == 1]
    for table, owner in tables:
        match above := parents.get(table):
            case ast.Subscript(slice=name) if above.value is table:
                yield owner, name
            case ast.Attribute(attr="get"):
                call = parents.get(above)
                if isinstance(call, ast.Call) and call.func is above and call.args:
                    yield owner, call.args[0]


def _is_called(node: ast.AST, module: Module) -> bool:
    call = module.table.parents.get(node)
    return isinstance(call, ast.Call) and call.func is node


def _of(owner: ast.expr, start: str, module: Module, resolver: Resolver) -> Iterator[tuple[str, Module]]:
    """What is defined by what an expression stands for."""
    for value in resolver.values(owner, module):
        for home, bodies in _bodies(value, resolver):
            yield from _named(_bound(bodies, start), home)


def _anything(modules: Iterable[Module], start: str) -> Iterator[tuple[str, Module]]:
    """What modules define."""
    for module in modules:
        yield from _named(_bound([module.tree.body], start), module)


def _named(names: Iterable[str], module: Module) -> Iterator[tuple[str, Module]]:
    for name in names:
        yield name, module


def _bodies(owner: Value, resolver: Resolver) -> Iterator[tuple[Module, list[list[ast.stmt]]]]:
    """The statements that may define an attribute of something."""
    if isinstance(owner, ModuleValue):
        yield owner.module, [owner.module.tree.body]
    elif isinstance(owner, Instance | Class):
        for one in resolver.lineage(owner.cls if isinstance(owner, Instance) else owner):
            yield one.module, [one.node.body]


def _bound(bodies: Iterable[list[ast.stmt]], start: str) -> list[str]:
    """The functions and classes that statements define, of which the names begin in a way."""
    return [s.name for body in bodies for s in body if isinstance(s, MAKERS) and s.name.startswith(start)]


def _start(name: ast.expr) -> str:
    """What a computed name begins with for certain."""
    first = name.values[0] if isinstance(name, ast.JoinedStr) and name.values else None
    first = name.left if isinstance(name, ast.BinOp) else name if isinstance(name, ast.Constant) else first
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _is_kept(cls: Class, resolver: Resolver) -> bool:
    """Whether a class may be kept where it is made: by its metaclass, or by what a base does with its subclasses."""
    for one in resolver.lineage(cls):
        words = [k.value for k in one.node.keywords if k.arg == "metaclass"]
        if any(ast.unparse(word).rpartition(".")[2] not in PLAIN_METACLASSES for word in words):
            return True
        if one != cls and "__init_subclass__" in one.module.table.own_scope[one.node].bindings:
            return True
    return False
