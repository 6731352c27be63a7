"""Which functions of a project importing one of its files may run: a mesh that these make would start a backend."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from jaxmigrate.migrate.backends import Backends
from jaxmigrate.migrate.map_places import runs_as_script
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External


def run_at_import(project: Project, resolver: Resolver, backends: Backends) -> frozenset[str]:
    """The functions and classes of a project that importing one of its files may call, by their last names.

    What is called where a backend runs already is left out.
    """
    called: dict[str, set[str]] = {}
    waiting: set[str] = set()
    own = {part for module in project.named for part in (module.path.stem, *module.path.parts)}
    for module in project.named:
        for node in module.nodes:
            for name, other in _stands_for(node):
                called.setdefault(name, set()).add(other)
        for call in module.table.calls:
            name = _called(call)
            holder = _holder(call, module)
            if backends.run_by(call, module):
                continue
            if holder is None:
                if not runs_as_script(call, module) and not _is_foreign(call, module, own, resolver):
                    waiting.add(name)
            else:
                called.setdefault(holder, set()).add(name)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= called.get(name, set())
    return frozenset(found)


def _is_foreign(call: ast.Call, module: Module, own: Collection[str], resolver: Resolver) -> bool:
    """Whether a call runs a function of a library: `@hydra.main()` is no main of the project."""
    value = resolver.value(call.func, module)
    return isinstance(value, External) and value.name.partition(".")[0] not in own


def _stands_for(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names of functions and classes with what calling them may call besides: what they are called elsewhere, bases."""
    match node:
        case ast.ClassDef(name=name, bases=bases):  # its constructor may be that of a base, and may call it
            for base in bases:
                yield name, last_name(base.value if isinstance(base, ast.Subscript) else base)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value):
            yield name, last_name(value)
        case ast.alias(name=other, asname=str(name)):
            yield name, other.rpartition(".")[2]


def _called(call: ast.Call) -> str:
    """The last name of what a call runs; of a constructor that is called by its name, the class."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr="__init__"):
            return owner
    return last_name(call.func)


def _holder(node: ast.AST, module: Module) -> str | None:
    """The innermost named function around a node, or the class of a constructor; None at the module's top."""
    below: ast.AST = node
    parent = module.table.parents.get(node)
    while parent is not None:
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and below in parent.body:
            above = module.table.parents.get(parent)
            if parent.name == "__init__" and isinstance(above, ast.ClassDef):
                return above.name
            return parent.name
        below, parent = parent, module.table.parents.get(parent)
    return None
