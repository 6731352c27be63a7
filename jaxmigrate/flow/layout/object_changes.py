"""What may change the attributes of a program's objects between two readings, and call methods by their names."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

CHANGING = frozenset(  # methods that may change their object, and functions that may change what they are given
    {"add", "append", "appendleft", "clear", "copyto", "difference_update", "discard", "extend", "fill", "heapify"}
    | {"heappop", "heappush", "insert", "intersection_update", "merge_from_file", "merge_from_list", "parse_args"}
    | {"pop", "popitem", "popleft", "put", "remove", "reverse", "rotate", "setdefault", "shuffle", "sort", "update"}
    | {"update_from"}
)


class Changes:
    """What may change the attributes of objects of a program, and call its methods, by the names that these have."""

    def __init__(self, resolver: Resolver) -> None:
        texts = [module.text for module in resolver.project.program]
        modules = [module for module in resolver.project.program if "getattr" in module.text]
        self.by_getattr = any(_asks_by_name(node, module, resolver) for module in modules for node in module.nodes)
        self.by_name = any(word in text for text in texts for word in ("setattr(", "vars(", "__dict__"))
        self.owners: set[str] = set()  # of `config.update(...)`
        for module in resolver.project.program:
            for call in module.table.calls:
                if last_name(call.func) in CHANGING:
                    given = [*call.args, *(keyword.value for keyword in call.keywords)]
                    held = [call.func.value] if isinstance(call.func, ast.Attribute) else []
                    self.owners |= {last_name(one) for one in (*held, *given)}

    def may_change(self, owner: ast.expr) -> bool:
        """Whether something may give an attribute of an object another value."""
        return self.by_name or last_name(owner) in self.owners


def _asks_by_name(node: ast.AST, module: Module, resolver: Resolver) -> bool:
    """Whether an expression is `getattr`, but where that asks a module of a library: `getattr(jax.nn, name)`."""
    if not isinstance(node, ast.Name) or node.id != "getattr":
        return False
    call = module.table.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node or not call.args:
        return True
    values = resolver.values(call.args[0], module) if isinstance(call.args[0], ast.Name | ast.Attribute) else ()
    return not values or not all(isinstance(one, External) for one in values)


@once
def changes_of(resolver: Resolver) -> Changes:
    """The changes of a program, for all who ask the same resolver."""
    return Changes(resolver)
