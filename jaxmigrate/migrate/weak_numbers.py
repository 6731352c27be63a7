"""Python's numbers for which a map has None in `in_axes`, where a program of several processes computes in bfloat16.

Where there are several processes, `jax.pmap` makes a strongly typed array of such a number, so that `x * 2.5` of a
bfloat16 array is a float32 one. In one process, and with `jax.shard_map`, the number takes on the type of `x`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jaxmigrate.migrate.decide import Decision, Refusal
from jaxmigrate.migrate.plan import Assumed
from jaxmigrate.program.modules import Module
from jaxmigrate.program.narrow import INTEGERS, says_narrow
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Reference
from jaxmigrate.program.sites import MappedSite, literal_of
from jaxmigrate.program.syntax import last_name

DEEPEST = 3  # names that stand for one another


def weak_numbers(
    sites: Mapping[Module, Sequence[MappedSite]], modules: Sequence[Module], resolver: Resolver
) -> dict[ast.expr, ast.expr]:
    """Such a number in sight that some site is given, by the site."""
    found: dict[ast.expr, ast.expr] = {}
    for site in (site for own in sites.values() for site in own):
        types = (float,) * says_narrow(resolver) + (int,) * bool(INTEGERS.search(site.module.text))
        number = next(_numbers(site, types, modules, resolver), None) if types else None
        if number is not None:
            found[site.node] = number
    return found


def leave_weak(
    decisions: Mapping[Module, list[Decision]],
    numbers: Mapping[ast.expr, ast.expr],
    root: Mapping[ast.expr, Reference],
) -> dict[Module, list[Decision]]:
    """The decisions with a refusal for each reference of which some site is given such a number."""
    refused: dict[Reference, Refusal] = {}
    for site, number in numbers.items():
        if site in root:
            said = ast.unparse(number)
            reason = (
                f"several processes take `{said}`, for which in_axes has None, as float32 or int32, and one process in "
                f"the type of what it meets; say which, as in jnp.float32({said}), or run fix --layout likely"
            )
            refused.setdefault(root[site], Refusal("JM404", reason))
    return {
        module: [replace(d, refusal=d.refusal or refused.get(d.reference.node)) for d in found]
        for module, found in decisions.items()
    }


def assumed_of(number: ast.expr, path: Path) -> Assumed:
    """What a reader takes for granted of such a number: that its type is that of what it meets in any case."""
    said = ast.unparse(number)
    says = f"`{said}`, for which in_axes has None, meets float32 and int32 arrays alone in the mapped function"
    return Assumed("likely", "processes", "", says, path, number.lineno)


def _numbers(
    site: MappedSite, types: tuple[type, ...], modules: Sequence[Module], resolver: Resolver
) -> Iterator[ast.expr]:
    """The numbers of some types that calls in sight of a map give it whole."""
    axes = literal_of(site, "in_axes", 0, resolver)
    each = axes if isinstance(axes, tuple) else None
    if axes is not None and (each is None or None not in each):
        return
    for call, module in _calls(site, modules):
        for place, argument in enumerate(call.args):
            whole = each is None or each[place : place + 1] == (None,)
            if whole and _type_of(argument, module) in types:
                yield argument


def _calls(site: MappedSite, modules: Sequence[Module]) -> Iterator[tuple[ast.Call, Module]]:
    """The calls of a map where it is made, and those of what has its name."""
    parents = site.module.table.parents
    above = parents.get(site.node)
    if isinstance(above, ast.Call) and above.func is site.node:
        yield above, site.module
    targets = above.targets if isinstance(above, ast.Assign) and above.value is site.node else ()
    names = {last_name(target) for target in targets if isinstance(target, ast.Name | ast.Attribute)}
    if isinstance(above, ast.FunctionDef) and site.node in above.decorator_list:
        names = {above.name}
    for module in modules if names else ():
        for name in names:
            for node in module.table.named.get(name, ()) if name in module.text else ():
                call = module.table.parents.get(node)
                if isinstance(call, ast.Call) and call.func is node:
                    yield call, module


def _type_of(node: ast.expr, module: Module, depth: int = 0) -> type | None:
    """The type of a Python number; None for what need not be one."""
    match node:
        case ast.Constant(value=float() | complex()):
            return float
        case ast.Constant(value=int(value)):
            return None if isinstance(value, bool) else int
        case ast.UnaryOp(operand=operand):
            return _type_of(operand, module, depth)
        case ast.BinOp(left=left, right=right, op=op):
            both = (_type_of(left, module, depth), _type_of(right, module, depth))
            return None if None in both else float if float in both or isinstance(op, ast.Div) else int
        case ast.Call(func=ast.Name(id="float")):
            return float
        case ast.Call(func=ast.Name(id="int" | "len")):
            return int
        case ast.Name() if depth < DEEPEST:
            scope = module.table.scope_of[node].lookup(node.id)
            bindings = scope.bindings[node.id] if scope is not None else []
            found = {_bound(one.value, one.node, module, depth) for one in bindings if not one.path}
            return float if float in found else int if int in found else None
    return None


def _bound(value: ast.expr | None, node: ast.AST, module: Module, depth: int) -> type | None:
    if value is not None:
        return _type_of(value, module, depth + 1)
    match module.table.parents.get(node):
        case ast.For(target=target, iter=ast.Call(func=ast.Name(id="range"))):
            return int if target is node else None
    return None
