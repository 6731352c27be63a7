"""Names of axes that nothing in a whole program binds, whatever runs around the collectives that name them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from jaxmigrate.flow.axes import CALLBACKS, COLLECTIVES
from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.expected import is_expected_to_raise
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.known_axes import (
    SPEC_NAMES,
    all_run_on_meshes_of_project,
    is_misspelt,
    is_of_project,
    known_axes,
    written_in_specs,
)
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import AXIS_POSITIONS, SPECS, argument, axis_argument
from jaxmigrate.program.library import last_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import Constant, External, Function

_OF_AXES = re.compile(r"ax[ie]s")
_LOGICAL = re.compile(r"logical|axis_rules|sharding_rules|rules\b", re.IGNORECASE)
SEVERAL = 2  # collectives of a file that name the same axis
LAST_CALLBACKS = last_names("callback")
_SPECS = last_names("spec")


def nowhere_bound(facts: Facts) -> Iterator[tuple[Module, ast.Call, str, str]]:
    """The collectives over an axis that no map and no mesh of the program has, with their names and the axis.

    Only where it is known what all maps and meshes bind, no map runs on a mesh that other code may make, nothing may
    keep the collective from running, and the axis is written in collectives and specs alone: a name that stands
    anywhere else may reach a map that is out of sight.
    """
    known = known_axes(facts.resolver)
    if not known.complete or not all_run_on_meshes_of_project(facts.resolver):
        return
    judged = {use.call for use in facts.axis_uses if use.environment.complete}
    strays = (one for one in _literals(facts) if one[3] not in known.names and one[1] not in judged)
    found = [one for one in strays if not _is_conditional(one[1], one[0])]
    found.sort(key=lambda one: (one[0].path, one[1].lineno, one[1].col_offset))
    if not found:
        return
    written = Counter(axis for *_, axis in found) + Counter(_in_specs(facts))
    for module, call, name, axis in found:
        texts = (one.text for one in facts.resolver.project.program)
        if sum(text.count(f"'{axis}'") + text.count(f'"{axis}"') for text in texts) <= written[axis]:
            yield module, call, name, axis


def called_back(facts: Facts) -> Iterator[tuple[Module, ast.Call, ast.Call, str]]:
    """The collectives in functions that callbacks to the host are given, with the callback and their names."""
    for module, call in facts.calls(*LAST_CALLBACKS):
        callee = facts.resolver.value(call.func, module)
        given = argument(call_arguments(call, module), 0, "callback")
        if not isinstance(callee, External) or callee.name not in CALLBACKS or given is None:
            continue
        for function in facts.resolver.argument_values(given):
            if isinstance(function, Function) and function.module is module:
                for node in calls_of(function.node):
                    inner = facts.resolver.value(node.func, module)
                    if isinstance(inner, External) and inner.name in AXIS_POSITIONS:
                        yield module, call, node, inner.name.rpartition(".")[2]


def _is_conditional(node: ast.AST, module: Module) -> bool:
    """Whether something in a function may keep a collective from running."""
    parents = module.table.parents
    while node in parents and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        node = parents[node]
        if isinstance(node, ast.If | ast.IfExp | ast.Try | ast.BoolOp):
            return True
    return False


def _literals(facts: Facts) -> Iterator[tuple[Module, ast.Call, str, str]]:
    """The collectives whose axes are written in place."""
    for module, call in facts.calls(*COLLECTIVES):
        callee = facts.resolver.value(call.func, module)
        if not isinstance(callee, External) or callee.name not in AXIS_POSITIONS:
            continue
        axis = axis_argument(callee.name, call_arguments(call, module))
        parts = axis.elts if isinstance(axis, ast.Tuple | ast.List) else [axis]
        for one in parts:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield module, call, callee.name.rpartition(".")[2], one.value


def _in_specs(facts: Facts) -> Iterator[str]:
    """The axes that are written in specs."""
    for module, call in facts.calls(*_SPECS, *_aliases(facts)):
        callee = facts.resolver.value(call.func, module)
        if isinstance(callee, External) and callee.name in SPECS:
            nodes = (node for one in call.args for node in ast.walk(one))
            yield from (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _aliases(facts: Facts) -> set[str]:
    """The names by which the modules assign PartitionSpec anew: `P = PartitionSpec`."""
    found = {"P"} - _SPECS
    return {name for name in found if any(name in module.table.named for module in facts.modules)}


def quoted_variables(facts: Facts) -> Iterator[tuple[Module, ast.Constant, str]]:
    """Axes in quotes that are the names of variables: `axis_index("data_axis")` for `axis_index(data_axis)`."""
    known = known_axes(facts.resolver).names
    for module in facts.modules:
        if not _OF_AXES.search(module.text):
            continue
        for call in module.table.calls:
            for node in _strings(call):
                name = str(node.value)
                looks = _OF_AXES.search(name) and name not in known
                if looks and _is_variable(name, node, module, facts) and _takes_axes(call, module, facts):
                    yield module, node, name


def _strings(call: ast.Call) -> Iterator[ast.Constant]:
    for one in (*call.args, *(keyword.value for keyword in call.keywords)):
        for part in one.elts if isinstance(one, ast.Tuple | ast.List) else [one]:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part


def _is_variable(name: str, node: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether a function around a string has a variable of that name which holds something else."""
    scope = module.table.scope_of[_nearest(node, module)]
    holder = scope.lookup(name) if name.isidentifier() else None
    if holder is None or holder.kind in ("module", "class"):
        return False
    return Constant(name) not in facts.resolver.name_values(name, scope, module)


