"""What a project maps by vmap: where a callback is called once for each row, and a tap was called once for all."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxmigrate.migrate.api_updates.texts import Texts
from jaxmigrate.program.mentions import defined, mentioned, reached
from jaxmigrate.program.modules import Module, parse_module
from jaxmigrate.program.old_uses import OldReference
from jaxmigrate.program.syntax import last_name

BATCHED = ("vmap", "filter_vmap", "xmap", "vectorize")
ANYTHING = "*"  # what has no name in sight
Named = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Batches:
    """What the files of a project map by vmap, looked up where something asks."""

    texts: Texts

    def may_hold(self, use: OldReference) -> bool:
        """Whether a use may stand in what is mapped so, by the names that this leads to."""
        around = [*_around(use.node, use.module)] or [last_name(use.node)]
        return ANYTHING in self._names or not self._names.isdisjoint(around)

    @cached_property
    def _names(self) -> frozenset[str]:
        if not any(self.texts.mention(word) for word in BATCHED):
            return frozenset()
        modules = _parsed(self.texts)
        definitions = defined(modules)
        return reached((name for module in modules for name in _mapped(module, definitions)), definitions)


def _parsed(texts: Texts) -> list[Module]:
    """The files of a project that parse."""
    modules = []
    for number, text in enumerate(texts.texts):
        try:
            modules.append(parse_module(Path(f"{number}.py"), text))
        except SyntaxError:
            continue
    return modules


def _mapped(module: Module, definitions: Mapping[str, Collection[str]]) -> Iterator[str]:
    """The names in what vmap is given, and ANYTHING where that is not in sight."""
    if any(alias.name.rpartition(".")[2] in BATCHED for alias in _renamed(module)):
        yield ANYTHING
    for node in (one for word in BATCHED for one in module.table.named.get(word, ())):
        yield from _given(node, module, definitions)


def _renamed(module: Module) -> Iterator[ast.alias]:
    return (one for statement in module.table.import_statements for one in statement.names if one.asname)


def _given(node: ast.expr, module: Module, definitions: Mapping[str, Collection[str]]) -> list[str]:
    """The names in what one vmap is given."""
    above = module.table.parents.get(node)
    if isinstance(above, ast.Call) and above.func is node and above.args:
        given = above.args[0]
        found = [*mentioned(given)]
        in_sight = isinstance(given, ast.Lambda) or (last_name(given) in definitions and not _is_given(given, module))
        return found if in_sight else [ANYTHING]
    if isinstance(above, ast.Call):  # a decorator of options, or a partial of it
        node, above = above, module.table.parents.get(above)
    return [above.name] if isinstance(above, Named) and node in above.decorator_list else [ANYTHING]


def _is_given(node: ast.expr, module: Module) -> bool:
    """Whether a name is that of a parameter, which has no definition."""
    scope = module.table.scope_of.get(node)
    holder = scope.lookup(node.id) if scope is not None and isinstance(node, ast.Name) else None
    return holder is not None and any(one.kind == "param" for one in holder.bindings[last_name(node)])


def _around(node: ast.AST, module: Module) -> Iterator[str]:
    """The names of the functions and classes around a node, unless a lambda is nearer, which has none."""
    above = module.table.parents.get(node)
    while above is not None:
        if isinstance(above, ast.Lambda):
            return
        if isinstance(above, Named | ast.ClassDef):
            yield above.name
        above = module.table.parents.get(above)
