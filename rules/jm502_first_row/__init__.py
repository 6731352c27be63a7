"""JM502: the first element is taken of an array that is no longer stacked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.first_rows import first_rows_in_pmaps, is_parameter, leaves_taken
from jaxmigrate.flow.fixes import Offer, replaced
from jaxmigrate.flow.mapped_calls import first_dimension, shard_mapped
from jaxmigrate.flow.readings import DeviceMap, takes_blocks
from jaxmigrate.flow.specs import spec_axes
from jaxmigrate.flow.squeezed import squeezed
from jaxmigrate.program.collectives import REDUCTIONS, SHARD_MAPS, argument
from jaxmigrate.program.functions import own_statements, returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import calls_of, expression_calls, last_name
from jaxmigrate.program.values import Application, Argument, External, Function

CODE = "JM502"
FIX = (
    "`x[0]` becomes `x.squeeze(0)` in a shard_map that reads nothing else of an array: the same row where there is "
    "one, an error where there are more; the `[0]` of a scalar is left out"
)
KEYS = ("key", "rng", "seed")  # one a device, which are stacked on purpose
# What there is one of for each device as often as not: the weights of an expert or a stage, a member of a population.
OWN = re.compile(
    r"^[wb]\d*$|^[wb]_|_[wb]\d*$|weight|kernel|bias|param|state|stage|layer|expert|member|agent|device|rank|idx|id$"
)
OWN_AXES = re.compile(r"expert|stage|pipe|layer|pop|member|ensemble|agent|island|replica|device|rank|^(ep|pp|tp)$")
TO_SCALARS = frozenset({"mean", "sum", "max", "min", "all", "any"})


def check(facts: Facts) -> Iterator[Finding]:
    """`x[0]` of a block that a shard_map splits, and `y[0]` of a scalar that one gives back."""
    for found in facts.all_maps:
        stacked = any(_is_stacked(node) for node in returned_by(found.function.node))
        if found.name in SHARD_MAPS and not stacked and takes_blocks(found, facts.resolver):
            yield from _of_blocks(found, facts)
    for module, node, name in first_rows_in_pmaps(facts):
        message = f"pmap has taken the device axis of {name} away: this is the first row of the device's slice"
        yield from facts.finding(module, node, CODE, f"{message}, and the other rows are dropped; leave [0] out")
    for module in facts.modules:
        if "shard_map" in module.text:
            yield from _of_scalars(module, facts)


def _of_blocks(found: DeviceMap, facts: Facts) -> Iterator[Finding]:
    function = found.function
    for name, spec in _parameters(found):
        first = first_dimension(spec, facts.resolver)
        axes = axis_names(first, spec.module, facts.resolver, {}) if first is not None else None
        if not axes or any(part in name.lower() for part in KEYS) or _is_own(name, axes):
            continue
        rows = [*_first_rows(function, name)]
        fixes = squeezed(rows, name, found, facts) if rows else {}
        for node in rows:
            message = f"{name}[0] is one row of this device's block of {name}, which is split over {axes[0]!r}"
            told = f"{message}; the other rows are dropped"
            yield from facts.finding(function.module, node, CODE, told, fix=fixes.get(node))


def _is_own(name: str, axes: tuple[str, ...]) -> bool:
    """Whether each device may have one of what a parameter holds, so that its block is one row."""
    return OWN.search(name.lower()) is not None or any(OWN_AXES.search(axis.lower()) for axis in axes)


def _is_stacked(returned: ast.expr | None) -> bool:
    """Whether a body gives back one row for each device, `y[None]`: then its arguments hold one each as well."""
    calls = expression_calls(returned) if returned is not None else ()
    if any(last_name(call.func) == "expand_dims" for call in calls):
        return True
    for node in ast.walk(returned) if returned is not None else ():
        if isinstance(node, ast.Subscript):
            first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            if last_name(first) == "newaxis" or (isinstance(first, ast.Constant) and first.value is None):
                return True
    return False


def _parameters(found: DeviceMap) -> Iterator[tuple[str, Argument]]:
    """Each positional parameter of the mapped function with its spec."""
    given = found.keyword("in_specs", 2)
    if given is None or given.expression is None:
        return
    for number, name in enumerate(found.parameters()):
        if not isinstance(given.expression, ast.Tuple):
            yield name, given
        elif number < len(given.expression.elts):
            yield name, Argument(None, given.expression.elts[number], given.module)


def _first_rows(function: Function, name: str) -> Iterator[ast.expr]:
    """The places where a function takes element 0 of a parameter that it has not bound anew."""
    body = [function.node.body] if isinstance(function.node, ast.Lambda) else function.node.body
    for statement in body:
        for node in ast.walk(statement):
            taken = isinstance(node, ast.Subscript) and is_parameter(node.value, name, function)
            if isinstance(node, ast.Subscript) and taken and _is_first(node):
                yield from () if _is_shape_only(node, function.module) else (node,)
    for call in calls_of(function.node):
        tree = leaves_taken(call)
        if tree is not None and is_parameter(tree, name, function):
            yield call


def _is_shape_only(node: ast.AST, module: Module) -> bool:
    """Whether of a row only its shape matters: `jnp.zeros_like(x[0])`, `x[0] * 0`."""
    above = module.table.parents.get(node)
    while isinstance(above, ast.expr):
        match above:
            case ast.Attribute(attr="shape" | "dtype" | "ndim" | "size"):
                return True
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                if any(isinstance(side, ast.Constant) and side.value == 0 for side in (left, right)):
                    return True
            case ast.Call() if last_name(above.func).endswith("_like"):
                return True
        above = module.table.parents.get(above)
    return False


def _is_first(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Constant) and node.slice.value == 0 and node.slice.value is not False


def _of_scalars(module: Module, facts: Facts) -> Iterator[Finding]:
    for node in module.table.parents:
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant) or node.slice.value != 0:
            continue
        value = facts.resolver.value(node.value, module) if isinstance(node.value, ast.Name | ast.Call) else None
        made = shard_mapped(value.callee, facts.resolver) if isinstance(value, Application) else None
        if made is not None and _gives_scalar(made[0], facts):
            message = f"{ast.unparse(node.value)[:40]} is one scalar for all devices and cannot be indexed by [0]"
            fix = None
            if isinstance(node.ctx, ast.Load):
                fix = Offer("leave out [0]", module, (replaced(node, "$scalar", scalar=node.value),))
            yield from facts.finding(module, node, CODE, message, fix=fix)


def _gives_scalar(made: Application, facts: Facts) -> bool:
    """Whether a shard_map gives back one reduced scalar."""
    out = argument(made.arguments, 3, "out_specs")
    mapped = argument(made.arguments, 0, "f")
    if out is None or out.expression is None or mapped is None:
        return False
    if spec_axes(out.expression, out.module, facts.resolver) != frozenset():
        return False
    functions = facts.resolver.argument_values(mapped)
    if len(functions) != 1 or not isinstance(functions[0], Function):
        return False
    returned = list(_returned(functions[0]))
    return bool(returned) and all(_is_scalar(node, functions[0].module, facts) for node in returned)


def _returned(function: Function) -> Iterator[ast.expr]:
    if isinstance(function.node, ast.Lambda):
        yield function.node.body
        return
    for statement in own_statements(function.node):
        if isinstance(statement, ast.Return) and statement.value is not None:
            yield statement.value


def _is_scalar(node: ast.expr, module: Module, facts: Facts) -> bool:
    if isinstance(node, ast.Name):
        bindings = facts.resolver.bindings(node.id, module.table.scope_of[node])
        value = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        return value is not None and _is_scalar(value, module, facts)
    if not isinstance(node, ast.Call):
        return False
    callee = facts.resolver.value(node.func, module)
    if isinstance(callee, External) and callee.name in REDUCTIONS:
        return bool(node.args) and _is_scalar(node.args[0], module, facts)
    if last_name(node.func) not in TO_SCALARS or node.keywords:
        return False
    on_method = not (isinstance(callee, External) and callee.name.startswith(("jax.", "numpy.")))
    return len(node.args) == (0 if on_method else 1)
