"""JM505: a mesh is built when its module is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.eager import is_top_level
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.modules import Module
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.syntax import last_name

CODE = "JM505"
# What has to be before the backend starts
SETS = ("distributed.initialize", "jax_platform", "JAX_PLATFORM", "num_cpu_devices", "XLA_FLAGS", "CUDA_VISIBLE")
INDENTED = re.compile(rf"^[ \t][^\n]*?(?:{'|'.join(map(re.escape, SETS))})", re.MULTILINE)
PARSERS = frozenset({"parse_args", "parse_known_args"})
STARTS = "distributed.initialize"
SETTINGS = PARSERS | {STARTS, "config.update", "app.run"}


def check(facts: Facts) -> Iterator[Finding]:
    """Meshes of modules that are there to be imported, outside every function."""
    imported: dict[Module, bool] = {}
    for mesh in facts.meshes:
        if not is_top_level(mesh.call, mesh.module) or is_for_main(mesh.call, mesh.module):
            continue
        if mesh.module not in imported:
            imported[mesh.module] = not mesh.module.is_test and _is_imported(mesh.module, facts)
        if not imported[mesh.module]:
            continue
        message = "the mesh is built on import, which starts the backend before the program can configure it"
        yield from facts.finding(mesh.module, mesh.call, CODE, message)


def is_for_main(node: ast.AST, module: Module) -> bool:
    """Whether a node stands under a condition on `__name__`."""
    current: ast.AST | None = node
    while current is not None:
        if isinstance(current, ast.If) and "__name__" in ast.unparse(current.test):
            return True
        current = module.table.parents.get(current)
    return False


def _is_script(module: Module) -> bool:
    """Whether a module does a program's work as it is imported: it parses the command line, or runs loops."""
    plain = [node for node in module.tree.body if not is_for_main(node, module)]
    loops = any(isinstance(node, ast.For | ast.While | ast.With) for node in plain)
    calls = (node for one in plain if isinstance(one, ast.Expr | ast.Assign) for node in ast.walk(one.value))
    return loops or any(isinstance(node, ast.Call) and last_name(node.func) in PARSERS for node in calls)


def _sets_up(module: Module) -> bool:
    """Whether a module parses the command line or sets JAX up once it runs, which is after its imports.

    Where it starts JAX's processes as it is imported, the command line has nothing to say of them.
    """
    early, late = set[str](), set[str]()
    for call in module.table.calls:
        func = call.func
        around = f"{last_name(func.value)}." if isinstance(func, ast.Attribute) else ""
        named = {last_name(func), f"{around}{last_name(func)}"} & SETTINGS
        (late if not is_top_level(call, module) or is_for_main(call, module) else early).update(named)
    return bool(late - PARSERS if STARTS in early else late)


def _is_imported(module: Module, facts: Facts) -> bool:
    """Whether a module is written to be imported, or is, or sets up too late what its own mesh has started."""
    if not _is_script(module) and _sets_up(module) and any(is_for_main(node, module) for node in module.tree.body):
        return True
    if not any(map(_configures, texts_beside(module, facts.resolver))):
        return False  # nothing that the started backend would come before
    return _is_read_early(module, facts, {module})


def _configures(text: str) -> bool:
    """Whether a text says something within a block that has to be said before the backend starts."""
    if not any(word in text for word in SETS):
        return False
    return any(_is_late(text, found.start()) for found in INDENTED.finditer(text))


def _is_late(text: str, place: int) -> bool:
    """Whether a line stands in a function, or under a condition on `__name__`: it does not run on import."""
    lines = text[:place].splitlines()
    indent = re.match(r"[ \t]*", text[place:])
    depth = len(indent[0]) if indent is not None else 0
    for line in reversed(lines):
        own = len(line) - len(line.lstrip())
        if line.strip() and own < depth:
            depth = own
            if re.match(r"\s*(async )?def |if __name__", line):
                return True
    return False


def _is_read_early(module: Module, facts: Facts, seen: set[Module]) -> bool:
    """Whether a module is imported as a program starts: at the top of what is run, or of what is imported so."""
    for other, early in _importers(module, facts):
        if early and other not in seen:
            seen.add(other)
            first = not any(_importers(other, facts))
            if (first and _may_be_first(other)) or (not first and _is_read_early(other, facts, seen)):
                return True
    return False


def _may_be_first(module: Module) -> bool:
    """Whether a module may be what is run, or what another program imports: a package, a script, what sets JAX up."""
    runs = any(is_for_main(node, module) for node in module.tree.body) or any(word in module.text for word in SETS)
    return runs or _is_script(module) or module.path.name == "__init__.py" or module.path.suffix == ".ipynb"


def _importers(module: Module, facts: Facts) -> Iterator[tuple[Module, bool]]:
    """The modules that import one, and whether they do at their top."""
    project = facts.resolver.project
    for other in facts.modules:
        if other is module or other.is_test or module.path.stem not in other.text:
            continue
        for binding in other.table.imports:
            statement = other.table.parents.get(binding.node)
            name = statement.module or "" if isinstance(statement, ast.ImportFrom) else binding.name
            level = statement.level if isinstance(statement, ast.ImportFrom) else 0
            found = project.find(other, name, level) == module.path
            if not found and isinstance(binding.node, ast.alias):
                found = project.imported_path(binding.node, other) == module.path
            if found:
                yield other, binding.scope.kind == "module"
