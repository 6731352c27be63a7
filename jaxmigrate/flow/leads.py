"""Which calls can lead to a map, told by names alone.

Most calls of a program have nothing to do with `pmap` or `shard_map`, and working out what each of them calls would
cost more than all the rest. A call is followed only where a name in it is that of a map, or of something whose text
holds one: a function with parameters, a class, a partial. Other modules are opened only if their text mentions a map.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.scopes import Binding, all_parameters

MAPS = frozenset({"pmap", "shard_map", "smap", "xmap"})
_MENTION = re.compile("|".join(sorted(MAPS)))
_DEEPEST = 4


class Leads:
    """Answers which calls may lead to a map; remembers each module's names."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._names: dict[Module, frozenset[str]] = {}

    def names(self, module: Module, depth: int = 0) -> frozenset[str]:
        """The names in a module that stand for maps or for what has one in it."""
        if module not in self._names:
            self._names[module] = MAPS  # for modules that import one another
            if _MENTION.search(module.text):
                self._names[module] = self._spread(module, depth)
        return self._names[module]

    def may_lead(self, call: ast.Call, module: Module) -> bool:
        """Whether a call may lead to a map, itself or by what it is given."""
        if self._leads(call.func, module, 0):
            return True
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return any(isinstance(one, ast.Name) and one.id in self.names(module) for one in given)

    def mentions(self, expression: ast.expr, module: Module) -> bool:
        """Whether any name in an expression may lead to a map."""
        return any(isinstance(n, ast.Name | ast.Attribute) and self._leads(n, module, 0) for n in ast.walk(expression))

    def _leads(self, callee: ast.expr, module: Module, depth: int) -> bool:
        match callee:
            case ast.Name(id=name):
                if name in self.names(module):
                    return True
                holder = module.table.scope_of[callee].lookup(name)
                bindings = holder.bindings[name] if holder is not None else []
                return any(self._imports(binding, module, depth) for binding in bindings if binding.kind == "from")
            case ast.Attribute(value=owner, attr=name):
                if name in self.names(module):
                    return True
                return any(name in self.names(source, depth + 1) for source in self._owners(owner, module))
            case ast.Call():
                return self.mentions(callee, module)
        return False

    def _imports(self, binding: Binding, module: Module, depth: int) -> bool:
        """Whether a from-import brings in something that leads to a map, through re-exports too."""
        alias, statement = binding.node, module.table.parents.get(binding.node)
        if not isinstance(alias, ast.alias) or not isinstance(statement, ast.ImportFrom) or depth > _DEEPEST:
            return False
        path = self.project.find(module, statement.module or "", statement.level)
        text = self.project.text(path) if path is not None else None
        if path is None or text is None or alias.name not in text:
            return False
        if not _MENTION.search(text) and path.name != "__init__.py":
            return False
        source = self.project.module(path)
        if source is None or source is module:
            return False
        if alias.name in self.names(source, depth + 1):
            return True
        behind = source.table.root.bindings.get(alias.name, [])
        return any(self._imports(b, source, depth + 1) for b in behind if b.kind == "from")

    def _owners(self, owner: ast.expr, module: Module) -> Iterator[Module]:
        """The modules that a name before a dot may stand for, if their text mentions a map."""
        if not isinstance(owner, ast.Name):
            return
        holder = module.table.scope_of[owner].lookup(owner.id)
        for binding in holder.bindings[owner.id] if holder is not None else []:
            path = self.project.imported_path(binding.node, module) if isinstance(binding.node, ast.alias) else None
            text = self.project.text(path) if path is not None else None
            if path is not None and text is not None and _MENTION.search(text):
                source = self.project.module(path)
                if source is not None and source is not module:
                    yield source

    def _spread(self, module: Module, depth: int) -> frozenset[str]:
        """Maps, what they are imported as, and, again and again, the definitions that mention one of these names."""
        found = set(MAPS)
        for node in module.table.star_imports:
            path = self.project.find(module, node.module or "", node.level)
            source = self.project.module(path) if path is not None and depth < _DEEPEST else None
            if source is not None and source is not module:
                found |= self.names(source, depth + 1)
        found |= {
            node.asname
            for node in module.table.parents
            if isinstance(node, ast.alias) and node.name in MAPS and node.asname is not None
        }
        for _ in range(_DEEPEST):
            before = len(found)
            for reference in module.table.references:
                if (reference.id if isinstance(reference, ast.Name) else reference.attr) in found:
                    found.update(_holders(reference, module))
            if len(found) == before:
                break
        return frozenset(found)


def _holders(node: ast.AST, module: Module) -> Iterator[str]:
    """The names that a call could use to reach a reference: its functions with parameters, its classes, its aliases."""
    parents = module.table.parents
    callee = node
    parent = parents.get(node)
    while parent is not None:
        match parent:
            case ast.FunctionDef(name=name, args=args) | ast.AsyncFunctionDef(name=name, args=args):
                decorated = callee in parent.decorator_list
                if not decorated and next(all_parameters(args), None) is not None:
                    yield name
                callee = parent
            case ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets) if callee is node:
                yield from (t.id for t in targets if isinstance(t, ast.Name))
                yield from (t.attr for t in targets if isinstance(t, ast.Attribute))
            case ast.Call(func=func) if func is callee:
                callee = parent  # what a map makes is not a map
        parent = parents.get(parent)
