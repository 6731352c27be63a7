"""Which modules of a project run in one process: what some entry point imports, however far.

A repository of many programs is no program. What one of them stores is not there when another runs, so a question about
a function is one about the modules that can be loaded beside its own: those that lead to it by imports, as any of them
may be the entry point, and all that these import.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from jaxmigrate.flow.axes import last_name
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.string_imports import may_run, runs_others

IMPORTERS = frozenset({"import_module", "__import__", "run_path", "run_module", "exec_module", "load_module"})


CONFIGURED = frozenset(  # libraries that import what a file of another language, or an installed package, names
    {"entry_points", "fiddle", "gin", "hydra", "iter_entry_points", "kauldron", "load_entry_point", "pkg_resources"}
    | {"pluggy", "stevedore"}
)


class Loaded:
    """Answers by following imports both ways; answers are kept."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._imports: dict[Module, list[Module]] = {}
        self._importers: dict[Module, list[Module]] = {}
        self._answers: dict[Module, frozenset[Module]] = {}
        self._sets: dict[frozenset[Module], frozenset[Module]] = {}
        self._open: set[Module] = set()
        self._near: frozenset[Module] = frozenset()
        self._flagged: set[Module] = set()
        self._everything: frozenset[Module] | None = None

    def modules(self) -> Iterable[Module]:
        """The modules of the program, and those of the project that they import, however far."""
        if not self._imports:
            self._look(self.resolver.project.named)
            self._near = frozenset(self._imports)
            self._flagged = {module for module in self._imports if "config_flags" in module.text}
            self._look(self.resolver.project.beside)
            self._open = {module for module in self._imports if _is_configured(module)}
            self._follow_by_name()
            for module, found in self._imports.items():
                for one in found:
                    self._importers.setdefault(one, []).append(module)
        return self._imports

    def _look(self, modules: Iterable[Module]) -> None:
        """Finds what some modules import, however far."""
        pending = list(modules)
        while pending:
            module = pending.pop()
            if module not in self._imports:
                self._imports[module] = list(_imports(module, self.resolver))
                pending += self._imports[module]

    def beside(self, module: Module) -> frozenset[Module]:
        """The modules that may be loaded in a process that runs a function of one, itself included."""
        if module not in self._answers:
            everything = self.everything()
            found = _closure(_closure([module], self._importers), self._imports)
            if self._flagged and not self._flagged.isdisjoint(self._nearly(module)):
                found = _closure([*found, *self._configurations()], self._imports)
            open_ended = module not in self._imports or not self._open.isdisjoint(found)
            result = everything if open_ended else frozenset(found)
            self._answers[module] = self._sets.setdefault(result, result)
        return self._answers[module]

    def imported(self, module: Module) -> list[Module]:
        """The modules of the project that one imports."""
        self.modules()
        return self._imports.get(module, [])

    def everything(self) -> frozenset[Module]:
        """All modules, as if they ran in one process."""
        if self._everything is None:
            self._everything = frozenset(self.modules())
            self._sets[self._everything] = self._everything
        return self._everything

    def _nearly(self, module: Module) -> set[Module]:
        """The same as far as those modules go that were named, and what they import."""
        return _closure(_closure([module], self._importers, self._near), self._imports, self._near)

    def _configurations(self) -> list[Module]:
        """The modules that a flag may name: absl's programs run their `get_config`.

        A program can be given the configuration of any other; one that nothing but an entry point leads to is not
        taken to be.
        """
        return [module for module in self._near if "get_config" in module.table.root.bindings]

    def _follow_by_name(self) -> None:
        """What is imported by a name that the program computes: whatever its module has strings for, or anything."""
        dotted = {module: ".".join(module.path.with_suffix("").parts) for module in self._imports}
        for module, found in self._imports.items():
            if runs_others(module.text):
                found += [m for m in self._imports if m is not module and may_run(module.text, m.path)]
            calls = [c for c in module.table.calls if last_name(c.func) in IMPORTERS]
            if not calls:
                continue
            if all(prefixes := [_prefix_of(call) for call in calls]):
                found += [m for m, name in dotted.items() if any(f".{one}" in f".{name}" for one in prefixes)]
                continue
            words = [n.value for n in ast.walk(module.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            words = [w for w in words if "." in w and all(p.isidentifier() for p in w.strip(".").split("."))]
            named = [m for m, name in dotted.items() if any(f".{w}" in name for w in words)]
            found += named or [m for m in self._imports if m is not module]


def _prefix_of(call: ast.Call) -> str:
    """The package that an f-string begins with, from which a call imports something; empty where it has none."""
    match call.args[:1]:
        case [ast.JoinedStr(values=[ast.Constant(value=str(text)), *_])] if len(call.args) == 1 and not call.keywords:
            return f"{text.rpartition('.')[0]}." if "." in text.lstrip(".") else ""
    return ""


def _closure(
    start: Iterable[Module], edges: dict[Module, list[Module]], within: Collection[Module] | None = None
) -> set[Module]:
    seen, pending = set[Module](), list(start)
    while pending:
        module = pending.pop()
        if module not in seen and (within is None or module in within):
            seen.add(module)
            pending += edges.get(module, ())
    return seen


def _imports(module: Module, resolver: Resolver) -> Iterator[Module]:
    """What a module imports, and the packages that these, and it, lie in."""
    found = resolver.project.imported
    names: dict[tuple[str, int], None] = {(n.module or "", n.level): None for n in module.table.star_imports}
    for alias, statement in aliases(module):
        if statement is None:
            names[alias.name, 0] = None
        else:
            base = statement.module or ""
            names[base, statement.level] = None
            names[f"{base}.{alias.name}".lstrip("."), statement.level] = None
    for name, level in dict(names):
        parts = name.split(".")
        names.update({(".".join(parts[:i]), level): None for i in range(1, len(parts))})
    yield from (one for name, level in names if (one := found(module, name, level)) is not None)


def aliases(module: Module) -> Iterator[tuple[ast.alias, ast.ImportFrom | None]]:
    """What a module imports anywhere, with the `from` statement that it stands in."""
    for binding in module.table.imports:
        if isinstance(binding.node, ast.alias):
            statement = module.table.parents.get(binding.node)
            yield binding.node, statement if isinstance(statement, ast.ImportFrom) else None


def _is_configured(module: Module) -> bool:
    """Whether a module uses a library that loads other modules by itself."""
    if any(name in module.table.named for name in CONFIGURED):
        return True
    imported = (
        (alias.name.partition(".")[0],) if statement is None else (alias.name, *(statement.module or "").split("."))
        for alias, statement in aliases(module)
    )
    return any(not CONFIGURED.isdisjoint(names) for names in imported)
