"""What a rewrite leaves without a use: imports, counts of devices, axes, shardings and functions of the old form."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from jaxmigrate.codemod.style import Style
from jaxmigrate.migrate.pmap_names import calls_pmap, path_of, without_pmap_names
from jaxmigrate.migrate.read_texts import ReadTexts
from jaxmigrate.migrate.second_names import without_second_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import DropAlias, DropStatement, Operation
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.syntax import is_main_guard, last_name
from jaxmigrate.sources import JOINED

MOST_ROUNDS = 16
ALL_NAMES = frozenset({"eval", "exec", "locals", "vars"})  # what reads variables without their names
FINDING = ALL_NAMES | {"globals", "modules", "__import__", "Fire", "getmembers"}  # what finds functions by their names
COUNTING = ("device_count()", "devices()", "devices())")
LAID_OUT = frozenset({"Mesh", "NamedSharding", "PartitionSpec", "PositionalSharding"})


def without_leftovers(before: Module, after: str, kept: frozenset[str], style: Style, read: ReadTexts) -> str:
    """The text after a rewrite without what it alone left unused; `kept` are names that other modules import.

    What nobody used before stays, and so does what a string or `__all__` names.
    """
    from jaxmigrate.codemod.apply import rewritten
    from jaxmigrate.codemod.said import reworded_text

    used, plain = _loaded(before) - kept, _plain_read(before)
    path = before.path if before.cells or before.path.suffix not in JOINED else Path("after.py")
    module = read.module(path, after)
    for ask in (without_second_names, without_pmap_names):
        if changes := list(ask(before, module)):
            read.forget(module)
            after = rewritten(after, changes, style, statements=module.tree.body)
            module = read.module(path, after)
    if not calls_pmap(module) and (text := reworded_text(after)) != after:
        read.forget(module)
        after = text
    names_all = not ALL_NAMES.isdisjoint(before.table.named)
    for _ in range(MOST_ROUNDS):
        module = read.module(path, after)
        if before.is_package:
            return after
        unused = _written(used - _loaded(module), after) - _quoted(module)
        operations = list(_leftovers(module, unused)) if unused else []
        operations += _unread(module, plain, unused) if not names_all else []
        if not operations:
            return after
        read.forget(module)
        after = rewritten(after, operations, style, statements=module.tree.body)
    return after


def _loaded(module: Module) -> set[str]:
    """The names that a module reads."""
    return {n.id for n in module.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _written(names: set[str], text: str) -> set[str]:
    """Those of some names that a text may bind: a letter that is no ASCII can stand for one that is."""
    return {name for name in names if name in text} if text.isascii() else names


def _quoted(module: Module) -> set[str]:
    return {n.value for n in module.nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _leftovers(module: Module, unused: set[str]) -> Iterator[Operation]:
    """The operations that drop each thing that is bound to an unused name."""
    for scope in {id(s): s for s in module.table.own_scope.values()}.values():
        for name in sorted(unused & set(scope.bindings)):
            bindings = scope.bindings[name]
            if len(bindings) == 1 and name not in scope.outer_names and scope.kind != "class":
                yield from _dropped(bindings[0].node, scope, name, module)


def _plain_read(module: Module) -> dict[str, set[str]]:
    """By function: the variables in it that hold what costs nothing to leave out, and that it reads."""
    found: dict[str, set[str]] = {}
    for scope in module.table.own_scope.values():
        if scope.kind == "function" and isinstance(scope.node, ast.FunctionDef):
            plain = [name for name, bound in scope.bindings.items() if _is_plain(bound[0].node, module)]
            found.setdefault(path_of(scope), set()).update(n for n in plain if _is_read(n, scope, module))
    return {path: names for path, names in found.items() if names}


def _unread(module: Module, read: Mapping[str, set[str]], unused: set[str]) -> Iterator[Operation]:
    """The operations that drop plain values that a function read before; other functions may have such names."""
    for scope in module.table.own_scope.values() if read else ():
        for name in read.get(path_of(scope), set()) - unused if isinstance(scope.node, ast.FunctionDef) else ():
            bindings = scope.bindings.get(name, [])
            alone = len(bindings) == 1 and name not in scope.outer_names
            if alone and _is_plain(bindings[0].node, module) and not _is_read(name, scope, module):
                yield from _dropped(bindings[0].node, scope, name, module)


def _is_plain(node: ast.AST, module: Module) -> bool:
    """Whether a statement binds a name to a value that is made without work: nothing is lost with it."""
    match node:
        case ast.Assign(targets=[ast.Name()], value=value):
            return _costs_nothing(value, module)
    return False


def _costs_nothing(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a constant, the devices or their number, or a mesh or sharding of such."""
    match node:
        case ast.Constant():
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_costs_nothing(one, module) for one in parts)
        case ast.Call(func=ast.Name() | ast.Attribute() as func, args=args, keywords=[]) if _lays_out(func, module):
            return all(isinstance(a, ast.Name) or _costs_nothing(a, module) for a in args)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy")) as func, args=[one], keywords=[]):
            return func.attr in ("array", "asarray") and (isinstance(one, ast.Name) or _costs_nothing(one, module))
        case ast.Call():
            text = ast.unparse(node)
            return text.endswith(COUNTING) and "=" not in text
    return False


