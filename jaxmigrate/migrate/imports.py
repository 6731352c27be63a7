"""Which names the helper can use in a file, what has to be imported for them, and which imports are no longer used."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from jaxmigrate.migrate.edits import Edit, Positions
from jaxmigrate.migrate.global_helpers import (
    PREFETCH,
    REPLICATE,
    SHARD,
    SHARD_MAP,
    SHARD_MAP_TREES,
    STACK,
    STACKED,
    GlobalNames,
)
from jaxmigrate.migrate.helper import HELPER_NAME, NESTED_NAME, Names, Needs
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import old_names
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.sites import PMAP

IMPORTS = ast.Import | ast.ImportFrom
STAYING = frozenset({"Mesh", "NamedSharding", "PartitionSpec"})
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
    wanted = ["Mesh", *(["NamedSharding"] if needs.alone else []), "PartitionSpec"]
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


def names_for(
    module: Module, wanted: Iterable[str], numpy: bool, planned: Iterable[str]
) -> tuple[GlobalNames, tuple[str, ...]]:
    """The names for a rewrite with global arrays, and what to import; `planned` are imports already to be added."""
    bound = dict(_bound_by(one) for statement in planned for one in _each(statement))
    taken = set(used_names(module)) | set(bound.values())
    jax, added = (bound["jax"], ()) if "jax" in bound else _jax_name(module, taken)
    chosen, missing = _choose(module, sorted(wanted), taken, bound)
    present_numpy = bound_name(module, "numpy")
    local = "" if present_numpy or not numpy else "import numpy as np" if "np" not in taken else "import numpy as _np"
    names = GlobalNames(
        jax=jax,
        jax_numpy=bound_name(module, "jax.numpy") or f"{jax}.numpy",
        numpy=present_numpy or local.rpartition(" ")[2] or "np",
        mesh_class=chosen.get("Mesh", "Mesh"),
        spec=chosen.get("PartitionSpec", "P"),
        sharding=chosen.get("NamedSharding", "NamedSharding"),
        multihost=chosen.get("multihost_utils", "multihost_utils"),
        mesh=free_name(("mesh", "device_mesh"), taken),
        shard_map=free_name((SHARD_MAP,), taken),
        replicate=free_name((REPLICATE,), taken),
        shard=free_name((SHARD,), taken),
        prefetch=free_name((PREFETCH,), taken),
        stack=free_name((STACK,), taken),
        shard_map_trees=free_name((SHARD_MAP_TREES,), taken),
        stacked=free_name((STACKED,), taken),
        numpy_import=local,
    )
    return names, (*added, *_statements(missing))


def _each(statement: str) -> Iterator[str]:
    """An import statement as one for each name."""
    node = ast.parse(statement).body[0]
    assert isinstance(node, IMPORTS)
    for alias in node.names:
        source = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
        yield f"{source}import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")


def _bound_by(statement: str) -> tuple[str, str]:
    """The dotted name that an import of one name brings in, and what it binds it to."""
    node = ast.parse(statement).body[0]
    assert isinstance(node, IMPORTS)
    alias = node.names[0]
    prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    return prefix + alias.name, alias.asname or alias.name


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
    chosen = next(iter([*binding, *filter(is_jax, imports), *imports]), None)
    if chosen is None:
        return []
    end = next((header for header in headers if header > chosen.lineno), len(module.lines) + 1)
    return [s for s in module.tree.body if s.lineno < end]


def _binds_jax(statement: ast.Import) -> bool:
    return any(a.name == "jax" or (a.name.startswith("jax.") and a.asname is None) for a in statement.names)


def together(statements: Iterable[str]) -> list[str]:
    """Import statements with one for all names of a module."""
    found: dict[str, list[str]] = {}
    for statement in dict.fromkeys(statements):
        source, _, names = statement.partition(" import ")
        found.setdefault(source, []).extend(names.split(", ") if names else [])
    return [f"{source} import {', '.join(sorted(names))}" if names else source for source, names in found.items()]


def insertions(module: Module, positions: Positions, added: Sequence[str], newline: str) -> list[Edit]:
    """Edits that put import statements into the block that imports jax, where its sorting puts them."""
    return [
        edit
        for statement in added
        for edit in _additions(module, positions, statement) or [_insertion(module, positions, statement, newline)]
    ]


def _additions(module: Module, positions: Positions, statement: str) -> list[Edit]:
    """Edits that put names into an import of one line that has others of theirs, where they fit."""
    node = ast.parse(statement).body[0]
    if not isinstance(node, ast.ImportFrom) or module.cells:
        return []
    for there in leading(module):
        if isinstance(there, ast.ImportFrom) and _takes(there, node, module, positions):
            return [_addition(there, alias, positions) for alias in node.names]
    return []


def _takes(there: ast.ImportFrom, more: ast.ImportFrom, module: Module, positions: Positions) -> bool:
    """Whether an import has only names that nothing takes out of it, on a line with room for those of another."""
    if there.level or there.module != more.module or not {alias.name for alias in there.names} <= STAYING:
        return False
    start, end = positions.line_span(there.lineno)
    line = module.text[start:end].rstrip()
    names = [ast.unparse(alias) for alias in (*there.names, *more.names)]
    alone = f"from {there.module} import {', '.join(names[: len(there.names)])}"
    return line == alone and len(f"from {there.module} import {', '.join(names)}") < WIDTH


def _addition(there: ast.ImportFrom, alias: ast.alias, positions: Positions) -> Edit:
    """The edit that puts one name among those of an import, before the first that sorts below it."""
    below = next((other for other in there.names if other.name > alias.name), None)
    if below is None:
        end = positions.span(there.names[-1])[1]
        return Edit(end, end, f", {ast.unparse(alias)}")
    start = positions.span(below)[0]
    return Edit(start, start, f"{ast.unparse(alias)}, ")


def _insertion(module: Module, positions: Positions, statement: str, newline: str) -> Edit:
    anchor = _anchor(module)
    assert anchor is not None
    block = _block_of(anchor, module)
    after = _predecessor(block, statement) or anchor
    assert after.end_lineno is not None
    last = max((s.end_lineno or 0) for s in module.tree.body if s.lineno <= after.end_lineno)
    _, end = positions.line_span(last)
    ended = module.text[:end].endswith(("\n", "\r"))
    return Edit(end, end, f"{statement}{newline}" if ended else f"{newline}{statement}")


def _block_of(anchor: IMPORTS, module: Module) -> list[IMPORTS]:
    """The imports around `anchor` with no other statement or blank line between."""
    body = module.tree.body
    index = body.index(anchor)
    first = last = index
    while first > 0 and _adjacent(body[first - 1], body[first]):
        first -= 1
    while last + 1 < len(body) and _adjacent(body[last], body[last + 1]):
        last += 1
    return [s for s in body[first : last + 1] if isinstance(s, IMPORTS)]


def _adjacent(one: ast.stmt, other: ast.stmt) -> bool:
    imports = isinstance(one, IMPORTS) and isinstance(other, IMPORTS)
    return imports and other.lineno - (one.end_lineno or 0) <= 1


def _predecessor(block: Sequence[IMPORTS], statement: str) -> IMPORTS | None:
    """The import after which `statement` goes: by module name among those of jax, in the block's own kind of order."""
    new = ast.parse(statement).body[0]
    assert isinstance(new, IMPORTS)
    interleaved = any(isinstance(a, ast.ImportFrom) and isinstance(b, ast.Import) for a, b in itertools.pairwise(block))
    before = [s for s in block if is_jax(s) and _order(s, interleaved) <= _order(new, interleaved)]
    if not before and not interleaved and isinstance(new, ast.ImportFrom):
        plain = [s for s in block if isinstance(s, ast.Import)]
        return plain[-1] if plain else None
    if before and isinstance(new, ast.ImportFrom) and isinstance(before[-1], ast.Import) and not interleaved:
        return [s for s in block if isinstance(s, ast.Import)][-1]
    return before[-1] if before else None


