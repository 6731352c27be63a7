"""What is known of a file that is rewritten with global arrays: its names, style, axes, meshes, and what it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxmigrate.flow.layout.choices import OpChoice, SiteChoice
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.migrate import global_helpers as helpers
from jaxmigrate.migrate.comments import comments_around
from jaxmigrate.migrate.edits import Edit, Positions
from jaxmigrate.migrate.imports import names_for
from jaxmigrate.migrate.placement import holder_of, line_start
from jaxmigrate.migrate.style import Style, style_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import is_docstring
from jaxmigrate.program.sites import is_decorator
from jaxmigrate.program.values import Constant, Function

WIDTH = 88


@dataclass(slots=True)
class GlobalRewrite:
    """What a file's rewrite with global arrays adds to it."""

    edits: list[Edit] = field(default_factory=list)
    added: tuple[str, ...] = ()
    helpers: list[list[str]] = field(default_factory=list)
    uses: list[ast.expr] = field(default_factory=list)
    calls: set[ast.expr] = field(default_factory=set)
    replaced: set[ast.AST] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Program:
    """What the whole program says: whether it may run as several processes, and whether some code asks which it is.

    `unlike`: a map may give an output under `out_axes=None`, or an unchecked shard_map one under `P()`, that is not the
    same on all devices. `own`: where there are several processes, each has an array of its own of such an output.
    """

    processes: bool
    guarded: bool
    unlike: bool = False
    own: bool = False


