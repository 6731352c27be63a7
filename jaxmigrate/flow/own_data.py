"""Tests of the host's code on what each process has of its own: a batch before it is made a part of a global array."""

from __future__ import annotations

import ast
import re

from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.order import reaching
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.syntax import last_name

MADE_GLOBAL = re.compile(r"make_array_from_process_local_data|host_local_array_to_global_array")
GATHERS = re.compile(r"process_allgather|(\b|_)(host|process)_(all_?)?gather|(all_?)?gather_(hosts|processes)")
LOCAL = re.compile(r"(^|_)local(_|$)")
ALIKE = frozenset({"len", "isinstance", "hasattr", "callable", "type"})  # what processes agree on, as a rule
FORM = frozenset({"shape", "ndim", "dtype", "size", "keys"})


@once_each
def own_data(module: Module, _resolver: Resolver) -> dict[str, list[list[Binding]]]:
    """The names of what a module makes parts of global arrays, or gathers from all processes, with their bindings.

    What is gathered may be global before: it counts where it is numpy's, or local by its name.
    """
    found: dict[str, list[list[Binding]]] = {}
    if MADE_GLOBAL.search(module.text) or ("gather" in module.text and GATHERS.search(module.text)):
        for call in module.table.calls:
            last = last_name(call.func)
            made, gathers = MADE_GLOBAL.search(last), GATHERS.search(last)
            data = call.args[1:2] if last.startswith("make_") else call.args[:1]
            for name in _read(data[0]) if data and (made or gathers) else ():
                bindings = _bound(name, module)
                if made or LOCAL.search(name.id) or (bindings and all(map(_is_numpy, bindings))):
                    found.setdefault(name.id, []).append(bindings)
    return found


def reads_own_data(test: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a test reads the numbers in what is joined with other processes' parts elsewhere."""
    known = own_data(module, resolver)
    for name in _read(test) if known else ():
        own = _bound(name, module) if name.id in known else []
        if own and any(joined and all(one in own for one in joined) for joined in known[name.id]):
            return True
    return False


def _read(node: ast.expr) -> list[ast.Name]:
    """The names whose values a test reads, not their lengths or whether there is anything."""
    match node:
        case ast.Name():
            return [node]
        case ast.Attribute(attr=attr) if attr in FORM or attr.startswith("is_"):
            return []
        case ast.Call(func=function) if isinstance(function, ast.Name) and function.id in ALIKE:
            return []
        case ast.Compare(ops=ops) if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in ops):
            return []
    inner = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    inner += [one.value for one in ast.iter_child_nodes(node) if isinstance(one, ast.keyword)]
    return [name for one in inner for name in _read(one)]


def _bound(name: ast.Name, module: Module) -> list[Binding]:
    """The assignments that a name can have where it stands, of its own function."""
    scope = module.table.scope_of[name]
    holder = scope.lookup(name.id)
    if holder is None or holder.function() is not scope.function():
        return []
    return [*reaching(holder.bindings[name.id], name, module)]


def _is_numpy(binding: Binding) -> bool:
    """Whether a name is bound to an array that numpy makes."""
    value = binding.value
    owner = value.func.value if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "onp")
