"""JM102: a PartitionSpec names an axis that its mesh does not have."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from jaxmigrate.findings import Finding, Note
from jaxmigrate.flow.axes import Step, shown
from jaxmigrate.flow.axis_rules import Rule, unknown_axes
from jaxmigrate.flow.axis_symbols import has_symbols
from jaxmigrate.flow.axis_values import axis_names, mesh_axes
from jaxmigrate.flow.context_meshes import mesh_in_context
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.guards import is_within_raises
from jaxmigrate.flow.known_axes import is_misspelt, is_of_project, known_axes, written_in_specs
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.flow.misspelt import respelled
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.specs import spec_calls
from jaxmigrate.flow.spelling import near_miss
from jaxmigrate.flow.starred_specs import starred_axes
from jaxmigrate.flow.stray_axes import stray_specs
from jaxmigrate.flow.unused_axes import passed_axes, unused_mesh_axes
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import SHARD_MAPS, argument
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Argument, External, Function
from jaxmigrate.records import replace

CODE = "JM102"
FIX = "the name of the one axis of the mesh that is a letter off, where nothing binds the name as it is written"
SHARDED = {name: int(position) for name, position in valued("shards").items()}  # by a spec at that position
LAST_SHARDED = frozenset(name.rpartition(".")[2] for name in SHARDED)
PARTITIONED = {name: int(position) for name, position in valued("partitions").items()}  # by names at that position
LAST_PARTITIONED = frozenset(name.rpartition(".")[2] for name in PARTITIONED)
RULES = re.compile(r"rules|logical", re.IGNORECASE)
SHARDINGS = ("in_shardings", "out_shardings")
_ENTERS = re.compile(r"\bwith [\w.]*[mM]esh\w*(\(\))?\s*[,:]")
OF_PROJECT = "no map and no mesh of the project has an axis"


def check(facts: Facts) -> Iterator[Finding]:
    """Specs with an axis that the mesh does not have on which they are used, or, if that is not in sight, none has."""
    lines: set[tuple[str, int]] = set()
    for finding in _in_sight(facts):
        lines.add((finding.path, finding.line))
        yield finding
    for finding in _in_tables(facts):
        lines.add((finding.path, finding.line))
        yield finding
    known = known_axes(facts.resolver).names
    for module, node, slip in stray_specs(facts):
        hint = f"; did you mean {slip!r}?" if slip else f", only {shown(known)}"
        fix = respelled(node, str(node.value), known, module, facts.resolver)
        told = f"PartitionSpec: {OF_PROJECT} {node.value!r}{hint}"
        for finding in facts.finding(module, node, CODE, told, fix=fix):
            if (finding.path, finding.line) not in lines:
                lines.add((finding.path, finding.line))
                yield finding
    yield from _written_once(facts, bool(lines))


def _written_once(facts: Facts, told: bool) -> Iterator[Finding]:
    """Axes that stand once in the whole program, where they are used nowhere, or bound nowhere.

    What specs lack is `told` already where they are told.
    """
    for one in unused_mesh_axes(facts) if not told else ():
        message = f"no spec names the axis {one.axis!r} of this mesh, and no mesh has {shown(one.others)} of the specs"
        yield from facts.finding(one.module, one.node, CODE, message)
    for one in passed_axes(facts):
        message = f"{OF_PROJECT} {one.axis!r}, only {shown(one.others)}"
        yield from facts.finding(one.module, one.node, CODE, message)


def _in_tables(facts: Facts) -> Iterator[Finding]:
    """The axes that a program's own names of dimensions are translated into."""
    told: dict[tuple[Module, str], list[tuple[Rule, frozenset[str]]]] = defaultdict(list)
    for table, rule, axis, had in unknown_axes(facts.resolver):
        if table.module in facts.modules:
            told[table.module, axis].append((rule, had))
    for (module, axis), ((rule, had), *others) in told.items():
        near = near_miss(axis, had)
        hint = f"; did you mean {near!r}?" if near else f", which has {shown(had)}"
        message = f"{rule.name} is to be split over {axis!r}, but the mesh has no such axis{hint}"
        way = [Step(module, other.node, f"{other.name}, too") for other, _ in others]
        yield from facts.finding(module, rule.node, CODE, message, way)