def _order(statement: IMPORTS, interleaved: bool) -> tuple[bool, str]:
    if isinstance(statement, ast.ImportFrom):
        return not interleaved, (statement.module or "").lower()
    return False, statement.names[0].name.lower()


def removals(module: Module, positions: Positions, replaced: set[ast.AST], kept: frozenset[str]) -> list[Edit]:
    """Edits that drop `from jax import pmap` where every use of it was replaced; `kept` are names others import."""
    edits: list[Edit] = []
    for name, bindings in module.table.root.bindings.items():
        for binding in bindings:
            if _imports(binding, module) != PMAP or name in kept or binding.kind != "from":
                continue
            statement = module.table.parents[binding.node]
            if isinstance(statement, ast.ImportFrom) and _unused(name, module, replaced):
                edits += drop_alias(statement, binding.node, module, positions)
    return edits


def _unused(name: str, module: Module, replaced: set[ast.AST]) -> bool:
    loads = [n for n in module.table.references if isinstance(n, ast.Name) and n.id == name]
    listed = any(isinstance(n, ast.Constant) and n.value == name for n in module.nodes)
    return not listed and all(n in replaced for n in loads) and not module.is_package


def drop_alias(statement: ast.ImportFrom, alias: ast.AST, module: Module, positions: Positions) -> list[Edit]:
    """Edits that drop one name from an import, or all of it where that is its only one."""
    names: list[ast.alias] = statement.names
    if statement not in module.tree.body:
        return []
    if len(names) == 1:
        same_line = [s for s in module.tree.body if s is not statement and s.lineno == statement.lineno]
        if same_line:
            return []
        start, _ = positions.line_span(statement.lineno)
        _, end = positions.line_span(statement.end_lineno or statement.lineno)
        return [Edit(start, end, "")]
    return cut_names(statement, {alias}, positions)


def cut_names(statement: IMPORTS, dropped: Collection[ast.AST], positions: Positions) -> list[Edit]:
    """Edits that cut names out of an import of which others stay, each with the comma beside it."""
    names = statement.names
    edits: list[Edit] = []
    for index, alias in enumerate(names):
        if alias not in dropped:
            continue
        if any(other not in dropped for other in names[index + 1 :]):
            edits.append(Edit(positions.span(alias)[0], positions.span(names[index + 1])[0], ""))
            continue
        last_kept = next(other for other in reversed(names[:index]) if other not in dropped)
        edits.append(Edit(positions.span(last_kept)[1], positions.span(names[-1])[1], ""))
        break
    return edits


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
