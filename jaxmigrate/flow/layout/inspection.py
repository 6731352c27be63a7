"""Whether code that looks at the frames around it only asks where it is called: for a file, a line, a function's name.

A frame shows all variables of a function, so that one that goes elsewhere may read arrays, or keep them. What a message
needs is read where the frames are asked for: `inspect.getouterframes(inspect.currentframe())[1].lineno`.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.program.modules import Module

PLACES = frozenset({"code_context", "co_filename", "co_name", "f_lineno", "filename", "function", "lineno"})
SHOWS = frozenset({"inspect.getframeinfo", "inspect.getouterframes"})  # the same frames


def asks_for_places(call: ast.expr, module: Module, idioms: Idioms) -> bool:
    """Whether nothing of the frames that a call gives is read but places."""
    parent = module.table.parents.get(call)
    match parent:
        case ast.Attribute(value=value, attr=attr, ctx=ast.Load()) if value is call:
            return attr in PLACES or (attr == "f_code" and asks_for_places(parent, module, idioms))
        case ast.Subscript(value=value, ctx=ast.Load()) if value is call:
            return asks_for_places(parent, module, idioms)
        case ast.Call(func=func, args=[given, *_]) if given is call and idioms.external(func, module) in SHOWS:
            return asks_for_places(parent, module, idioms)
        case ast.Assign(targets=[ast.Name() as name], value=value) if value is call:
            return _names_places(name, module, idioms)
    return False


def _names_places(name: ast.Name, module: Module, idioms: Idioms) -> bool:
    """Whether a local variable that holds such frames is read for places alone, and by its own function alone."""
    scope = module.table.scope_of[name]
    read = [n for n in module.table.references if isinstance(n, ast.Name) and n.id == name.id]
    own = scope.kind == "function" and len(scope.bindings.get(name.id, ())) == 1 and name.id not in scope.outer_names
    return own and all(module.table.scope_of[n] is scope and asks_for_places(n, module, idioms) for n in read)
