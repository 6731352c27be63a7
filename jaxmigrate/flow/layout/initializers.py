"""Mapped functions out of sight or that initialize: what an experienced reader takes their results to be.

`params, state = jax.pmap(network.init)(keys, batch)`: what is unpacked is a tuple; a library's function gives the same
on every device that it gets the same on; and what is initialized depends on its keys, and on a batch no more than for
its shapes. Only `likely` takes any of this for granted, and lists what it took.
"""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.layout import mapped_bodies
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.values import Function, Value

STATISTICS = re.compile(
    r"\b(?:batch_stats|mutable|BatchNorm|(?:bn|model|net|network)_state|running_(?:mean|var)|set_state|\w+_with_state)\b"
)
KEEPS = re.compile(
    r"batch_?stats|BatchNorm|batch_norm|running_(?:mean|var)|SpectralNorm|_with_state\b|\bset_state\b|StateIndex"
    r"|\.(?:variable|sow|put_variable)\("
)
CHANGES = re.compile(  # linen changes no statistics but by `mutable=`
    r"\bmutable\b(?!\s*=\s*(?:False|\[\])\s*[,)])|running_(?:mean|var)|_with_state\b|\bset_state\b|StateIndex"
    r"|^[ \t]*(?:import|from)\b.*\b(?:nnx|haiku|equinox|objax|trax|nn\.stateful)\b",
    re.MULTILINE,
)
NETWORK = re.compile(r"^[ \t]*class \w+\(.*\bModule\b.*\):", re.MULTILINE)
INITIALIZES = re.compile(r"(?:^|_)init(?:_|$|ial|iali[sz]e)")


def unpacked_into(it: Interpreter, site: ast.expr) -> int | None:
    """How many names each call of a map is unpacked into; None where they are not all unpacked into as many."""
    counts = {_targets(call.node, call.module) for call in it.maps.calls.values() if call.site is site}
    return counts.pop() if len(counts) == 1 else None


def _targets(call: ast.Call, module: Module) -> int | None:
    statement = module.table.parents.get(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return None
    sizes = {
        len(target.elts) if isinstance(target, ast.Tuple | ast.List) and not _has_star(target) else None
        for target in statement.targets
    }
    return sizes.pop() if len(sizes) == 1 else None


def _has_star(target: ast.Tuple | ast.List) -> bool:
    return any(isinstance(one, ast.Starred) for one in target.elts)


def initializes(it: Interpreter, site: ast.expr, value: Value | None) -> bool:
    """Whether the function that a site maps makes parameters or a state, by its name or that of what it returns."""
    mapped = it.sites[site].mapped
    names = [_last(mapped.expression)] if mapped is not None and mapped.expression is not None else []
    if value is not None and isinstance(found := mapped_bodies.unwrapped(value, it.resolver), Function):
        if isinstance(found.node, ast.Lambda):
            names.append(_last(found.node.body))
        else:
            names.append(found.node.name)
    return any(INITIALIZES.search(name.lower()) for name in names)


@once_each
def keeps_statistics(module: Module, it: Interpreter) -> bool:
    """Whether the program that a module runs in names statistics that a network takes of its batch, and keeps.

    Where it writes its networks itself and none of them keeps anything, or nothing changes what they keep, there is
    nothing in what is kept for them that a step changes.
    """
    texts = it.reachable.texts_with(module.path)

    def says(pattern: re.Pattern[str]) -> bool:
        return any(map(pattern.search, texts))

    keeps = says(KEEPS) and says(CHANGES)
    return says(STATISTICS) and (keeps or not says(NETWORK))


def holds_statistics(field: str) -> bool:
    """Whether a field of a state is, by its name, for what a network keeps beside its parameters."""
    return STATISTICS.fullmatch(field) is not None


def _last(node: ast.expr) -> str:
    """The last name of an expression; of a call that of what is called, or what a partial binds."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Name(id="partial") | ast.Attribute(attr="partial"), args=[first, *_]):
            return _last(first)
        case ast.Call(func=func):
            return _last(func)
        case ast.Lambda(body=body):
            return _last(body)
    return ""