def _in_sight(facts: Facts) -> Iterator[Finding]:
    """Those of maps, shardings and constraints."""
    seen: set[ast.expr] = set()
    for found in facts.all_maps:
        known = found.axes is not None or found.mapped is found.function
        if found.name in SHARD_MAPS and known and found.application.node not in seen:
            seen.add(found.application.node)
            yield from _in_map(found, facts)
    for module, call in facts.calls("NamedSharding"):
        named = External("jax.sharding.NamedSharding")
        if facts.resolver.value(call.func, module) != named or is_within_raises(call, module):
            continue
        arguments = call_arguments(call, module)
        mesh, spec = argument(arguments, 0, "mesh"), argument(arguments, 1, "spec")
        axes = mesh_axes(mesh, facts.resolver, {}) if mesh is not None else None
        if spec is not None:
            yield from _in_spec(spec, axes, "NamedSharding", facts, of_project=is_of_project(mesh, facts.resolver))
            yield from _in_entries(spec, axes, facts, of_project=is_of_project(mesh, facts.resolver))
    yield from _in_context(facts)
    yield from _manual(facts)
    yield from _partitioned(facts)
    yield from _sizes(facts)


def _sizes(facts: Facts) -> Iterator[Finding]:
    """`mesh.shape["data"]` for an axis that the mesh does not have."""
    for module in facts.modules:
        for node in module.table.named.get("shape", ()):
            subscript = module.table.parents.get(node)
            if not isinstance(node, ast.Attribute) or not isinstance(subscript, ast.Subscript):
                continue
            key = subscript.slice
            if subscript.value is not node or not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            axes = mesh_axes(Argument(None, node.value, module), facts.resolver, {})
            if (axes is None and is_misspelt(key.value, facts.resolver)) or (
                axes is not None and key.value not in axes
            ):
                had = known_axes(facts.resolver).names if axes is None else axes
                near = near_miss(key.value, had)
                hint = f"; did you mean {near!r}?" if near else f", which has {shown(had)}"
                yield from facts.finding(module, key, CODE, f"shape: the mesh has no axis {key.value!r}{hint}")


def _manual(facts: Facts) -> Iterator[Finding]:
    """Constraints within a shard_map on an axis that it has made manual."""
    reported: set[ast.AST] = set()
    for found in facts.axes.constraints:
        if found.spec.expression is None:
            continue
        for module, node, named in spec_calls(found.spec.expression, found.spec.module, facts.resolver):
            manual = sorted(named & found.axes)
            if manual and node not in reported:
                reported.add(node)
                message = (
                    f"{found.name}: shard_map maps over {manual[0]!r} here, so that a constraint may not name it; "
                    "it may name the axes that axis_names leaves out"
                )
                yield from facts.finding(module, node, CODE, message)


def _partitioned(facts: Facts) -> Iterator[Finding]:
    """Names of axes that flax puts on parameters, where no rules translate them."""
    known = known_axes(facts.resolver)
    for module, call in facts.calls(*LAST_PARTITIONED):
        callee = facts.resolver.value(call.func, module)
        if not isinstance(callee, External) or callee.name not in PARTITIONED or not known.complete:
            continue
        if any(map(RULES.search, texts_beside(module, facts.resolver))):
            continue
        given = argument(call_arguments(call, module), PARTITIONED[callee.name], "sharding", "names")
        names = axis_names(given.expression, module, facts.resolver, {}) if given is not None else None
        for axis in sorted({*(names or ())} - known.names):
            near = near_miss(axis, known.names)
            hint = f"; did you mean {near!r}?" if near else f", only {shown(known.names)}"
            message = f"{callee.name.rpartition('.')[2]}: {OF_PROJECT} {axis!r}{hint}"
            yield from facts.finding(module, call, CODE, message)


def _in_map(found: DeviceMap, facts: Facts) -> Iterator[Finding]:
    """Without a mesh in sight also what is declared manual may be an axis."""
    told: dict[str, Finding] = {}
    own = is_of_project(found.keyword("mesh", 1), facts.resolver)
    for keyword, position in (("in_specs", 2), ("out_specs", 3)):
        given = found.keyword(keyword, position)
        found_in = [] if given is None else [*_in_spec(given, found.axes, keyword, facts, of_project=own)]
        if given is not None and not found_in and found.axes:
            found_in = [*_of_maker(given, found.axes, keyword, facts)]
        for one in found_in:
            what = one.message.partition(": ")[2]
            first = told.setdefault(what, one)
            if first is not one:
                again = Note(one.path, one.line, one.column, f"{keyword} here, too")
                told[what] = replace(first, notes=(*first.notes, again))
    yield from told.values()


def _of_maker(given: Argument, axes: frozenset[str], where: str, facts: Facts) -> Iterator[Finding]:
    """Specs that a function of the project makes, if it writes none of the mesh's axes, but others."""
    values = facts.resolver.argument_values(given)
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, Application) or not isinstance(value.callee, Function):
        return
    maker = value.callee
    inner = {id(node) for node in ast.walk(maker.node)}
    written = [node for call, node in written_in_specs(maker.module, facts.resolver) if id(call) in inner]
    if written and not any(node.value in axes for node in written) and not has_symbols(axes):
        message = f"{where}: the mesh has no axis {written[0].value!r}, which has {shown(axes)}"
        way = (Step(given.module, given.expression, "the specs of this map"),) if given.expression is not None else ()
        yield from facts.finding(maker.module, written[0], CODE, message, way)


