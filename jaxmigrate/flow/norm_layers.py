"""Layers that normalise by statistics of a batch, of which one is not told the axis that others of its network are."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, External

AXES = frozenset(
    {"axis_name", "cross_replica_axis", "bn_axis_name", "bn_cross_replica_axis", "bn_cross_replica_axis_name"}
)
NORMALISES = re.compile(r"batch_?norm|sync_?bn|(^|_)bn", re.IGNORECASE)
STILL = ("use_running_average", "use_running_avg", "inference")


class Layer(NamedTuple):
    """A call that makes a layer, or a partial of its class, and the keyword by which it is told an axis."""

    call: ast.Call
    axis: ast.expr | None


def unlike_layers(modules: Sequence[Module], resolver: Resolver) -> Iterator[tuple[Module, Layer, Layer]]:
    """Each layer without an axis, with one of the same kind and network that has one."""
    for module in modules:
        if not any(word in module.text for word in AXES):
            continue
        of_class: dict[tuple[object, ast.AST], list[Layer]] = defaultdict(list)
        for call in module.table.calls:
            made = _made(call, module, resolver)
            if made is not None and not any(k.arg is None for k in call.keywords) and not _is_still(call):
                of_class[made, _network(call, module)].append(Layer(call, _axis_of(call)))
        for layers in of_class.values():
            told = [one for one in layers if one.axis is not None]
            for one in layers if told else ():
                if one.axis is None and not _is_completed(one.call, module):
                    yield module, one, told[0]


def _network(call: ast.Call, module: Module) -> ast.AST:
    """The class of modules around a call, or else the function: a test's class holds a network in each method."""
    found: ast.AST = call
    above = module.table.parents.get(call)
    while above is not None and not isinstance(above, ast.Module):
        modules = isinstance(above, ast.ClassDef) and any("Module" in ast.unparse(base) for base in above.bases)
        if isinstance(above, ast.FunctionDef) or modules:
            found = above
        above = module.table.parents.get(above)
    return found


def _made(call: ast.Call, module: Module, resolver: Resolver) -> object:
    """The class of normalising layers that a call makes one of, or a partial of."""
    made = call.func
    if last_name(made) == "partial" and call.args:
        made = call.args[0]
        if resolver.value(call.func, module) not in [External(name) for name in PARTIALS]:
            return None
    if not NORMALISES.search(last_name(made)):
        return None
    value = resolver.value(made, module)
    return value if isinstance(value, External | Class) else None


def _axis_of(call: ast.Call) -> ast.expr | None:
    given = [k.value for k in call.keywords if k.arg in AXES]
    return None if not given or (isinstance(given[0], ast.Constant) and given[0].value is None) else given[0]


def _is_still(call: ast.Call) -> bool:
    """Whether a layer only ever uses what it has gathered before."""
    return any(k.arg in STILL and isinstance(k.value, ast.Constant) and k.value.value is True for k in call.keywords)


def _is_completed(call: ast.Call, module: Module) -> bool:
    """Whether what a call makes is given more, as `partial(norm, axis_name=...)` of what it is bound to."""
    above = module.table.parents.get(call)
    names = [t.id for t in above.targets if isinstance(t, ast.Name)] if isinstance(above, ast.Assign) else []
    later = [c for c in module.table.calls if any(k.arg in AXES for k in c.keywords)]
    return any(isinstance(one, ast.Name) and one.id in names for c in later for one in (c.func, *c.args))