def _lays_out(func: ast.Name | ast.Attribute, module: Module) -> bool:
    """Whether a call makes a mesh, a spec or a sharding, by what its module imports of JAX."""
    root: ast.expr = func
    while isinstance(root, ast.Attribute):
        root = root.value
    bindings = module.table.root.bindings.get(root.id, ()) if isinstance(root, ast.Name) else ()
    if len(bindings) != 1 or not isinstance(bindings[0].node, ast.alias):
        return False
    alias, statement = bindings[0].node, module.table.parents.get(bindings[0].node)
    source = (statement.module or "") if isinstance(statement, ast.ImportFrom) else alias.name
    name = last_name(func) if isinstance(func, ast.Attribute) else alias.name
    return source.partition(".")[0] == "jax" and name in LAID_OUT


def _is_read(name: str, scope: Scope, module: Module) -> bool:
    """Whether a variable of a scope is read, in functions within it too."""
    reads = (n for n in module.table.named.get(name, ()) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return any(module.table.scope_of[n].lookup(name) is scope for n in reads)


def _dropped(node: ast.AST, scope: Scope, name: str, module: Module) -> Iterator[Operation]:
    if isinstance(node, ast.alias):
        yield from _unused_import(node, module)
        return
    inside = scope.kind == "function"
    own = inside or name.startswith("_") or _is_only_run(module)
    helper = isinstance(node, ast.FunctionDef) and own and not node.decorator_list
    plain = inside and _is_plain(node, module)
    helper |= isinstance(node, ast.Assign) and inside and len(node.targets) == 1 and isinstance(node.value, ast.Lambda)
    if isinstance(node, ast.stmt) and (helper or plain) and len(module.table.block_of(node)) > 1:
        yield DropStatement(node, commented=helper)


def _is_only_run(module: Module) -> bool:
    """Whether a module is a script that finds no function by its name: nobody else has its functions."""
    return any(map(is_main_guard, module.tree.body)) and FINDING.isdisjoint(module.table.named)


def _unused_import(alias: ast.alias, module: Module) -> Iterator[Operation]:
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom) and alias in statement.names and statement.module != "__future__":
            yield DropAlias(statement, alias)
        if isinstance(statement, ast.Import) and alias in statement.names and not _loads_more(alias, module):
            yield DropAlias(statement, alias)


def _loads_more(alias: ast.alias, module: Module) -> bool:
    """Whether an import may be what loads a submodule that other code goes to by the name of its package."""
    if alias.asname is None:
        return "." in alias.name
    *_, last = alias.name.rpartition(".")
    named = (n for n in module.table.named.get(last, ()) if isinstance(n, ast.Attribute))
    return "." in alias.name and any(ast.unparse(n) == alias.name for n in named)
