"""Reads of a tree of arrays that ask for its structure, shapes and types alone: deleted arrays have these, too.

What is restored from a checkpoint is given the state that was donated as a template, and then takes its name:
`state = manager.restore(step, args=StandardRestore(state))`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.later_reads import METADATA
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External, Function, Value

SHAPES = named("shapes-alone")
MAPS = named("tree-map")
REBUILDS = named("tree-unflatten")  # by the structure that stands first
LISTS = named("tree-leaves", "tree-flatten")
DEPTH = 4  # names that hold what is made of the arrays, and functions that are given it

_RESTORES = re.compile(r"restore|Restore|^from_(bytes|state_dict)$|shape_dtype_struct$")
_HOLDS = re.compile(  # trees of the same arrays, of which none is read
    r"^flax\.(nnx\.(split|state|filter_state|pure|to_flat_state|to_pure_dict)|serialization\.to_state_dict)$"
    r"|^jax\.random\.key_data$|^builtins\.(list|tuple|dict|zip|enumerate)$"
)
_ASKS = re.compile(r"^builtins\.(len|isinstance|type|id|hasattr|callable)$")


def is_template(read: ast.expr, module: Module, resolver: Resolver, depth: int = DEPTH) -> bool:
    """Whether a read of arrays, and of whatever holds them from there on, asks for no values of them."""
    node: ast.AST = read
    while True:
        parent = module.table.parents.get(node)
        match parent:
            case ast.Attribute(attr=attr) if attr in METADATA:
                return True
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return True
            case ast.Call(func=ast.Attribute() as method) if method is node:
                return False
            case ast.Call():
                answer = _is_asked(parent, node, module, resolver, depth)
                if answer is not None:
                    return answer
            case ast.keyword() | ast.Tuple() | ast.List() | ast.Dict() | ast.Starred() | ast.Attribute():
                pass
            case ast.Subscript(value=value) if value is node:
                pass
            case ast.comprehension(iter=given) if given is node:
                return _are_templates(_names(parent.target), parent, module, resolver, depth)
            case ast.Assign(value=value, targets=targets) if value is node:
                names = [name for target in targets for name in _names(target)]
                return _are_templates(names, parent, module, resolver, depth)
            case _:
                return False
        node = parent


def _is_asked(call: ast.Call, given: ast.AST, module: Module, resolver: Resolver, depth: int) -> bool | None:
    """Whether a call asks for shapes alone of what it is given; None where it gives the same arrays back."""
    value = resolver.value(call.func, module)
    if isinstance(value, Function):
        return _is_template_in(value, call, given, resolver, depth)
    if isinstance(value, External) and value.name in MAPS and call.args[1:]:
        mapped = call.args[0]
        if isinstance(mapped, ast.Lambda):
            reads = (n for n in ast.walk(mapped.body) if isinstance(n, ast.Name) and n.id in _parameters(mapped))
            return depth > 0 and all(is_template(one, module, resolver, depth - 1) for one in reads)
        return _answer(resolver.value(mapped, module), last_name(mapped))
    if isinstance(value, External) and value.name in REBUILDS and call.args[:1] == [given]:
        return True
    return _answer(value, last_name(call.func))


def _answer(value: Value, name: str) -> bool | None:
    """The same of a function of a library, or of one that is out of sight, by its name."""
    full = value.name if isinstance(value, External) else ""
    if full in LISTS or _HOLDS.match(full):
        return None
    return full in SHAPES or _ASKS.match(full) is not None or _RESTORES.search(name) is not None


def _is_template_in(function: Function, call: ast.Call, given: ast.AST, resolver: Resolver, depth: int) -> bool:
    """Whether a function of the program takes what it is given for a template."""
    found = passed_by(call, function.passed_names())
    names = [name for name, one in found.items() if one is given or given in ast.walk(one)]
    if isinstance(function.node, ast.Lambda) or not names or not depth:
        return False
    reads = [n for n in walk(function.node) if isinstance(n, ast.Name) and n.id in names]
    return all(
        isinstance(one.ctx, ast.Load) and is_template(one, function.module, resolver, depth - 1) for one in reads
    )


def _are_templates(names: list[str], since: ast.AST, module: Module, resolver: Resolver, depth: int) -> bool:
    """Whether what some names hold, from where they are bound until they are bound again, is asked for no values."""
    return depth > 0 and all(
        is_template(one, module, resolver, depth - 1) for name in names for one in _read_since(name, since, module)
    )


def _read_since(name: str, since: ast.AST, module: Module) -> Iterator[ast.Name]:
    """The reads of a name in the function, or comprehension, that binds it."""
    uses = [one for one in module.table.named.get(name, ()) if isinstance(one, ast.Name)]
    if isinstance(since, ast.comprehension):
        inside = {*ast.walk(module.table.parents[since])}
        yield from (one for one in uses if one in inside)
        return
    function = module.table.function_of(since)
    behind = getattr(since, "end_lineno", 0)
    own = [one for one in uses if one.lineno > behind and module.table.function_of(one) is function]
    holder = module.table.scope_of[own[0]].lookup(name) if own else None
    bound = [one.node for one in holder.bindings[name]] if holder is not None else []
    last = min((getattr(one, "end_lineno", 0) for one in bound if getattr(one, "lineno", 0) > behind), default=None)
    yield from (one for one in own if last is None or one.lineno <= last)


def _names(target: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]


def _parameters(function: ast.Lambda) -> set[str]:
    return {one.arg for one in function.args.args}
