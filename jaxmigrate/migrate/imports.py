"""Which names the helper can use in a file, what has to be imported for them, and which imports are no longer used."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from jaxmigrate.migrate.helper import HELPER_NAME, NESTED_NAME, Names, Needs
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import old_names
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding

IMPORTS = ast.Import | ast.ImportFrom
WIDTH = 88
_has_anchor: WeakKeyDictionary[Module, bool] = WeakKeyDictionary()
WANTED = {
    "Mesh": ("jax.sharding", "Mesh", ("Mesh",)),
    "PartitionSpec": ("jax.sharding", "PartitionSpec", ("P", "PartitionSpec")),
    "multihost_utils": ("jax.experimental", "multihost_utils", ("multihost_utils",)),
    "NamedSharding": ("jax.sharding", "NamedSharding", ("NamedSharding",)),
}


@dataclass(frozen=True, slots=True)
class Imports:
    """The names that the helper uses and the import statements, one a line, that have to be added for them."""

    names: Names
    added: tuple[str, ...]


def used_names(module: Module) -> frozenset[str]:
    """Every identifier that a module binds, reads or imports anywhere."""
    found: set[str] = set()
    for node in module.nodes:
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.partition(".")[0])
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
    return frozenset(found)


def plan_imports(module: Module, needs: Needs, default_axis: str) -> Imports:
    """The names for a module's helper and what to import for them."""
    used = used_names(module)
    taken = set(used)
    jax, added = _jax_name(module, taken)
    wanted = ["Mesh", *(["NamedSharding"] if needs.puts else []), "PartitionSpec"]
    wanted += ["multihost_utils"] if needs.processes else []
    chosen, missing = _choose(module, wanted, taken, {})
    numpy, numpy_import = _numpy_name(module, needs, taken)
    statements = (*added, *_statements(missing))
    local = _jax_import(module) is None
    names = Names(
        helper=free_name((HELPER_NAME,), taken),
        nested=free_name((NESTED_NAME,), taken),
        jax=jax,
        mesh=chosen["Mesh"],
        spec=chosen["PartitionSpec"],
        sharding=chosen.get("NamedSharding", "NamedSharding"),
        multihost=chosen.get("multihost_utils", "multihost_utils"),
        numpy=numpy,
        default_axis=default_axis,
        imports=(*numpy_import, *(statements if local else ())),
    )
    return Imports(names, () if local else statements)


def _choose(
    module: Module, wanted: Iterable[str], taken: set[str], bound: Mapping[str, str]
) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """What a module calls the parts of JAX that are wanted, each name `taken` from then on, and those to be imported.

    `bound` are the names by which imports that are to be added bind some of them.
    """
    chosen: dict[str, str] = {}
    missing: list[tuple[str, str, str]] = []
    for key in wanted:
        source, name, proposals = WANTED[key]
        present = bound.get(f"{source}.{name}") or bound_name(module, f"{source}.{name}")
        chosen[key] = present or free_name(proposals, taken)
        taken.add(chosen[key])
        if present is None:
            missing.append((source, name, chosen[key]))
    return chosen, missing


def has_jax_import(module: Module) -> bool:
    """Whether a module imports something among its first statements, beside which imports can be added."""
    if module not in _has_anchor:  # asked for each array that might be global
        _has_anchor[module] = _anchor(module) is not None
    return _has_anchor[module]


def _numpy_name(module: Module, needs: Needs, taken: set[str]) -> tuple[str, tuple[str, ...]]:
    """What the module calls numpy, and the import inside the helper where it does not and the helper needs it."""
    present = bound_name(module, "numpy")
    if present is not None:
        return present, ()
    name = free_name(("np",), taken)
    taken.add(name)
    statement = "import numpy" if name == "numpy" else f"import numpy as {name}"
    return name, (statement,) if needs.processes and needs.in_axes else ()


def _statements(missing: Iterable[tuple[str, str, str]]) -> list[str]:
    by_source: dict[str, list[str]] = {}
    for source, name, chosen in missing:
        by_source.setdefault(source, []).append(name if name == chosen else f"{name} as {chosen}")
    return [f"from {source} import {', '.join(names)}" for source, names in sorted(by_source.items())]


def free_name(proposals: Sequence[str], taken: set[str]) -> str:
    """The first of some names that is not taken, else the last with an underscore."""
    for proposal in proposals:
        if proposal not in taken:
            return proposal
    name = f"_{proposals[-1]}"
    while name in taken:
        name += "_"
    return name


def _jax_name(module: Module, taken: set[str]) -> tuple[str, tuple[str, ...]]:
    """What the module calls jax at its top, and the import to add where it does not."""
    present = bound_name(module, "jax")
    if present is not None:
        return present, ()
    if "jax" not in taken:
        taken.add("jax")
        return "jax", ("import jax",)
    if imports_only(module, "jax", "jax"):
        return "jax", ("import jax",)
    name = free_name(("_jax",), taken)
    taken.add(name)
    return name, (f"import jax as {name}",)


def bound_name(module: Module, dotted: str) -> str | None:
    """The name that an unconditional import at the module's top binds to `dotted`, if nothing else binds it."""
    top = leading(module) if module.cells else module.tree.body
    for name, bindings in module.table.root.bindings.items():
        if len(bindings) >= 1 and all(_imports(b, module) == dotted for b in bindings):
            statements = {_statement(b, module) for b in bindings}
            if any(s in top for s in statements) and not _rebound_below(name, module):
                return name
    return None


