"""Variables of functions that are called after pmap, where what they hold is made by it no longer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Operation, Rename, Replace, code
from jaxmigrate.program.scopes import Binding, Scope
from jaxmigrate.program.syntax import is_main_guard

PMAP = re.compile(r"(?<![^_])pmap(?:ped)?(?![^_])")  # between the underscores of a name
BY_NAME = frozenset({"locals", "vars", "eval", "exec", "globals"})  # what finds variables by what they are called


def calls_pmap(module: Module) -> bool:
    """Whether some code of a module still says pmap."""
    return "pmap" in module.table.named or any(one.name == "pmap" for one in module.table.imports)


def without_pmap_names(before: Module, after: Module) -> Iterator[Operation]:
    """The operations that call variables `sharded_step` which a text before a rewrite called `pmapped_step`."""
    if not PMAP.search(re.sub(r"\W+", " ", before.text).replace(" ", "_")) or calls_pmap(after):
        return
    if any(name in after.table.named for name in BY_NAME):
        return
    named = {(path_of(scope), name) for scope, name in _variables(before) if _of_map(scope.bindings[name])}
    taken = set(re.findall(r"\w+", after.text))
    for scope, name in _variables(after) if named else ():
        new = PMAP.sub("sharded", name)
        nodes = _mentions(scope, name, after) if (path_of(scope), name) in named and new not in taken else None
        if nodes:
            taken.add(new)
            yield from (Rename(n, new) if isinstance(n, ast.FunctionDef) else Replace(n, code(new)) for n in nodes)


def path_of(scope: Scope) -> str:
    """A function by its name and those that it stands in."""
    names = []
    holder: Scope | None = scope
    while holder is not None:
        names.append(getattr(holder.node, "name", ""))
        holder = holder.parent
    return ".".join(reversed(names))


def _variables(module: Module) -> Iterator[tuple[Scope, str]]:
    """The variables that are called after pmap of functions, and of what only a script runs."""
    for scope in {id(one): one for one in (module.table.root, *module.table.own_scope.values())}.values():
        names = [name for name in scope.bindings if PMAP.search(name)]
        if scope.kind == "module":
            names = [n for n in names if all(_is_of_script(one.node, module) for one in scope.bindings[n])]
        elif scope.kind != "function" or not isinstance(scope.node, ast.FunctionDef):
            continue
        yield from ((scope, name) for name in names)


def _is_of_script(node: ast.AST | None, module: Module) -> bool:
    while node is not None and not is_main_guard(node):
        node = module.table.parents.get(node)
    return node is not None


def _of_map(bindings: list[Binding]) -> bool:
    """Whether all that binds a name is what pmap makes."""
    return all(
        (one.kind == "assign" and not one.path and one.value is not None and _says_pmap(one.value))
        or (isinstance(one.node, ast.FunctionDef) and any(map(_says_pmap, one.node.decorator_list)))
        for one in bindings
    )


def _says_pmap(node: ast.expr) -> bool:
    return any(
        (isinstance(one, ast.Name) and one.id == "pmap") or (isinstance(one, ast.Attribute) and one.attr == "pmap")
        for one in ast.walk(node)
    )


def _mentions(scope: Scope, name: str, module: Module) -> list[ast.Name | ast.FunctionDef] | None:
    """All that names a variable of a function; None where something else may go by that name there."""
    found: list[ast.Name | ast.FunctionDef] = []
    for node in ast.walk(scope.node):
        match node:
            case ast.Name(id=said) if said == name:
                held = module.table.scope_of.get(node)
                if held is None or held.lookup(name) is not scope:
                    return None
                found.append(node)
            case ast.FunctionDef(name=said) if said == name:
                if not any(one.node is node for one in scope.bindings[name]):
                    return None
                found.append(node)
            case ast.arg(arg=said) | ast.ClassDef(name=said) | ast.AsyncFunctionDef(name=said) if said == name:
                return None
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                return None
            case ast.Constant(value=str(text)) if name in text:
                return None
            case ast.JoinedStr() if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node)):
                return None  # where its parts stand is not known of every Python
    return found
