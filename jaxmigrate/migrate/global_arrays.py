"""The rewrite of a file with global arrays: maps with specs, the operations around them, meshes and helpers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from jaxmigrate.flow.layout.choices import Layouts, SiteChoice
from jaxmigrate.migrate import global_helpers as helpers
from jaxmigrate.migrate import state_helper, tree_helper
from jaxmigrate.migrate.edits import Edit
from jaxmigrate.migrate.global_checkpoints import CheckpointWriter
from jaxmigrate.migrate.global_file import GlobalRewrite, Program
from jaxmigrate.migrate.global_helpers import MapNeeds
from jaxmigrate.migrate.global_operations import OperationWriter
from jaxmigrate.migrate.global_sites import SiteWriter
from jaxmigrate.migrate.imports import has_jax_import
from jaxmigrate.migrate.one_device import is_given_alone
from jaxmigrate.migrate.placement import DEFINITIONS, Holder, holder_of, line_start, statement_before
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver


def can_hold(module: Module) -> bool:
    """Whether a file can be given the imports that global arrays need."""
    return has_jax_import(module) and module.runs_in_order


def global_rewrite(
    module: Module, choices: Layouts, program: Program, resolver: Resolver, taken: Iterable[str]
) -> GlobalRewrite | None:
    """The edits of one file; None where it has neither a site nor an operation over global arrays."""
    sites = [c for c in choices.sites.values() if c.is_global and c.site.module is module]
    ops = [c for c in choices.ops if c.op.module is module and (c.op.kind != "rows" or program.processes)]
    alone = _given_alone(sites, choices, resolver)
    writer = _Writer(module, sites, ops, program, resolver, taken, alone)
    writer.calls([c.node for c in choices.calls if c.module is module])
    writer.bodies([c for c in choices.sites.values() if c.is_global])
    return writer.write() if sites or ops or writer.result.edits else None


def _given_alone(sites: Sequence[SiteChoice], choices: Layouts, resolver: Resolver) -> dict[ast.expr, tuple[int, ...]]:
    """The sites that are given arrays of one device for arguments that all devices take alike, and which these are."""
    places = {c.site.node: tuple(i for i, a in enumerate(c.arguments) if a.layout == "broadcast") for c in sites}
    alone = [c.site for c in sites if is_given_alone(c.site, places[c.site.node], resolver, choices.replaced)]
    return {site.node: places[site.node] for site in alone}


class _Writer(SiteWriter, OperationWriter, CheckpointWriter):
    """Writes one file."""

    def write(self) -> GlobalRewrite:
        self._mesh_statements()
        for choice in self.sites:
            self._site(choice)
        for op in self.ops:
            if op.op.kind != "checkpoint":
                self.result.edits += self._operation(op)
            self.result.uses.append(op.op.node)
        self.result.edits += self._checkpoints()
        self.result.helpers = [list(lines) for lines in self._helpers()]
        return self.result

    def calls(self, calls: Sequence[ast.Call]) -> None:
        """What is given by keyword is given by position where it has one, so that it needs no helper."""
        for keyword in (k for call in calls for k in call.keywords):
            start, _ = self.positions.span(keyword)
            self.result.edits.append(Edit(start, self.positions.span(keyword.value)[0], ""))

    def bodies(self, choices: Sequence[SiteChoice]) -> None:
        """Mapped functions of this file drop the device axis of their stacked parameters."""
        for choice in choices:
            squeezes = [s for s in choice.squeezes if s.function.module is self.module]
            if not squeezes or not self._squeezes_itself(choice):
                continue
            place = self._body_place(squeezes[0].function)
            assert place is not None
            start, indent = place
            lines = [f"{indent}{s.name} = {s.name}.squeeze(0){self.style.newline}" for s in squeezes]
            self.result.edits.append(Edit(start, start, "".join(lines)))

    def _mesh_statements(self) -> None:
        """Binds `mesh` once in each function that needs it; elsewhere it is written out where it is used."""
        groups: dict[Holder | None, list[ast.expr]] = {}
        for node in self._mesh_users():
            groups.setdefault(holder_of(node, self.module), []).append(node)
        for holder, nodes in groups.items():
            statement = statement_before(holder, nodes, self.module) if holder is not None else None
            place = line_start(statement, self.module, self.positions) if statement is not None else None
            if place is None:
                self.inline.update(nodes)
                continue
            start, indent = place
            text = f"{indent}{self.names.mesh} = {self._mesh_text(nodes)}{self.style.newline}"
            apart = self.style.newline if isinstance(statement, DEFINITIONS) else ""
            self.result.edits.append(Edit(start, start, text + apart))

    def _helpers(self) -> Iterator[Iterable[str]]:
        several, deferred = self.program.processes, self._others()
        if trees := [c for c in self.sites if c.site.node in self.trees]:
            wanted = MapNeeds(
                stacked=any(self._stacked(s) or any(c.fields for c in s.arguments) for s in trees),
                stacked_parts=any(c.layout == "stacked" or c.fields for s in trees for c in s.outputs),
                split=any(self._has_split(s) for s in trees),
                donate=any(self._donated(s) for s in trees),
                processes=several and any(self._needs_host_local(s) for s in trees),
                ordered=several and self.program.guarded,
            )
            axis = trees[0].axis
            yield tree_helper.shard_map_lines(self.names, wanted, self._double(axis), f'"{axis}"')
        if deferred:
            needs = MapNeeds(
                stacked=any(self._stacked(s) for s in deferred),
                stacked_whole=any(self._stacked_outputs(s) and self._gives_whole(s) for s in deferred),
                stacked_parts=any(self._stacked_outputs(s) and not self._gives_whole(s) for s in deferred),
                copies=frozenset(c.method for s in deferred for c in s.arguments if c.fields),
                state_outputs=any(c.fields for s in deferred if not s.whole for c in s.outputs),
                whole_state=any(c.fields for s in deferred if s.whole for c in s.outputs),
                donate=any(self._donated(s) for s in deferred),
                static=any(self._static(s) for s in deferred),
                keywords=any(s.keywords for s in deferred),
                everywhere=any(s.site.node in self.alone for s in deferred),
                own=any(map(self._own, deferred)),
                own_whole=any(self._own_outputs(s) and s.whole for s in deferred),
                own_parts=any(self._own_outputs(s) and not s.whole for s in deferred),
                processes=several and any(self._needs_host_local(s) for s in deferred),
                ordered=several and self.program.guarded,
                by_rows=any(s.by_rows for s in deferred),
                named=len({c.axis for c in deferred}) > 1,
            )
            lines = state_helper.shard_map_lines if needs.copies else helpers.shard_map_lines
            yield lines(self.names, needs, self._double(deferred[0].axis))
        used = {self._helper_of(c) for c in self.ops}
        if "replicate" in used:
            yield helpers.replicate_lines(self.names, weakly=self.weakly, unlike=self.program.unlike)
        if "shard" in used:
            axes = {*(c.axis for c in self.ops), *(c.axis for c in self.sites)}
            axis = self._double(axes.pop()) if len(axes) == 1 else "*mesh.axis_names"
            yield helpers.shard_lines(self.names, axis, several)
        if (lent := next((c for c in self.ops if c.op.kind == "stack"), None)) is not None:
            yield helpers.stack_lines(self.names, self._double(lent.axis), several)
        if any(c.op.kind == "prefetch" for c in self.ops):
            yield helpers.prefetch_lines(self.names)

    def _double(self, axis: str) -> str:
        """An axis in a helper's source, which the file's style has yet to be given to."""
        text = self.axes[axis]
        return f'"{axis}"' if text.startswith(("'", '"')) else text