def imports_only(module: Module, name: str, dotted: str) -> bool:
    """Whether functions bind a name, each by a plain import of the same library: one above them all goes by it too."""
    if name != dotted or module.cells:
        return False
    scopes = {id(scope): scope for scope in (module.table.root, *module.table.own_scope.values())}.values()
    found = [binding for scope in scopes for binding in scope.bindings.get(name, ())]
    plain = all(isinstance(b.node, ast.alias) and b.kind == "import" and _imports(b, module) == dotted for b in found)
    return bool(found) and plain and not any(name in scope.outer_names for scope in scopes)


def _rebound_below(name: str, module: Module) -> bool:
    """Whether some function declares the name global and binds it, so that it can change at run time."""
    return any(name in scope.outer_names for scope in module.table.own_scope.values())


def _imports(binding: Binding, module: Module) -> str | None:
    if not isinstance(binding.node, ast.alias):
        return None
    if binding.kind == "import":
        return binding.node.name if binding.node.asname else binding.node.name.partition(".")[0]
    statement = module.table.parents[binding.node]
    assert isinstance(statement, ast.ImportFrom)
    return None if statement.level else _renamed(f"{statement.module}.{binding.node.name}", binding.node)


def _renamed(dotted: str, alias: ast.alias) -> str:
    """What an import brings in once old names have been replaced, where it keeps the name that it binds."""
    row = old_names().get(dotted) if dotted.startswith("jax.") else None
    if row is None or row.how != "rename":
        return dotted
    same = alias.asname or row.replacement.endswith(f".{alias.name}")
    return row.replacement if same else dotted


def _statement(binding: Binding, module: Module) -> ast.AST:
    if binding.kind == "from":
        return module.table.parents[binding.node]
    return next((s for s in module.tree.body if isinstance(s, ast.Import) and binding.node in s.names), binding.node)


def _jax_import(module: Module) -> IMPORTS | None:
    """The last unconditional import of something of jax in the first run of the module's statements."""
    found = [s for s in leading(module) if isinstance(s, IMPORTS) and is_jax(s)]
    return found[-1] if found else None


def _anchor(module: Module) -> IMPORTS | None:
    """The import beside which new ones go: the last of jax, else the last among the module's first statements."""
    others = [s for s in leading(module) if isinstance(s, IMPORTS) and getattr(s, "module", "") != "__future__"]
    return _jax_import(module) or (others[-1] if others else None)


def is_jax(statement: IMPORTS) -> bool:
    """Whether a statement imports from jax itself."""
    if isinstance(statement, ast.ImportFrom):
        return not statement.level and (statement.module or "").partition(".")[0] == "jax"
    return any(alias.name.partition(".")[0] == "jax" for alias in statement.names)


def leading(module: Module) -> list[ast.stmt]:
    """The module's statements before its first function or class; of a notebook, through the cell that imports jax."""
    if module.cells:
        return _leading_in_cells(module)
    found: list[ast.stmt] = []
    for statement in module.tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            break
        found.append(statement)
    return found


def _leading_in_cells(module: Module) -> list[ast.stmt]:
    """The statements of a notebook's cells through the first that binds `jax`, unless it is mapped before that.

    Cells below may be where a name is used first, so that what they import is of no help above them.
    """
    headers = [cell.header for cell in module.cells]
    mapped = next((n for n, line in enumerate(module.lines, 1) if "pmap" in line), len(module.lines))
    imports = [s for s in module.tree.body if isinstance(s, IMPORTS)]
    binding = [s for s in imports if isinstance(s, ast.Import) and is_jax(s) and s.lineno <= mapped and _binds_jax(s)]
    itself = [s for s in binding if _is_prepared(s, binding[0], module)]
    chosen = next(iter([*itself, *binding, *filter(is_jax, imports), *imports]), None)
    if chosen is None:
        return []
    end = next((header for header in headers if header > chosen.lineno), len(module.lines) + 1)
    return [s for s in module.tree.body if s.lineno < end]


def _is_prepared(statement: ast.Import, first: ast.Import, module: Module) -> bool:
    """Whether it imports jax itself, and what stands above uses no more than the part of jax that sets a machine up."""
    part = first.names[0].name
    above = [line for line in module.lines[first.lineno - 1 : statement.lineno - 1] if "jax" in line]
    return any(a.name == "jax" for a in statement.names) and all(part in line for line in above)


def _binds_jax(statement: ast.Import) -> bool:
    return any(a.name == "jax" or (a.name.startswith("jax.") and a.asname is None) for a in statement.names)


def together(statements: Iterable[str]) -> list[str]:
    """Import statements with one for all names of a module."""
    found: dict[str, list[str]] = {}
    for statement in dict.fromkeys(statements):
        source, _, names = statement.partition(" import ")
        found.setdefault(source, []).extend(names.split(", ") if names else [])
    return [f"{source} import {', '.join(sorted(names))}" if names else source for source, names in found.items()]


def imported_names(modules: Sequence[Module], resolver: Resolver) -> dict[Module, frozenset[str]]:
    """By module, the names that other modules import from it, so that no import they lean on is dropped."""
    found: dict[Module, set[str]] = {}
    for module in modules:
        for bindings in module.table.root.bindings.values():
            for binding in bindings:
                if binding.kind == "from" and isinstance(binding.node, ast.alias):
                    statement = module.table.parents[binding.node]
                    assert isinstance(statement, ast.ImportFrom)
                    source = resolver.project.imported(module, statement.module or "", statement.level)
                    if source is not None:
                        found.setdefault(source, set()).add(binding.node.name)
    return {module: frozenset(names) for module, names in found.items()}
