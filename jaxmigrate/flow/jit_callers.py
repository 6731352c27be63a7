"""What jit compiles in a module, and which functions certainly call it that no map enters: the host's, as it looks."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, External

JITS = named("jit")
LAST_JITS = last_names("jit")
OF_HOST = re.compile(
    r"process_index|logging\.|\bprint\(|writer|\bopen\(|block_until_ready|device_get|wandb|argparse|FLAGS|\bnext\(|replicate\("
)
OF_WHOLE_PROGRAMS = ("in_shardings", "out_shardings", "donate_argnums", "donate_argnames")


def jitted(module: Module, resolver: Resolver) -> Iterator[tuple[Application, ast.AST]]:
    """What jit makes of functions in a module, each with the call or the def."""
    for node in (n for name in LAST_JITS for n in module.table.named.get(name, ())):
        place: ast.AST | None = node
        while isinstance(place, ast.expr | ast.keyword):
            above = module.table.parents.get(place)
            if isinstance(above, ast.FunctionDef) and place in above.decorator_list:
                value = resolver.decorated(above, module)
                if isinstance(value, Application) and _is_jit(value):
                    yield value, above
            elif isinstance(place, ast.Call):
                value = resolver.value(place, module)
                if isinstance(value, Application) and _is_jit(value) and value.node is place:
                    yield value, place
            place = above


def _is_jit(value: Application) -> bool:
    return isinstance(value.callee, External) and value.callee.name in JITS


def callers(
    value: Application, node: ast.AST, module: Module, entered: Collection[object]
) -> list[ast.AST | None] | None:
    """The functions that certainly call something compiled and that no map enters, a module being None.

    None where it gives arrays away, or has shardings: then the host calls it, wherever that is.
    """
    parent = module.table.parents.get(node)
    name = ""
    if isinstance(node, ast.FunctionDef):
        name = node.name
    elif isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name | ast.Attribute):
        name = last_name(parent.targets[0])
    elif isinstance(parent, ast.Call) and parent.func is node:
        around = _around(node, module)
        return [around] if around not in entered else []
    called = _called_in(name, module, {*entered, node})
    if isinstance(node, ast.FunctionDef) and not called:
        called = [one for made in _returned_to(node, module) for one in _called_in(made, module, {*entered, node})]
    if not called and any(one.keyword in OF_WHOLE_PROGRAMS for one in value.arguments):
        return None
    return called


def _called_in(name: str, module: Module, entered: Collection[object]) -> list[ast.AST | None]:
    """The functions of a module that call a name, or compile what it holds ahead of time."""
    found: list[ast.AST | None] = []
    for used in module.table.named.get(name, ()):
        call = module.table.parents.get(used)
        if isinstance(call, ast.Attribute) and call.attr == "lower":
            call = module.table.parents.get(call)
        if not isinstance(call, ast.Call) or _around(call, module) in entered:
            continue
        if call.func is used or (isinstance(call.func, ast.Attribute) and call.func.value is used):
            found.append(_around(call, module))
    return found


def _returned_to(function: ast.FunctionDef, module: Module) -> Iterator[str]:
    """The names that hold what a factory returns, where that is a function made in it."""
    maker = module.table.parents.get(function)
    if not isinstance(maker, ast.FunctionDef):
        return
    if not any(isinstance(one, ast.Name) and one.id == function.name for one in returned_by(maker)):
        return
    for used in module.table.named.get(maker.name, ()):
        call = module.table.parents.get(used)
        target = module.table.parents.get(call) if isinstance(call, ast.Call) and call.func is used else None
        if isinstance(target, ast.Assign) and isinstance(target.targets[0], ast.Name):
            yield target.targets[0].id


def is_of_host(function: ast.AST | None, module: Module) -> bool:
    """Whether a function, or one around it, does what only the host does, so that no map runs it; a module does."""
    place = function
    while place is not None:
        if isinstance(place, ast.FunctionDef) and any(OF_HOST.search(one) for one in _lines_of(place, module)):
            return True
        place = module.table.parents.get(place)
    return function is None


def _lines_of(function: ast.AST, module: Module) -> Sequence[str]:
    return module.lines[getattr(function, "lineno", 1) - 1 : getattr(function, "end_lineno", 0)]


def _around(node: ast.AST, module: Module) -> ast.AST | None:
    """The function that an expression stands in."""
    scope = module.table.scope_of[node].function()
    return scope.node if scope is not None else None