def _nearest(node: ast.AST, module: Module) -> ast.AST:
    """The nearest expression around a constant whose scope is noted."""
    while node not in module.table.scope_of:
        node = module.table.parents[node]
    return node


def _takes_axes(call: ast.Call, module: Module, facts: Facts) -> bool:
    """Whether what is called names axes: a collective, a spec, or a function of the program with a collective in it."""
    for value in facts.resolver.values(call.func, module):
        if isinstance(value, External) and (value.name in AXIS_POSITIONS or value.name in SPECS):
            return True
        if isinstance(value, Function) and any(
            axis_names(one, value.module, facts.resolver, {}) is None for one in _given_to_collectives(value, facts)
        ):
            return True
    return False


def _given_to_collectives(function: Function, facts: Facts) -> Iterator[ast.expr]:
    """What the collectives in a function's body have for their axes."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in COLLECTIVES:
            callee = facts.resolver.value(node.func, function.module)
            if isinstance(callee, External) and callee.name in AXIS_POSITIONS:
                axis = axis_argument(callee.name, call_arguments(node, function.module))
                if axis is not None:
                    yield axis


def lone_axes(facts: Facts) -> Iterator[tuple[Module, ast.Call, str, str, str]]:
    """The collectives over an axis that is written there alone, among others of their function, or file, over another.

    With their names, the axis and the other one. Only of axes that no map and no mesh in sight binds.
    """
    known = known_axes(facts.resolver).names
    everywhere = [*_literals(facts)]
    for module, call, name, axis in everywhere:
        slip = is_misspelt(axis, facts.resolver)
        if axis in known or slip:
            if slip:
                yield module, call, name, axis, repr(slip)
            continue
        texts = [one.text for one in facts.resolver.project.program]
        if sum(text.count(f"'{axis}'") + text.count(f'"{axis}"') for text in texts) > 1:
            continue
        function = module.table.function_of(call)
        others = [] if function is None else [*_given_to_collectives(Function(module, function), facts)]
        spelled = Counter(ast.unparse(one) for one in others if ast.unparse(one) != repr(axis))
        if len(spelled) == 1 and sum(spelled.values()) > 1 and sum(spelled.values()) == len(others) - 1:
            yield module, call, name, axis, next(iter(spelled))
            continue
        elsewhere = {other for home, one, _, other in everywhere if home is module and one is not call}
        if len(elsewhere) == 1 and sum(home is module for home, *_ in everywhere) > SEVERAL:
            yield module, call, name, axis, repr(*elsewhere)


def stray_specs(facts: Facts) -> Iterator[tuple[Module, ast.Constant, str]]:
    """The axes in PartitionSpecs that are slips of others, or that nothing in the program has, with what is meant.

    What rules translate, as flax's logical axes, has names of its own.
    """
    known = known_axes(facts.resolver)
    logical = any(_LOGICAL.search(one.text) for one in facts.resolver.project.program)
    for module in facts.modules:
        if not any(word in module.text for word in SPEC_NAMES):
            continue
        for spec, node in written_in_specs(module, facts.resolver):
            axis = str(node.value)
            if axis in known.names:
                continue
            slip = is_misspelt(axis, facts.resolver)
            alone = known.complete and not logical and _is_in_specs_alone(axis, facts)
            own = alone and all_run_on_meshes_of_project(facts.resolver)
            stray = slip or (own and not _is_on_mesh_of_others(spec, module, facts))
            if stray and not is_expected_to_raise(node, module):
                yield module, node, slip


def _is_on_mesh_of_others(spec: ast.Call, module: Module, facts: Facts) -> bool:
    """Whether the mesh beside a spec, `NamedSharding(mesh, P("model"))`, may be none of the program's.

    Of one with a name, any that it stands beside.
    """
    beside = module.table.parents.get(spec)
    placed: list[tuple[ast.expr, ast.AST | None, Module]] = [(spec, beside, module)]
    if isinstance(beside, ast.Assign) and isinstance(beside.targets[0], ast.Name):
        name = beside.targets[0].id
        homes = [one for one in facts.resolver.project.program if name in one.text]
        placed = [(one, home.table.parents.get(one), home) for home in homes for one in home.table.named.get(name, ())]
    calls = [(above, home) for one, above, home in placed if isinstance(above, ast.Call) and one in above.args]
    placing = [(call, home) for call, home in calls if last_name(call.func) == "NamedSharding"]
    meshes = [argument(call_arguments(call, home), 0, "mesh") for call, home in placing]
    return any(mesh is not None and not is_of_project(mesh, facts.resolver) for mesh in meshes)


def _is_in_specs_alone(axis: str, facts: Facts) -> bool:
    """Whether no other place of the program writes a name: what does may lead to a mesh that is out of sight."""
    program = facts.resolver.project.program
    texts = [one.text for one in program]
    written = sum(text.count(f"'{axis}'") + text.count(f'"{axis}"') for text in texts)
    found = (n for one in program for _, n in written_in_specs(one, facts.resolver) if n.value == axis)
    return sum(1 for _ in found) == written
