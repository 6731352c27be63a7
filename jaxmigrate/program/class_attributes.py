"""What the class bodies of a program bind, but for methods: `done: bool = False`, `n = device_count()`."""

from __future__ import annotations

from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding


@once
def class_attributes(resolver: Resolver) -> dict[str, list[tuple[Binding, Module]]]:
    """The bindings in class bodies, by name."""
    found: dict[str, list[tuple[Binding, Module]]] = {}
    for module in resolver.project.program:
        for scope in module.table.own_scope.values():
            for name, bindings in scope.bindings.items() if scope.kind == "class" else ():
                for one in bindings:
                    if one.kind != "def":
                        found.setdefault(name, []).append((one, module))
    return found
