"""Which calls can lead to a map, told by names alone.

Most calls of a program have nothing to do with `pmap` or `shard_map`, and working out what each of them calls would
cost more than all the rest. A call is followed only where a name in it is that of a map, or of something whose text
holds one: a function with parameters, a class, a partial. Other modules are opened only if their text mentions a map.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.program import words
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.scopes import Binding, all_parameters, walk

MAPS = frozenset(words.MAPS)
_DEEPEST = 4


class Names(NamedTuple):
    """Names that lead to maps in a module: those that it can use by themselves, and those behind a dot."""

    plain: frozenset[str]
    dotted: frozenset[str]


class MapPrefilter:
    """Answers which calls may lead to a map; remembers each module's names."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._own: dict[Module, frozenset[str]] = {}
        self._visible: dict[Module, Names] = {}
        self._calls: dict[Module, list[ast.Call]] = {}

    def calls(self, module: Module) -> list[ast.Call]:
        """The calls of a module that may lead to a map."""
        if module not in self._calls:
            found = set(self._leading(module))
            self._calls[module] = [call for call in module.table.calls if call in found] if found else []
        return self._calls[module]

    def _leading(self, module: Module) -> Iterator[ast.Call]:
        """The calls for which `may_lead` holds, found from the names."""
        names = self.visible(module)
        parents, named = module.table.parents, module.table.named
        for name in names.dotted:
            for node in named.get(name, ()):
                if isinstance(node, ast.Attribute) or name in names.plain:
                    yield from _calling(node, parents)
                if isinstance(node, ast.Name) and name in names.plain:
                    yield from _given(node, parents)

    def may_lead(self, call: ast.Call, module: Module) -> bool:
        """Whether a call may lead to a map, itself or by what it is given."""
        names = self.visible(module)
        if _leads(call.func, names):
            return True
        for one in call.args:
            if isinstance(one, ast.Name) and one.id in names.plain:
                return True
        return any(isinstance(one.value, ast.Name) and one.value.id in names.plain for one in call.keywords)

    def mentions(self, expression: ast.expr, module: Module) -> bool:
        """Whether any name in an expression may lead to a map."""
        return _mentions(expression, self.visible(module))

    def visible(self, module: Module) -> Names:
        """The names that may lead to a map where they are used in a module, imported ones included."""
        if module not in self._visible:
            own = self.own(module)
            imported = set(own)
            dotted = set(own)
            for binding in module.table.imports:
                if binding.kind == "from" and self._brings(binding, module, 0):
                    imported.add(binding.name)
                if (source := self._source(binding, module)) is not None:
                    dotted |= self.own(source)
            self._visible[module] = Names(frozenset(imported), frozenset(dotted | imported))
        return self._visible[module]

    def own(self, module: Module, depth: int = 0) -> frozenset[str]:
        """The names defined in a module that stand for maps or for what has one in it."""
        if module not in self._own:
            self._own[module] = MAPS  # for modules that import one another
            if self._mentions_map(module.path):
                self._own[module] = self._spread(module, depth)
        return self._own[module]

    def _brings(self, binding: Binding, module: Module, depth: int) -> bool:
        """Whether a from-import brings in something that leads to a map, through re-exports too."""
        alias, statement = binding.node, module.table.parents.get(binding.node)
        if not isinstance(alias, ast.alias) or not isinstance(statement, ast.ImportFrom) or depth > _DEEPEST:
            return False
        path = self.project.find(module, statement.module or "", statement.level)
        if path is None or not (self._mentions_map(path) or path.name == "__init__.py"):
            return False
        if alias.name not in (self.project.text(path) or ""):
            return False
        source = self.project.module(path)
        if source is None or source is module:
            return False
        if alias.name in self.own(source, depth + 1):
            return True
        behind = source.table.root.bindings.get(alias.name, [])
        return any(self._brings(b, source, depth + 1) for b in behind if b.kind == "from")

    def _source(self, binding: Binding, module: Module) -> Module | None:
        """The module that an import stands for, if its text mentions a map."""
        path = self.project.imported_path(binding.node, module) if isinstance(binding.node, ast.alias) else None
        if path is None or not self._mentions_map(path):
            return None
        source = self.project.module(path)
        return None if source is module else source

    def _mentions_map(self, path: Path) -> bool:
        """Whether the text of a file mentions a map."""
        return self.project.holds(path, words.MAPS)  # a search for each is faster than a pattern for all

    def _spread(self, module: Module, depth: int) -> frozenset[str]:
        """Maps, what they are imported as, and, again and again, the definitions that mention one of these names."""
        found = set(MAPS)
        for node in module.table.star_imports:
            path = self.project.find(module, node.module or "", node.level)
            source = self.project.module(path) if path is not None and depth < _DEEPEST else None
            if source is not None and source is not module:
                found |= self.own(source, depth + 1)
        found |= {b.name for b in module.table.imports if isinstance(b.node, ast.alias) and b.node.name in MAPS}
        pending = list(found)
        while pending:
            for reference in module.table.named.get(pending.pop(), ()):
                fresh = {*_holders(reference, module)} - found
                found |= fresh
                pending += fresh
        return frozenset(found)


def _calling(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> Iterator[ast.Call]:
    """The call of an expression, and those of what a call with it in it gives."""
    parent = parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        yield parent
    inner: ast.AST = node
    while isinstance(parent, ast.expr | ast.keyword | ast.comprehension):
        if isinstance(parent, ast.Call) and parent.func is inner and isinstance(inner, ast.Call):
            yield parent
        inner, parent = parent, parents.get(parent)


def _given(node: ast.Name, parents: Mapping[ast.AST, ast.AST]) -> Iterator[ast.Call]:
    """The call that is given a name."""
    parent = parents.get(node)
    call = parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if isinstance(call, ast.Call) and call.func is not node:
        yield call


def _leads(callee: ast.expr, names: Names) -> bool:
    match callee:
        case ast.Name(id=name):
            return name in names.plain
        case ast.Attribute(attr=name):
            return name in names.dotted
        case ast.Call():
            return _mentions(callee, names)
    return False


def _mentions(expression: ast.expr, names: Names) -> bool:
    return any(isinstance(node, ast.Name | ast.Attribute) and _leads(node, names) for node in walk(expression))


def _holders(node: ast.AST, module: Module) -> Iterator[str]:
    """The names that a call could use to reach a reference: its functions with parameters, its classes, its aliases."""
    parents = module.table.parents
    callee = node
    parent = parents.get(node)
    displayed: ast.AST = node  # in `step, options = (pmap, {}) if devices > 1 else (jit, {})`
    while parent is not None:
        if isinstance(parent, ast.Tuple | ast.IfExp) and parents.get(displayed) is parent:
            displayed = parent
        match parent:
            case ast.FunctionDef(name=name, args=args) | ast.AsyncFunctionDef(name=name, args=args):
                decorated = callee in parent.decorator_list
                if not decorated and next(all_parameters(args), None) is not None:
                    yield name
                callee = parent
            case ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Tuple(elts=elements)]) if parents.get(displayed) is parent:
                yield from (one.id for one in elements if isinstance(one, ast.Name))
            case ast.Assign(targets=targets) if callee is node:
                yield from (t.id for t in targets if isinstance(t, ast.Name))
                yield from (t.attr for t in targets if isinstance(t, ast.Attribute))
            case ast.Call(func=func) if func is callee:
                callee = parent  # what a map makes is not a map
        parent = parents.get(parent)
