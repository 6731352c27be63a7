"""The names by which code can come to hold what is stacked or mapped, or what makes and takes such things."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.values import (
    Abstract,
    Bound,
    Dct,
    Func,
    Method,
    MethodSite,
    Mixed,
    Nothing,
    Obj,
    Padded,
    Plain,
    Seq,
    Site,
    Stage,
    Tup,
    is_tracked,
)
from jaxmigrate.program.sites import mapped_values
from jaxmigrate.program.values import Class, Function, Partial

IDLE = (Plain, Nothing)
GROWING = (Func, Obj, Tup, Mixed, Seq, Dct)  # whether these lead depends on what else does


def leading_names(it: Interpreter) -> tuple[set[str], dict[Path, set[str]]]:
    """The names by which code can reach what is stacked, mapped, or makes and takes such things.

    All of them, and by file those that can be seen from other files.
    """
    return _Leading(it).names()


class _Leading:
    """Grows the functions and classes that lead to stacked arrays until no more do."""

    def __init__(self, it: Interpreter) -> None:
        self.it = it
        self.functions: set[ast.AST] = set(self._around())
        self.roots: set[ast.ClassDef] = set()
        self.waiting = list(self._given())  # what may come to lead, as more functions and classes do

    def names(self) -> tuple[set[str], dict[Path, set[str]]]:
        while self._grow():
            pass
        found: set[str] = set()
        seen: dict[ast.AST, set[str]] = {}
        for key, value in self.it.variables.items():
            if key[0] in ("variable", "attribute") and not isinstance(value, IDLE) and self._leads(value):
                found.add(str(key[2]))
                seen.setdefault(key[1], set()).add(str(key[2]))  # type: ignore[arg-type]
        for tree, held in self.it.scope.globals.items():
            for name, values in held.items():
                if any(map(self._leads, values)):
                    found.add(name)
                    seen.setdefault(tree, set()).add(name)
        outside: dict[Path, set[str]] = {}
        for module in self.it.modules:
            visible = outside.setdefault(module.path, set()) | seen.get(module.tree, set())
            for node in module.table.own_scope:
                if node in self.functions and (name := getattr(node, "name", "")):
                    found.add(name)
                    if module.table.scope_of[node].kind != "function":
                        visible.add(name)
                elif isinstance(node, ast.ClassDef) and self.it.root(Class(module, node)) in self.roots:
                    found.add(node.name)
                    visible |= {node.name, *seen.get(self.it.root(Class(module, node)), ())}
            outside[module.path] = visible
        return found, outside

    def _given(self) -> Iterator[tuple[set[ast.AST] | set[ast.ClassDef], ast.AST, Abstract]]:
        """What functions take and give, and what attributes hold, with the set that the function or class may join."""
        for key, value in self.it.variables.items():
            if isinstance(value, IDLE):
                continue
            match key:
                case ("parameter" | "return", ast.AST() as node, *_):
                    yield self.functions, node, value
                case ("attribute", ast.ClassDef() as root, *_):
                    yield self.roots, root, value

    def _around(self) -> Iterator[ast.AST]:
        """What holds a site or an operation, and what maps run."""
        places = [(op.node, op.module) for op in self.it.operations.ops.values()]
        places += [(node, site.module) for node, site in self.it.sites.items()]
        for node, module in places:
            scope = module.table.scope_of.get(node)
            while scope is not None:
                if isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                    yield scope.node
                scope = scope.parent
            parent = module.table.parents.get(node)
            if isinstance(parent, ast.FunctionDef) and node in parent.decorator_list:
                yield parent
        for node, site in self.it.sites.items():
            seen = self.it.maps.mapped.get(node)
            items = [*mapped_values(site, self.it.resolver), *(seen.items if isinstance(seen, Func) else ())]
            for item in items:
                function = item.callee if isinstance(item, Partial) else item
                if isinstance(function, Function):
                    yield function.node

    def _grow(self) -> bool:
        before = len(self.functions), len(self.roots)
        waiting: list[tuple[set[ast.AST] | set[ast.ClassDef], ast.AST, Abstract]] = []
        for found, node, value in self.waiting:
            if node in found:
                continue
            if self._leads(value):
                found.add(node)  # type: ignore[arg-type]
            elif isinstance(value, GROWING):
                waiting.append((found, node, value))
        self.waiting = waiting
        for node in [*self.functions]:
            function = self.it.bodies.functions.get(node)  # type: ignore[call-overload]
            cls = getattr(getattr(function, "receiver", None), "cls", None)
            if cls is not None:
                self.roots.add(self.it.root(cls))
        for module in self.it.modules:
            for node in self.functions & module.table.own_scope.keys():
                scope = module.table.scope_of[node]
                if scope.kind == "class" and isinstance(scope.node, ast.ClassDef):
                    self.roots.add(self.it.root(Class(module, scope.node)))
        return (len(self.functions), len(self.roots)) != before

    def _leads(self, value: Abstract, seen: set[int] | None = None) -> bool:
        seen = set() if seen is None else seen
        match value:
            case Func(items=items):
                return any(self._item_leads(item, seen) for item in items)
            case Obj(cls=cls):
                return self.it.root(cls) in self.roots
            case Tup(parts=parts) | Mixed(values=parts):
                return any(self._leads(part, seen) for part in parts)
            case Seq(box=box) | Dct(box=box):
                if id(box) in seen:
                    return False
                seen.add(id(box))
                return any(self._leads(inner, seen) for inner in (box.element, *box.fields.values()))
        return is_tracked(value)

    def _item_leads(self, item: object, seen: set[int]) -> bool:
        match item:
            case Site() | MethodSite() | Stage() | Method():
                return True
            case Function(node=node):
                return node in self.functions
            case Class():
                return self.it.root(item) in self.roots
            case Bound(node=node) | Padded(node=node) if id(node) not in seen:
                seen.add(id(node))
                return any(self._leads(one, seen) for one in self.it.wrapped(item))
        return False
