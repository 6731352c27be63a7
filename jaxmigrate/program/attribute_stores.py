"""How a program sets attributes: by assignments, in loops and unpackings, by names as texts, in the dictionary of them.

A store under `ANY` sets what is only known when the program runs: `setattr(x, name, value)`, `vars(x).update(options)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from jaxmigrate.program.modules import Module
from jaxmigrate.program.only_read import READS, is_only_read_here, reads_alone
from jaxmigrate.records import record

ANY = ""
SETTERS = frozenset({"setattr", "__setattr__", "delattr", "__delattr__"})
BY_DESCRIPTOR = frozenset({"__set__", "__delete__"})  # of slots, say: `T.n.__set__(t, 4)`
WHOLE = frozenset({"__dict__", "__class__", "__bases__"})  # with which all attributes change
OF_MODULE = frozenset({"globals", "__globals__"})
OBJECTS = frozenset({"__dict__", "vars"})
NAMESPACES = frozenset({"locals", "vars"})  # of a module, where it calls them itself and passes nothing


@record(eq=False)
class Store:
    """A place where an attribute of `owner` is set to `value`; None for any owner, and for a value that is not said.

    Where a dictionary of attributes is handed on, `taker` is what it is given to, which may change it.
    """

    owner: ast.expr | None
    value: ast.expr | None
    module: Module
    node: ast.AST
    taker: ast.expr | None = None


Stores = dict[str, list[Store]]


@lru_cache(maxsize=512)
def stored_attributes(module: Module) -> dict[str, list[ast.Attribute]]:
    """The attributes that a module assigns or deletes, by name."""
    found: dict[str, list[ast.Attribute]] = {}
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found.setdefault(node.attr, []).append(node)
    return found


def stored_value(target: ast.expr, module: Module) -> ast.expr | None:
    """What an attribute or an entry is set to by an assignment of its own; None where it is set in another way."""
    parent = module.table.parents.get(target)
    if isinstance(parent, ast.Assign) and target in parent.targets:
        return parent.value
    return parent.value if isinstance(parent, ast.AnnAssign) else None


@lru_cache(maxsize=512)
def stores(module: Module) -> Stores:
    """All places of a module that set attributes, by the name of the attribute."""
    found: Stores = {}
    for name, targets in stored_attributes(module).items():
        for target in targets:
            place = Store(target.value, stored_value(target, module), module, target)
            found.setdefault(ANY if name in WHOLE else name, []).append(place)
    for name, place in (*_by_name(module), *_in_dictionaries(module)):
        found.setdefault(name, []).append(place)
    return found


@lru_cache(maxsize=512)
def variable_stores(module: Module) -> Stores:
    """The places of a module that set its own variables by their names as texts: `globals()["n"] = 4`, `exec(text)`."""
    found: Stores = {}
    table = module.table
    for word in OF_MODULE | NAMESPACES:
        for node in table.named.get(word, ()):
            held = _namespace(node, word, module)
            for name, value in _changed(held, module) if held is not None else ():
                found.setdefault(name, []).append(Store(None, value, module, node))
    for node in table.named.get("exec", ()):
        found.setdefault(ANY, []).append(Store(None, None, module, node))
    return found


def _namespace(node: ast.expr, word: str, module: Module) -> ast.expr | None:
    """The dictionary of a module's variables that a mention of `globals`, `vars` and their kin is, if it is one."""
    call = module.table.parents.get(node)
    if word == "__globals__":
        return node
    if not isinstance(call, ast.Call) or call.func is not node:
        return None
    return call if word in OF_MODULE or not (call.args or module.table.function_of(node)) else None


def _by_name(module: Module) -> Iterator[tuple[str, Store]]:
    """What `setattr` and its kin set, whatever they are called by."""
    for word in SETTERS:
        for node in module.table.named.get(word, ()):
            call = module.table.parents.get(node)
            given = call.args if isinstance(call, ast.Call) and call.func is node and not call.keywords else []
            needed = 2 if word.strip("_") == "setattr" else 1  # behind the owner
            bound = len(given) == needed and isinstance(node, ast.Attribute)
            if any(isinstance(one, ast.Starred) for one in given) or not (bound or len(given) == needed + 1):
                yield ANY, Store(None, None, module, node)
                continue
            owner = node.value if bound and isinstance(node, ast.Attribute) else given[0]
            value = given[-1] if needed == 2 else None
            yield _text(given[-needed]), Store(owner, value, module, node)
    for word in BY_DESCRIPTOR:
        for node in module.table.named.get(word, ()):
            call = module.table.parents.get(node)
            given = call.args if isinstance(call, ast.Call) and call.func is node else []
            known = given and not any(isinstance(one, ast.Starred) for one in given)
            yield ANY, Store(given[0] if known else None, None, module, node)


def _in_dictionaries(module: Module) -> Iterator[tuple[str, Store]]:
    """What is set in the dictionary of an object's attributes: `vars(x)["n"] = 4`, `x.__dict__.update(n=4)`."""
    held: ast.expr
    for word in OBJECTS:
        for node in module.table.named.get(word, ()):
            call = module.table.parents.get(node)
            if word == "__dict__" and isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                held, owner = node, node.value
            elif word == "vars" and isinstance(call, ast.Call) and call.func is node and call.args:
                held, owner = call, call.args[0]
            else:
                continue
            taken = module.table.parents.get(held)
            taken = module.table.parents.get(taken) if isinstance(taken, ast.keyword) else taken
            taker = taken.func if isinstance(taken, ast.Call) and taken.func is not held else None
            for name, value in _changed(held, module):
                yield name, Store(owner, value, module, node, taker)


def _changed(names: ast.expr, module: Module) -> Iterator[tuple[str, ast.expr | None]]:
    """The entries that are set in a dictionary of names where it stands, each with its value where that is said."""
    parents = module.table.parents
    parent = parents.get(names)
    match parent:
        case ast.Subscript(ctx=ast.Load()) | ast.Compare() | ast.keyword(arg=None) | ast.FormattedValue():
            return
        case ast.For() | ast.comprehension() | ast.Expr():
            return
        case ast.Assign(targets=[ast.Name() as name]) if is_only_read_here(name, module):
            return
        case ast.Subscript(slice=index):
            yield _text(index), stored_value(parent, module)
        case ast.Attribute(attr="update"):
            call = parents.get(parent)
            yield from _entries(call) if isinstance(call, ast.Call) and call.func is parent else [(ANY, None)]
        case ast.Attribute(attr=attr):
            if attr not in READS:
                yield ANY, None
        case ast.keyword() | ast.Call():
            call = parents.get(parent) if isinstance(parent, ast.keyword) else parent
            if not isinstance(call, ast.Call) or call.func is names or not reads_alone(call, module):
                yield ANY, None
        case _:
            yield ANY, None


def _entries(call: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    """What `update(...)` sets, whose names are texts in it or keywords."""
    for one in call.args:
        if isinstance(one, ast.Dict):
            pairs = zip(one.keys, one.values, strict=True)
            yield from ((_text(key), value) if key is not None else (ANY, None) for key, value in pairs)
        else:
            yield ANY, None
    yield from ((k.arg, k.value) if k.arg is not None else (ANY, None) for k in call.keywords)


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ANY