def _in_context(facts: Facts) -> Iterator[Finding]:
    """Specs without a mesh beside them: that of `jax.set_mesh` is meant."""
    for module, call in facts.calls(*LAST_SHARDED):
        callee = facts.resolver.value(call.func, module)
        if isinstance(callee, External) and callee.name in SHARDED:
            position = SHARDED[callee.name]
            given = argument(call_arguments(call, module), position, "shardings", "out_shardings", "device")
            if given is not None:
                yield from _on_context_mesh(given, call, module, facts, callee.name.rpartition(".")[2])
    for module in facts.modules:
        if "_shardings" in module.text or "out_sharding" in module.text:
            for call in module.table.calls:
                for keyword in call.keywords:
                    if keyword.arg in (*SHARDINGS, "out_sharding"):
                        callee = facts.resolver.value(call.func, module)
                        jits = isinstance(callee, External) and (callee.name in JITS or callee.name.startswith("jax."))
                        if jits or keyword.arg in SHARDINGS:
                            given = Argument(keyword.arg, keyword.value, module)
                            yield from _on_context_mesh(given, call, module, facts, str(keyword.arg))


def _on_context_mesh(given: Argument, call: ast.Call, module: Module, facts: Facts, where: str) -> Iterator[Finding]:
    if is_within_raises(call, module):
        return
    axes = mesh_in_context(call, module, facts.resolver, lambda mesh: mesh_axes(mesh, facts.resolver, {}))
    if _enters_meshes(module, facts.resolver):
        axes = None  # a mesh that is entered by itself may be the one in context, too
    yield from _in_spec(given, axes, where, facts, of_project=is_of_project(None, facts.resolver))


def _in_spec(
    given: Argument, axes: frozenset[str] | None, where: str, facts: Facts, *, of_project: bool
) -> Iterator[Finding]:
    if given.expression is None:
        return
    for module, node, named in spec_calls(given.expression, given.module, facts.resolver):
        if not named or (axes is not None and named <= axes):
            continue
        known = known_axes(facts.resolver) if axes is None else None
        had = known.names if known is not None else axes or frozenset()
        for axis in sorted(named - had):
            sure = known is None or (known.complete and of_project)
            if not sure and not is_misspelt(axis, facts.resolver):
                continue
            near = near_miss(axis, had)
            hint = f"; did you mean {near!r}?" if near else f", which has {shown(had)}"
            message = f"{where}: the mesh has no axis {axis!r}{hint}"
            if known is not None:
                hint = f"; did you mean {near!r}?" if near else f", only {shown(had)}"
                message = f"{where}: {OF_PROJECT} {axis!r}{hint}"
            fix = respelled(node, axis, had, module, facts.resolver)
            yield from facts.finding(module, node, CODE, message, fix=fix)


def _in_entries(given: Argument, axes: frozenset[str] | None, facts: Facts, *, of_project: bool) -> Iterator[Finding]:
    """The same of specs that are put together elsewhere, and unpacked: `NamedSharding(mesh, P(*entries))`."""
    made = given.expression
    if isinstance(made, ast.Name):
        made = facts.resolver.assigned(made, given.module)
    if not isinstance(made, ast.Call) or not any(isinstance(one, ast.Starred) for one in made.args):
        return
    known = known_axes(facts.resolver) if axes is None else None
    had = known.names if known is not None else axes or frozenset()
    if (known is not None and not (known.complete and of_project)) or has_symbols(had):
        return
    told: set[object] = set()
    for module, node in starred_axes(made, given.module, facts.resolver):
        if node.value not in had and node.value not in told:
            told.add(node.value)
            near = near_miss(str(node.value), had)
            hint = (
                f"; did you mean {near!r}?"
                if near
                else f", {'only' if known is not None else 'which has'} {shown(had)}"
            )
            what = f"NamedSharding: {OF_PROJECT}" if known is not None else "NamedSharding: the mesh has no axis"
            way = (Step(given.module, made, "where the entries become a spec"),)
            yield from facts.finding(module, node, CODE, f"{what} {node.value!r}{hint}", way)


@once_each
def _enters_meshes(module: Module, resolver: Resolver) -> bool:
    """Whether a program with a module may enter a mesh by itself."""
    return any("esh" in text and _ENTERS.search(text) is not None for text in texts_beside(module, resolver))