class GlobalFile:
    """One file, what is global in it, and its rewrite as far as it is written."""

    def __init__(
        self,
        module: Module,
        sites: Sequence[SiteChoice],
        ops: Sequence[OpChoice],
        program: Program,
        resolver: Resolver,
        taken: Iterable[str],
        alone: Mapping[ast.expr, tuple[int, ...]],
    ) -> None:
        self.alone = alone
        self.module = module
        self.sites = sites
        self.ops = ops
        self.program = program
        self.resolver = resolver
        self.positions = Positions(module.text)
        self.style: Style = style_of(module)
        self.axes = {axis: self._axis_text(axis) for axis in {*(c.axis for c in sites), *(c.axis for c in ops)}}
        self.inline: set[ast.expr] = set()
        self.result = GlobalRewrite()
        self.wanted: set[str] = {"Mesh"} if self._mesh_users() or any(self._is_deferred(c) for c in sites) else set()
        self.wanted |= {"PartitionSpec"} if sites else set()
        if alone or any(self._helper_of(c) for c in ops):
            self.wanted |= {"NamedSharding", "PartitionSpec"}
        if any(c.op.kind in ("stack", "checkpoint") for c in ops):
            self.wanted |= {"Mesh", "NamedSharding", "PartitionSpec"}
        if program.processes and any(self._needs_host_local(c) for c in sites):
            self.wanted.add("multihost_utils")
        self.weakly = any(self._is_of_jaxline(c) for c in ops)
        numpy = any(self._helper_of(c) == "replicate" for c in ops) and not self.weakly
        self.names, self.result.added = names_for(module, self.wanted, numpy, taken)
        self.trees = self._with_trees()
        if self.trees and not self._others():
            self.names = replace(self.names, shard_map_trees=self.names.shard_map)

    def _with_trees(self) -> set[ast.expr]:
        """The sites whose specs are trees: all of a file where one of them needs that and the others can do with it."""
        deferred = [c for c in self.sites if self._is_deferred(c)]
        if len({c.axis for c in deferred}) > 1:
            return set()
        needs = {c.site.node for c in deferred if c.needs_trees}
        if needs and all(c.may_have_trees for c in deferred):
            return {c.site.node for c in deferred}
        return needs

    def _others(self) -> list[SiteChoice]:
        """The sites whose maps are made by another helper, which is told what is stacked."""
        return [c for c in self.sites if self._is_deferred(c) and c.site.node not in self.trees]

    def _axis_text(self, axis: str) -> str:
        """The source of an axis name: a constant of the module that stands for it, or the literal."""
        for choice in self.sites:
            argument = choice.site.keyword("axis_name")
            expression = argument.expression if argument is not None else None
            if choice.axis == axis and isinstance(expression, ast.Name) and self._is_constant(expression, axis):
                return expression.id
        return f"{self.style.quote}{axis}{self.style.quote}"

    def _is_constant(self, node: ast.Name, axis: str) -> bool:
        bindings = self.module.table.root.bindings.get(node.id, [])
        used = node in self.module.table.scope_of and self.module.table.scope_of[node].lookup(node.id)
        fits = used is self.module.table.root and len(bindings) == 1
        return fits and self.resolver.value(node, self.module) == Constant(axis)

    def _has_stacked(self, choice: SiteChoice) -> bool:
        """Whether a site needs the helper that drops and adds the device axis."""
        fields = any(c.fields for c in choice.arguments)
        return fields or bool(self._stacked(choice) or self._stacked_outputs(choice))

    def _stacked(self, choice: SiteChoice) -> list[int]:
        """The arguments whose device axis the mapped function does not drop itself."""
        stacked = [i for i, c in enumerate(choice.arguments) if c.layout == "stacked"]
        return [] if self._squeezes_itself(choice) else stacked

    @staticmethod
    def _stacked_outputs(choice: SiteChoice) -> list[int]:
        """The outputs to which the map adds a device axis."""
        return [i for i, c in enumerate(choice.outputs) if c.layout == "stacked"]

    def _squeezes_itself(self, choice: SiteChoice) -> bool:
        aligned = all(c.aligned for c in choice.arguments if c.layout == "stacked")
        plain = all(self._body_place(s.function) is not None for s in choice.squeezes)
        return bool(choice.squeezes) and plain and (aligned or not self.program.processes)

    @staticmethod
    def _body_place(function: Function) -> tuple[int, str] | None:
        """Where a statement goes before a function's first one, and its indentation."""
        body = function.node.body
        assert isinstance(body, list)
        first = body[1] if is_docstring(body[0]) and len(body) > 1 else body[0]
        return line_start(first, function.module, Positions(function.module.text))

    def _needs_host_local(self, choice: SiteChoice) -> bool:
        """Whether arrays of a site are those of one process alone."""
        stacked = self._has_stacked(choice) and any(
            (c.layout == "stacked" and not c.aligned) or c.fields for c in (*choice.arguments, *choice.outputs)
        )
        return stacked or bool(self._own(choice) or self._own_outputs(choice))

    def _own(self, choice: SiteChoice) -> list[int]:
        """The arguments without a device axis that may be arrays of one process, as it was given them by a map."""
        holds = self.program.own and not any(c.fields for site in self.sites for c in site.arguments)
        return [i for i, c in enumerate(choice.arguments) if c.layout == "broadcast"] if holds else []

    def _own_outputs(self, choice: SiteChoice) -> list[int]:
        """The outputs without a device axis, of which each process gets one of its own."""
        return [i for i, c in enumerate(choice.outputs) if c.layout == "broadcast"] if self.program.own else []

    def _is_deferred(self, choice: SiteChoice) -> bool:
        """Whether a site's mesh cannot be built where the site stands."""
        node = choice.site.node
        at_import = isinstance(holder_of(node, self.module), ast.Module | None)
        helped = self._has_stacked(choice) or bool(choice.keywords) or node in self.alone or bool(choice.tree.named)
        helped |= bool(self._own(choice) or self._own_outputs(choice))
        return at_import or is_decorator(node, self.module) or helped

    def _mesh_users(self) -> list[ast.expr]:
        direct = [c.site.node for c in self.sites if not self._is_deferred(c)]
        helped = [c.op.node for c in self.ops if self._helper_of(c) and c.op.kind != "checkpoint"]
        return [*direct, *helped]

    def _helper_of(self, choice: OpChoice) -> str:
        """Which helper an operation calls, an empty string for none."""
        if choice.op.kind in ("replicate", "checkpoint"):
            return "replicate"
        if choice.op.kind in ("split", "rows"):
            return "shard"
        return ""

    def _is_of_jaxline(self, choice: OpChoice) -> bool:
        """Whether jaxline replicates what an operation replicates: it keeps the weak dtypes of Python's numbers."""
        called = Idioms(self.resolver).called(choice.op.node, self.module)
        return choice.op.kind == "checkpoint" or called == "jaxline.utils.bcast_local_devices"

    def _mesh(self, node: ast.expr) -> str:
        return self._mesh_text([node]) if node in self.inline else self.names.mesh

    def _mesh_text(self, nodes: Sequence[ast.expr]) -> str:
        chosen = {id(c.site.node): c.axis for c in self.sites} | {id(c.op.node): c.axis for c in self.ops}
        axis = next(chosen[id(n)] for n in nodes)
        return helpers.mesh_text(self.names, self.axes[axis], self.program.processes and self.program.guarded)

    def _text_of(self, line: int) -> str:
        start, end = self.positions.line_span(line)
        return self.module.text[start:end]

    def _indent(self, node: ast.expr | ast.stmt) -> str:
        line = self._text_of(node.lineno)
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _comments_around(self, node: ast.expr, inner: ast.expr) -> tuple[list[str], list[str]]:
        """The comments of an expression that is written anew but for a part of it: before that part, and after it."""
        start, end = self.positions.span(node)
        low, high = self.positions.span(inner)
        return comments_around(self.module.text[start:end], low - start, high - start)

    def _fits(self, node: ast.expr, text: str) -> bool:
        start, _ = self.positions.line_span(node.lineno)
        return self.positions.span(node)[0] - start + len(text) < WIDTH and "\n" not in text
