"""Stacked arrays of several processes that meet a map at its calls alone: batches on their way in, results coming out.

A map that is called where everybody sees it needs nothing around it that converts each process's rows: what a call is
given is laid out over all devices there, and the process takes its own rows of what comes back.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from jaxmigrate.flow.layout import mapped_bodies, presuming
from jaxmigrate.flow.layout.choices import Choice, Layouts, OpChoice, SiteChoice
from jaxmigrate.flow.layout.groups import Groups
from jaxmigrate.flow.layout.kinds import Kind
from jaxmigrate.flow.layout.model import Op, SiteCall
from jaxmigrate.flow.layout.values import Func, Group, Site
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import has_stars

FEW = 8  # calls of one map, which read better than a function around it
LOOPS = ast.For | ast.AsyncFor | ast.While
STAGES = ("lower", "trace", "eval_shape")


def entering(groups: Groups, found: Layouts) -> dict[ast.expr, list[OpChoice]]:
    """By site, what its calls do from now on; the layouts of such a site are changed to those of all processes.

    Where some map needs a function around it in any case, that does as well for all that would not be made for a call.
    """
    calls: dict[ast.expr, list[SiteCall]] = {}
    sites: dict[ast.Call, set[ast.expr]] = {}
    for call in groups.it.maps.calls.values():
        calls.setdefault(call.site, []).append(call)
        sites.setdefault(call.node, set()).add(call.site)
    made: dict[ast.expr, list[OpChoice]] = {}
    for node, choice in found.sites.items():
        own = calls.get(node, [])
        if choice.by_rows or len(own) > FEW or any(len(sites[c.node]) > 1 for c in own):
            continue
        if choice.is_global or groups.facts.blocked(node) is None:
            made[node] = _Entering(groups, choice).ops(own)
    around = any(any(map(_is_local, one.every)) and not made.get(node) for node, one in found.sites.items())
    for node, ops in made.items():
        choice = found.sites[node]
        if around and any(one.op.kind == "kept" for one in ops):
            ops.clear()
        elif ops:
            found.sites[node] = _over_all(choice) if choice.is_global else replace(choice, at_calls=True)
    return {node: ops for node, ops in made.items() if ops}


def _is_local(choice: Choice) -> bool:
    """Whether each process has rows of its own of an array."""
    return choice.layout == "stacked" and not choice.aligned


def _over_all(choice: SiteChoice) -> SiteChoice:
    """A site of which all stacked arrays lie over all processes."""

    def changed(choices: Sequence[Choice]) -> tuple[Choice, ...]:
        return tuple(replace(one, aligned=True) if _is_local(one) else one for one in choices)

    return replace(choice, arguments=changed(choice.arguments), outputs=changed(choice.outputs))


class _Entering:
    """What the calls of one site do."""

    def __init__(self, groups: Groups, choice: SiteChoice) -> None:
        self.groups = groups
        self.choice = choice
        self.axis = choice.axis or groups.axis
        self.maps = {call.node for call in groups.it.maps.calls.values()}

    def ops(self, calls: Sequence[SiteCall]) -> list[OpChoice]:
        """The operations at all calls; none where a call cannot do it, or where there is nothing to do."""
        choice = self.choice
        if not choice.is_global and not all(map(_is_local, choice.every)):
            return []  # what has no device axis may be of each process, which only a function around the map can tell
        fields = (name for one in choice.every for name, _ in one.fields if name not in one.aligned_fields)
        mixed = any(_is_local(part) for one in choice.arguments for part in one.parts)
        if mixed or any(True for _ in fields) or not any(map(_is_local, choice.every)):
            return []
        made: list[OpChoice] = []
        for call in calls:
            found = self._of_call(call)
            if found is None:
                return []
            made += found
        return made

    def _of_call(self, call: SiteCall) -> list[OpChoice] | None:
        it, node = self.groups.it, call.node
        if has_stars(node) or not it.editable(call.module):
            return None
        if node in it.wrappers.padded_calls:
            return self._padded(call)
        if node in it.maps.unmapped:
            return None  # it may be of another function, which takes what it is given as it is
        if isinstance(node.func, ast.Attribute) and node.func.attr in STAGES:
            return None
        places = call.places
        if len(places) != len(self.choice.arguments) or (
            call.receiver is not None and _is_local(self.choice.arguments[0])
        ):
            return None  # a partial of the map, or what calls it for each element
        local = {index: place for index, place in enumerate(places) if _is_local(self.choice.arguments[index])}
        fresh = self.choice.is_global and all(
            self._is_made_for_call(it.groups.get(("argument", call.site, index))) and _is_fresh(place, call, self.maps)
            for index, place in local.items()
        )
        taken = self._taken(call)
        if taken is None:
            return None
        return [*(self._op("given" if fresh else "kept", place, call.module) for place in local.values()), *taken]

    def _padded(self, call: SiteCall) -> list[OpChoice] | None:
        """`pad_shard_unpad(step)(w, batch)`, in which flax calls the map: it is given a function that does that."""
        made, choice = call.node.func, self.choice
        if not isinstance(made, ast.Call) or len(call.arguments) != len(choice.arguments) or call.receiver is not None:
            return None
        step, local = made.args[0] if made.args else None, [*map(_is_local, choice.arguments)]
        if not isinstance(step, ast.Name) or (any(map(_is_local, choice.outputs)) and not choice.whole):
            return None
        known = self.groups.it
        padded = known.wrappers.padded.get(made)
        if not isinstance(padded, Func) or not all(isinstance(one, Site) for one in padded.items):
            return None
        function = mapped_bodies.mapped_function(known, call.site)
        names = mapped_bodies.parameters(known, call.site, function, len(local)) if function is not None else {}
        said = [names.get(i, f"arg{i}") for i in range(len(local))]
        if len({*said, step.id}) <= len(local):
            return None
        given = ", ".join(f"={name}" if own else name for name, own in zip(said, local, strict=True))
        return [self._op("taken" if any(map(_is_local, choice.outputs)) else "given", step, call.module, given)]

    def _is_made_for_call(self, group: Group | None) -> bool:
        """Whether no map gives such arrays back: a state that goes round is not copied in each round."""
        return group is None or all(key[0] != "output" for key in self.groups.keys_of(group.find()))

    def _taken(self, call: SiteCall) -> list[OpChoice] | None:
        """What is done with the results of a call of which a process takes its rows; None where they have no names."""
        local = [index for index, one in enumerate(self.choice.outputs) if _is_local(one)]
        if not local:
            return []
        if self.choice.whole or all(map(_is_local, self.choice.outputs)):
            return [self._op("taken", call.node, call.module)]
        statement = call.module.table.parents.get(call.node)
        flat = self.choice.tree.places == tuple((i,) for i in range(len(self.choice.outputs)))
        if not (flat and isinstance(statement, ast.Assign) and len(statement.targets) == 1):
            return None
        target = statement.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(self.choice.outputs):
            return None
        names = [target.elts[index] for index in local]
        if not all(isinstance(one, ast.Name) for one in names) or len({ast.unparse(one) for one in names}) < len(names):
            return None
        return [
            self._op("taken", target if len(names) > 1 else names[0], call.module, ", ".join(map(ast.unparse, names)))
        ]

    def _op(self, kind: Kind, node: ast.expr, module: Module, form: str = "") -> OpChoice:
        op = Op(kind, module, node, node, Group((kind, node)), form)
        return OpChoice(op, "stacked", self.axis, donated=False, site=self.choice.site.node)


def _is_fresh(place: ast.expr, call: SiteCall, maps: Collection[ast.AST]) -> bool:
    """Whether an argument is made for the call that it is given to: what stays for many would be copied by each.

    So is what another call gives, and what the loop or the function around the call binds, but by a call of a map; of a
    parameter, its name has to say that it is a batch.
    """
    base = place
    while isinstance(base, ast.Subscript | ast.Attribute):
        base = base.value
    if isinstance(base, ast.Call):
        return base not in maps
    if not isinstance(base, ast.Name):
        return False
    parents = call.module.table.parents
    around: ast.AST | None = parents.get(call.node)
    while around is not None and not isinstance(around, LOOPS | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        around = parents.get(around)
    bindings = [one for one in _within(around) if _binds(one, base.id)] if around is not None else []
    statements = [call.module.table.statement_of(one) for one in bindings]
    if any(isinstance(one, ast.Assign) and one.value in maps for one in statements):
        return False  # a state that goes round
    if isinstance(around, LOOPS) or bindings:
        return bool(bindings)
    return base is place and presuming.BATCH.search(base.id.lower()) is not None


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a loop or function, but not in functions there."""
    waiting = [*ast.iter_child_nodes(node)]
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(one)


def _binds(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
