"""The lists of groups of devices that collectives are given, and reductions that stay within them by mistake."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.small_numbers import Lists, evaluated
from jaxmigrate.program.collectives import REDUCTIONS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External

KEYWORD = "axis_index_groups"
GRADIENTS = re.compile(r"^(grads?|gradients?|g)$|_(grads?|gradients?)$|^(grads?|gradients?)_")


def written_groups(module: Module) -> Iterator[ast.expr]:
    """What a module gives for groups, also to layers (`cross_replica_axis_index_groups`) and in dictionaries."""
    if KEYWORD not in module.text:
        return
    for node in module.table.parents:
        match node:
            case ast.keyword(arg=str(name), value=groups) if name.endswith(KEYWORD):
                yield groups
            case ast.Dict(keys=keys, values=values):
                for key, groups in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and str(key.value).endswith(KEYWORD):
                        yield groups


def partial_reductions(facts: Facts) -> Iterator[tuple[Module, ast.expr, str]]:
    """Reductions of gradients within groups, after which nothing reduces them over the rest."""
    for module in facts.modules:
        if KEYWORD not in module.text:
            continue
        for call in module.table.calls:
            groups = _groups_of(call, module, facts.resolver)
            if groups is None or _are_all_devices(groups, module, facts.resolver):
                continue
            name = next(
                (n.id for n in ast.walk(call.args[0]) if isinstance(n, ast.Name) and GRADIENTS.search(n.id)), ""
            )
            if name and not _is_reduced_again(call, module, facts.resolver):
                yield module, call, name


def _groups_of(call: ast.Call, module: Module, resolver: Resolver) -> ast.expr | None:
    """The groups that a reduction is given."""
    given = next((k.value for k in call.keywords if k.arg == KEYWORD), None)
    if given is None or not call.args or (isinstance(given, ast.Constant) and given.value is None):
        return None
    callee = resolver.value(call.func, module)
    return given if isinstance(callee, External) and callee.name in REDUCTIONS else None


def _are_all_devices(groups: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether there is one group, or what the groups are is not written here."""
    node = groups
    if isinstance(groups, ast.Name):
        found = [b.value for b in resolver.bindings_at(groups, module) if b.kind == "assign" and not b.path]
        if len(found) != 1 or found[0] is None:
            return True
        node = found[0]
    if not isinstance(node, ast.List | ast.Tuple | ast.ListComp):
        return True
    if "local_device_count" in ast.unparse(node):
        return False  # those of other processes are in no group
    made = evaluated(Lists(module, resolver, 8), node)
    return isinstance(made, list | tuple) and len(made) == 1 and len(list(made[0])) == 8


def _is_reduced_again(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether the function has another reduction, by which all devices may come to agree."""
    function = module.table.function_of(call)
    for other in ast.walk(function) if function is not None else ():
        if isinstance(other, ast.Call) and other is not call:
            callee = resolver.value(other.func, module)
            if isinstance(callee, External) and callee.name in REDUCTIONS and _shares_a_name(call, other):
                return True
    return False


def _shares_a_name(one: ast.Call, other: ast.Call) -> bool:
    names = [{n.id for a in call.args[:1] for n in ast.walk(a) if isinstance(n, ast.Name)} for call in (one, other)]
    return any(GRADIENTS.search(name) for name in names[1]) or bool(names[0] & names[1])
