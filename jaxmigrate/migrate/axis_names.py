"""What a file calls a mapped axis: a constant of its own for the name, `PMAP_AXIS`, or that of a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.program.collectives import PMAPS, VMAP
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.imports import loaded
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Class, Constant, External, Function, ModuleValue

WRAPS = PMAPS | JITS | PARTIALS | {VMAP}  # which run what they are given only later


@dataclass(frozen=True, eq=False)
class AxisNames:
    """The constants of one file that stand for axes; `first` is the first line of its top that is to say one."""

    module: Module
    resolver: Resolver
    quote: str
    first: float = float("inf")
    _found: dict[str, str] = field(default_factory=dict)

    def of(self, axis: str) -> str:
        """The source of the name of an axis."""
        if axis not in self._found:
            self._found[axis] = next(self._constants(axis), f"{self.quote}{axis}{self.quote}")
        return self._found[axis]

    def _constants(self, axis: str) -> Iterator[str]:
        """The constants of the file that are an axis, and those of modules that it imports by their names."""
        root = self.module.table.root
        known = [
            name
            for name, (one, *_) in root.bindings.items()
            if (_is_about(name) or one.kind in ("import", "from")) and self._is_known(name)
        ]
        values = {name: self.resolver.name_values(name, root, self.module) for name in known}
        yield from (name for name in known if _is_about(name) and values[name] == (Constant(axis),))
        for name in known:
            match values[name]:
                case (ModuleValue(module=other),):
                    for constant in other.table.root.bindings if self._has_run(other, axis) else ():
                        found = (
                            self.resolver.name_values(constant, other.table.root, other) if _is_about(constant) else ()
                        )
                        if found == (Constant(axis),):
                            yield f"{name}.{constant}"

    def _has_run(self, other: Module, axis: str) -> bool:
        """Whether a module that says an axis has run once the file imports it: perhaps not, if it imports the file."""
        says = f"'{axis}'" in other.text or f'"{axis}"' in other.text
        return says and self.module.path not in loaded(other.path, other.text, self.resolver.project)

    def _is_known(self, name: str) -> bool:
        """Whether a name of the top means the same all over the file, below the place where it is bound."""
        table = self.module.table
        bindings = table.root.bindings.get(name, [])
        if len(bindings) != 1 or bindings[0].kind not in ("assign", "from", "import"):
            return False
        node = bindings[0].node
        statement = next(
            (one for one in self.module.tree.body if one is node or node in getattr(one, "names", ())), None
        )
        if statement is None or statement.lineno >= min(self.first, self._first_run):
            return False
        return all(name not in scope.bindings for scope in table.own_scope.values() if scope is not table.root)

    @cached_property
    def _first_run(self) -> float:
        """The first line of the file's top that may run functions of the project, in which the axis may be said."""
        table = self.module.table
        at_top = (call for call in table.calls if table.function_of(call) is None)
        named = [d for one in self.module.tree.body for d in getattr(one, "decorator_list", ())]
        lines = [call.lineno for call in at_top if self._may_run(call)]
        lines += [d.lineno for d in named if not isinstance(d, ast.Call) and not self._is_library_function(d)]
        return min(lines, default=float("inf"))

    def _may_run(self, call: ast.Call) -> bool:
        """Whether a call may be of a function of the project, or gives one to a library that may run it."""
        base: ast.expr = call.func
        while isinstance(base, ast.Attribute | ast.Call | ast.Subscript):
            base = base.func if isinstance(base, ast.Call) else base.value
        called = self.resolver.values(call.func, self.module)
        if any(isinstance(one, Function | Class) for one in called):
            return True
        if not isinstance(base, ast.Constant) and not self._is_of_library(base):
            return True
        if called and all(isinstance(one, External) and one.name in WRAPS for one in called):
            return False
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        held = [one for one in given if isinstance(one, ast.Name | ast.Attribute | ast.Lambda)]
        return any(isinstance(v, Function | Class) for one in held for v in self.resolver.values(one, self.module))

    def _is_library_function(self, node: ast.expr) -> bool:
        values = self.resolver.values(node, self.module)
        return bool(values) and all(isinstance(one, External) for one in values)

    def _is_of_library(self, node: ast.expr) -> bool:
        """Whether what something is called of comes from a library: a module, a function, what one has made."""
        values = self.resolver.values(node, self.module) if isinstance(node, ast.Name) else ()
        made = (one.callee if isinstance(one, Application) else one for one in values)
        return bool(values) and all(isinstance(one, External) for one in made)


def _is_about(name: str) -> bool:
    return "axis" in name.lower()


def is_of_module(node: ast.expr, resolver: Resolver, module: Module) -> bool:
    """Whether an expression is a name of a module that the file imports, `constants.AXIS`."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    scope = module.table.scope_of.get(node.value)
    at_top = scope is not None and scope.lookup(node.value.id) is module.table.root
    return at_top and isinstance(resolver.value(node.value, module), ModuleValue)
