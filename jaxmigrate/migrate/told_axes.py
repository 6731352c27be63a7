"""Whether every axis that collectives are told is one that some string or parameter shows.

`lax.psum(x, AXES[0])`, `Axis.batch.name`, `getattr(lax, kind)`: an axis may come out of what no string alone tells.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import ASKING, AXIS_POSITIONS, IF_MAPPED, argument
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.values import Argument, Constant, External, Function, Parameter

TAKING = {name: AXIS_POSITIONS[of] for name, of in IF_MAPPED.items()}
POSITIONS = {name.rpartition(".")[2]: position for name, position in {**AXIS_POSITIONS, **ASKING, **TAKING}.items()}
KEYWORD = re.compile(r"axis_name|axes_name|cross_replica|pmap_axis")  # of those that libraries take axes by
KEYWORDS = re.compile(r"\w*(?:axis_name|axes_name|cross_replica_axis)")
BOUND = re.compile(r"axis_env|axis_frame|axis_names\(")  # what lists the axes that are bound
KEEPERS = frozenset({"__setitem__", "add", "append", "appendleft", "extend", "insert", "setdefault", "update"})
LOADS = frozenset({"__import__", "eval", "exec", "import_module", "run_module", "run_path"})
BY_NAME = frozenset(
    {"__dict__", "__wrapped__", "attrgetter", "getmembers", "globals", "locals", "methodcaller", "vars"}
)


def are_shown(beside: Collection[Module], resolver: Resolver, axis: str, elsewhere: Collection[ast.AST]) -> bool:
    """Whether the collectives of some modules, but for those in `elsewhere`, are told only axes that can be read."""
    return not any(_may_hide(module, resolver, axis, elsewhere) for module in beside)


def reaches_by_name(module: Module, resolver: Resolver) -> bool:
    """Whether a module may get at functions by names that it makes up: `getattr(self, f"{kind}_loss")`."""
    named = module.table.named
    found = (node for word in BY_NAME for node in named.get(word, ()))
    return any(not _are_settings(node, module, resolver) for node in found) or any(
        isinstance(call, ast.Call) and not _names(call.args[1:2])
        for node in named.get("getattr", ())
        for call in [module.table.parents.get(node)]
    )


def _are_settings(node: ast.AST, module: Module, resolver: Resolver) -> bool:
    """Whether attributes only become arguments, `Config(**vars(args))`, or a library gets them: `json.dumps(...)`."""
    call = module.table.parents.get(node)
    if not (isinstance(node, ast.Name) and node.id == "vars" and isinstance(call, ast.Call) and call.func is node):
        return False
    match call.args, module.table.parents.get(call):
        case [ast.Name(id=name)], ast.keyword(arg=None):
            return name not in ("self", "cls")
        case [_], ast.Call(func=func):
            return isinstance(resolver.value(func, module), External)
    return False


@lru_cache(maxsize=4096)
def keeps_functions(node: ast.AST) -> bool:
    """Whether code may leave a function of its own where others find it: under a name, in an attribute or a list."""
    inner = walk(node)
    own = {one.name for one in inner if isinstance(one, ast.FunctionDef) and one is not node}
    for one in inner:
        match one:
            case ast.Global() | ast.Nonlocal() | ast.NamedExpr():
                return True
            case ast.Assign(targets=targets, value=value):
                kept = [value] if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets) else []
            case ast.Call(func=ast.Attribute(attr=attr), args=kept) if attr in KEEPERS:
                pass
            case _:
                continue
        if any(_gives_one(part, own) for value in kept for part in ast.walk(value)):
            return True
    return False


def _gives_one(node: ast.AST, own: Collection[str]) -> bool:
    return isinstance(node, ast.Lambda) or (isinstance(node, ast.Name) and node.id in own)


def _may_hide(module: Module, resolver: Resolver, axis: str, elsewhere: Collection[ast.AST]) -> bool:
    named = module.table.named
    if BOUND.search(module.text) or any(_is_loading(node, module) for word in LOADS for node in named.get(word, ())):
        return True
    quoted = re.compile(rf"""["']{re.escape(axis)}["']""")
    own = [node for node in module.nodes if node not in elsewhere]
    if any(isinstance(n, ast.Constant) and _is_part(n.value, quoted) for n in own):
        return True
    given = [n.value for n in own if isinstance(n, ast.keyword) and n.arg and KEYWORD.search(n.arg)]
    under = [_under(n, module) for n in own if _is_keyword(n)]
    given += [value for values in under if values is not None for value in values]
    given = [value for value in given if value not in elsewhere]
    if None in under or any(not _is_shown(Argument(None, value, module), resolver, axis) for value in given):
        return True
    return any(not _is_told(node, module, resolver, axis) for node in _collectives(module) if node not in elsewhere)


def _is_keyword(node: ast.AST) -> bool:
    """Whether a string is that of a parameter that takes an axis."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and KEYWORDS.fullmatch(node.value) is not None


def _under(key: ast.AST, module: Module) -> list[ast.expr] | None:
    """What a dictionary has under a key, nothing where something is looked up by it; None where it goes elsewhere."""
    parent = module.table.parents.get(key)
    if isinstance(parent, ast.Dict):
        return [value for one, value in zip(parent.keys, parent.values, strict=True) if one is key] or None
    return [] if isinstance(parent, ast.Subscript) else None


def _is_part(value: object, quoted: re.Pattern[str]) -> bool:
    """Whether a string names a collective, or quotes an axis."""
    return isinstance(value, str) and (value in POSITIONS or quoted.search(value) is not None)


def _is_loading(node: ast.AST, module: Module) -> bool:
    """Whether a function that loads or runs code is given more than a name that can be read."""
    call = module.table.parents.get(node)
    return not (isinstance(call, ast.Call) and call.func is node and _names(call.args[:1]))


def _names(arguments: list[ast.expr]) -> bool:
    return all(isinstance(one, ast.Constant) for one in arguments) and bool(arguments)


def _collectives(module: Module) -> Iterator[ast.expr]:
    aliases = [binding.node for binding in module.table.imports if isinstance(binding.node, ast.alias)]
    renamed = {one.asname for one in aliases if one.asname and one.name.rpartition(".")[2] in POSITIONS}
    for name in (*POSITIONS, *renamed):
        yield from module.table.named.get(name, ())


def _is_told(node: ast.expr, module: Module, resolver: Resolver, axis: str) -> bool:
    """Whether a collective is called, or bound by a partial, with an axis that can be read."""
    values = resolver.values(node, module)
    if values and all(isinstance(one, Function) for one in values):
        return True  # the project's own
    known = [one.name for one in values if isinstance(one, External) and one.name in AXIS_POSITIONS]
    name = known[0].rpartition(".")[2] if known else getattr(node, "attr", getattr(node, "id", ""))
    call = module.table.parents.get(node)
    if not isinstance(call, ast.Call) or name not in POSITIONS:
        return False
    arguments = call_arguments(call, module)
    if call.func is not node:
        partial = resolver.value(call.func, module)
        if call.args[0] is not node or not isinstance(partial, External) or partial.name not in PARTIALS:
            return False
        arguments = arguments[1:]
    given = argument(arguments, POSITIONS[name], "axis_name")
    return given is not None and _is_shown(given, resolver, axis)


def _is_shown(given: Argument, resolver: Resolver, axis: str) -> bool:
    """Whether an axis is said by strings, or a parameter that gets such from all calls of its function.

    One that an object holds may be said where the object is made, and be used wherever that goes.
    """
    said = resolver.literal(given)
    if said is not ...:
        return axis not in (said if isinstance(said, list | tuple) else [said])
    values = resolver.argument_values(given)
    callers = callers_of(resolver)
    passed = [v for one in values for v in (callers.passed(one) if isinstance(one, Parameter) else (one,))]
    known = bool(passed) and all(isinstance(one, Constant) for one in passed)
    return known and (isinstance(given.expression, ast.Name) or Constant(axis) not in passed)
