"""The text of a rewrite with global arrays: maps with specs, and the operations that made and undid the device axis."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jaxmigrate.flow.layout.choices import Layouts, OpChoice, SiteChoice
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.objects import REPLACES
from jaxmigrate.flow.layout.state import Op
from jaxmigrate.migrate import global_helpers as helpers
from jaxmigrate.migrate import state_helper
from jaxmigrate.migrate.edits import Edit, Positions
from jaxmigrate.migrate.global_helpers import MapNeeds
from jaxmigrate.migrate.imports import has_jax_import, names_for
from jaxmigrate.migrate.one_device import is_given_alone
from jaxmigrate.migrate.placement import Holder, holder_of, line_start, statement_before
from jaxmigrate.migrate.style import Style, style_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import is_decorator
from jaxmigrate.program.values import Constant, External, Function

WIDTH = 88
ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Tuple, ast.Dict, ast.List)


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
    """What the whole program says: whether it may run as several processes, and whether some code asks which it is."""

    processes: bool
    guarded: bool


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
    changed = {c.op.node for c in choices.ops if not c.fields}
    places = {c.site.node: tuple(i for i, a in enumerate(c.arguments) if a.layout == "broadcast") for c in sites}
    alone = [c.site for c in sites if is_given_alone(c.site, places[c.site.node], resolver, changed)]
    return {site.node: places[site.node] for site in alone}


class _Writer:
    """Writes one file."""

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
        self.result = GlobalRewrite()
        self.wanted: set[str] = {"Mesh"} if self._mesh_users() or any(self._is_deferred(c) for c in sites) else set()
        self.wanted |= {"PartitionSpec"} if sites else set()
        if alone or any(self._helper_of(c) for c in ops):
            self.wanted |= {"NamedSharding", "PartitionSpec"}
        if any(c.op.kind == "stack" for c in ops):
            self.wanted |= {"Mesh", "NamedSharding", "PartitionSpec"}
        if program.processes and any(self._needs_host_local(c) for c in sites):
            self.wanted.add("multihost_utils")
        numpy = any(c.op.kind == "replicate" for c in ops)
        self.names, self.result.added = names_for(module, self.wanted, numpy, taken)

    def write(self) -> GlobalRewrite:
        self._mesh_statements()
        for choice in self.sites:
            self._site(choice)
        for op in self.ops:
            self.result.edits += self._operation(op)
            self.result.uses.append(op.op.node)
        self.result.helpers = [list(lines) for lines in self._helpers()]
        return self.result

    # What is needed

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
        given = any(c.layout == "stacked" for c in choice.outputs) or any(c.fields for c in choice.arguments)
        return bool(self._stacked(choice)) or given

    def _stacked(self, choice: SiteChoice) -> list[int]:
        """The arguments whose device axis the mapped function does not drop itself."""
        stacked = [i for i, c in enumerate(choice.arguments) if c.layout == "stacked"]
        return [] if self._squeezes_itself(choice) else stacked

    def _squeezes_itself(self, choice: SiteChoice) -> bool:
        aligned = all(c.aligned for c in choice.arguments if c.layout == "stacked")
        plain = all(self._body_place(s.function) is not None for s in choice.squeezes)
        return bool(choice.squeezes) and plain and (aligned or not self.program.processes)

    @staticmethod
    def _body_place(function: Function) -> tuple[int, str] | None:
        """Where a statement goes before a function's first one, and its indentation."""
        body = function.node.body
        assert isinstance(body, list)
        first = body[1] if _is_docstring(body[0]) and len(body) > 1 else body[0]
        return line_start(first, function.module, Positions(function.module.text))

    def calls(self, calls: Sequence[ast.Call]) -> None:
        """What is given by keyword is given by position: a shard_map takes no keywords."""
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

    def _needs_host_local(self, choice: SiteChoice) -> bool:
        """Whether stacked arrays of a site hold the slices of one process alone."""
        return self._has_stacked(choice) and any(
            (c.layout == "stacked" and not c.aligned) or c.fields for c in (*choice.arguments, *choice.outputs)
        )

    def _is_deferred(self, choice: SiteChoice) -> bool:
        """Whether a site's mesh cannot be built where the site stands."""
        node = choice.site.node
        at_import = isinstance(holder_of(node, self.module), ast.Module | None)
        return at_import or is_decorator(node, self.module) or self._has_stacked(choice) or node in self.alone

    def _mesh_users(self) -> list[ast.expr]:
        direct = [c.site.node for c in self.sites if not self._is_deferred(c)]
        return [*direct, *(c.op.node for c in self.ops if self._helper_of(c))]

    def _helper_of(self, choice: OpChoice) -> str:
        """Which helper an operation calls, an empty string for none."""
        if choice.op.kind == "replicate":
            return "replicate"
        if choice.op.kind in ("split", "rows"):
            return "shard"
        return ""

    # Meshes

    def _mesh_statements(self) -> None:
        """Binds `mesh` once in each function that needs it; elsewhere it is written out where it is used."""
        self.inline: set[ast.expr] = set()
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
            self.result.edits.append(Edit(start, start, text))

    def _mesh_text(self, nodes: Sequence[ast.expr]) -> str:
        chosen = {id(c.site.node): c.axis for c in self.sites} | {id(c.op.node): c.axis for c in self.ops}
        axis = next(chosen[id(n)] for n in nodes)
        return helpers.mesh_text(self.names, self.axes[axis], self.program.processes and self.program.guarded)

    def _mesh(self, node: ast.expr) -> str:
        return self._mesh_text([node]) if node in self.inline else self.names.mesh

    # Sites

    def _site(self, choice: SiteChoice) -> None:
        node = choice.site.node
        self.result.uses.append(node)
        if choice.site.reference is not None:
            self.result.replaced.add(choice.site.reference.node)
        if is_decorator(node, self.module):
            self.result.edits.append(Edit(*self.positions.span(node), self._decorator(choice)))
            return
        self.result.calls.add(node)
        mapped = choice.site.mapped
        assert mapped is not None
        assert mapped.expression is not None
        start, end = self.positions.span(node)
        inner = self.positions.span(mapped.expression)
        before, after = self._call(choice, self.module.text[inner[0] : inner[1]])
        self.result.edits += [Edit(start, inner[0], before), Edit(inner[1], end, after)]

    def _specs(self, choice: SiteChoice) -> tuple[str, str]:
        split = f"{self.names.spec}({self.axes[choice.axis]})"
        texts = {"replicated": f"{self.names.spec}()", "broadcast": f"{self.names.spec}()", "static": "None"}
        ins = [texts.get(c.layout, split) for c in choice.arguments]
        outs = [texts.get(c.layout, split) for c in choice.outputs]
        return _display(ins), outs[0] if choice.whole else _display(outs)

    def _donated(self, choice: SiteChoice) -> str:
        argument = choice.site.keyword("donate_argnums")
        if argument is None or argument.expression is None:
            return ""
        if argument.module is not self.module:
            value = self.resolver.value(argument.expression, argument.module)
            return repr(value.value) if isinstance(value, Constant) else ast.unparse(argument.expression)
        return argument.module.segment(argument.expression)

    def _static(self, choice: SiteChoice) -> str:
        """The positions of static arguments, for `jax.jit`."""
        positions = [str(i) for i, c in enumerate(choice.arguments) if c.layout == "static"]
        return _display(positions) if positions else ""

    def _keywords(self, choice: SiteChoice) -> list[str]:
        """The keywords of `_shard_map`."""
        in_specs, out_specs = self._specs(choice)
        found = [f"in_specs={in_specs}", f"out_specs={out_specs}"]
        if len({c.axis for c in self.sites if self._is_deferred(c)}) > 1:
            found.insert(0, f"axis_name={self.axes[choice.axis]}")
        stacked = self._stacked(choice)
        outputs = [i for i, c in enumerate(choice.outputs) if c.layout == "stacked"]
        if stacked:
            found.append(f"stacked={_display([str(i) for i in stacked])}")
        if outputs:
            whole = "True" if choice.whole else _display([str(i) for i in outputs])
            found.append(f"stacked_outputs={whole}")
        found += self._state_keywords(choice)
        if alone := self.alone.get(choice.site.node):
            found.append(f"everywhere={_display([str(i) for i in alone])}")
        static, donated = self._static(choice), self._donated(choice)
        found += [f"static_argnums={static}"] if static else []
        return [*found, *([f"donate_argnums={donated}"] if donated else [])]

    def _state_keywords(self, choice: SiteChoice) -> list[str]:
        """The fields of objects that stay stacked, and the outputs that have those of an argument."""
        quote = self.style.quote
        fields = {
            i: _display([f"{quote}{name}{quote}" for name, _ in c.fields])
            for i, c in enumerate(choice.arguments)
            if c.fields
        }
        if not fields:
            return []
        found = [f"stacked_fields={{{', '.join(f'{i}: {names}' for i, names in fields.items())}}}"]
        like = {i: c.like for i, c in enumerate(choice.outputs) if c.fields}
        if choice.whole:
            return [*found, f"whole_state={like[0]}"] if like else found
        return [*found, f"state_outputs={like}"] if like else found

    def _call(self, choice: SiteChoice, mapped: str) -> tuple[str, str]:
        """What stands before and after the mapped function."""
        unit, newline = self.style.indent, self.style.newline
        indent = self._indent(choice.site.node)
        comments = self._comments(choice)
        if self._is_deferred(choice):
            keywords = self._keywords(choice)
            line = f"{self.names.shard_map}({mapped}, {', '.join(keywords)})"
            if self._fits(choice.site.node, line) and not comments:
                return f"{self.names.shard_map}(", f", {', '.join(keywords)})"
            inner = f"{newline}{indent}{unit}"
            after = "".join(f",{inner}{keyword}" for keyword in keywords)
            noted = "".join(f"{inner}{comment}" for comment in comments)
            return f"{self.names.shard_map}({noted}{inner}", f"{after},{newline}{indent})"
        in_specs, out_specs = self._specs(choice)
        arguments = [f"mesh={self._mesh(choice.site.node)}", f"in_specs={in_specs}", f"out_specs={out_specs}"]
        arguments.append("check_vma=False")
        jax = self.names.jax
        static, donated = self._static(choice), self._donated(choice)
        options = [f"static_argnums={static}"] if static else []
        options += [f"donate_argnums={donated}"] if donated else []
        deep = f"{newline}{indent}{unit}{unit}"
        inner = f"{newline}{indent}{unit}"
        noted = "".join(f"{inner}{comment}" for comment in comments)
        before = f"{jax}.jit({noted}{inner}{jax}.shard_map({deep}"
        after = "".join(f",{deep}{argument}" for argument in arguments) + f",{inner}),"
        after += "".join(f"{inner}{option}," for option in options)
        one = f"{jax}.shard_map({mapped}, {', '.join(arguments)})"
        if newline not in mapped and len(indent + unit + one) < WIDTH:
            before = f"{jax}.jit({noted}{inner}{jax}.shard_map("
            after = f", {', '.join(arguments)})," + "".join(f"{inner}{option}," for option in options)
        return before, f"{after}{newline}{indent})"

    def _decorator(self, choice: SiteChoice) -> str:
        keywords = ", ".join(self._keywords(choice))
        partial = self._partial()
        if partial is None:
            return f"lambda fun: {self.names.shard_map}(fun, {keywords})"
        line = f"{partial}({self.names.shard_map}, {keywords})"
        indent = self._indent(choice.site.node)
        if len(indent) + len(line) < WIDTH:
            return line
        newline = self.style.newline
        inner = f"{newline}{indent}{self.style.indent}"
        parts = "".join(f"{inner}{keyword}," for keyword in self._keywords(choice))
        return f"{partial}({inner}{self.names.shard_map},{parts}{newline}{indent})"

    def _partial(self) -> str | None:
        """What the file calls functools.partial."""
        for name, bindings in self.module.table.root.bindings.items():
            for binding in bindings:
                if isinstance(binding.node, ast.alias):
                    if binding.kind == "import" and binding.node.name == "functools":
                        return f"{name}.partial"
                    statement = self.module.table.parents.get(binding.node)
                    source = getattr(statement, "module", "")
                    if binding.kind == "from" and source == "functools" and binding.node.name == "partial":
                        return name
        return None

    def _comments(self, choice: SiteChoice) -> list[str]:
        """Comments between the arguments of a call that is written anew."""
        mapped = choice.site.mapped
        if mapped is None or mapped.expression is None:
            return []
        start, end = self.positions.span(choice.site.node)
        low, high = self.positions.span(mapped.expression)
        outside = self.module.text[start:low] + "\n" + self.module.text[high:end]
        found = []
        for line in outside.splitlines():
            quoted = line.split("#")[0].count("'") % 2 or line.split("#")[0].count('"') % 2
            if "#" in line and not quoted:
                found.append("#" + line.partition("#")[2].rstrip())
        return found

    def _indent(self, node: ast.expr) -> str:
        start, end = self.positions.line_span(node.lineno)
        line = self.module.text[start:end]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _fits(self, node: ast.expr, text: str) -> bool:
        start, _ = self.positions.line_span(node.lineno)
        return self.positions.span(node)[0] - start + len(text) < WIDTH and "\n" not in text

    # Operations

    def _operation(self, choice: OpChoice) -> list[Edit]:
        """The edits of an operation; of an object's stacked fields it is kept as it is."""
        edits = self._global_operation(choice)
        fields = [name for name in choice.fields if name not in self._replaced_next(choice.op.node)]
        if not fields:
            return edits
        if choice.op.kind != "stack" and not isinstance(choice.op.operand, ast.Name | ast.Attribute):
            return self._named_first(choice, fields)  # what is lent, `states[0]` too, means the same twice
        *others, last = edits
        state = self.module.segment(choice.op.operand)
        copied = last.replacement + self._copied(choice, state, fields, len(state) + len(last.replacement))
        return [*others, Edit(last.start, last.end, copied)]

    def _copied(self, choice: OpChoice, state: str, fields: Sequence[str], width: int) -> str:
        """`.replace(...)` with an operation kept as it is for each of some fields of a state."""
        node, operand = self.positions.span(choice.op.node), self.positions.span(choice.op.operand)
        before, after = self.module.text[node[0] : operand[0]], self.module.text[operand[1] : node[1]]
        if "#" not in before + after:
            before, after = _on_one_line(before), _on_one_line(after)
        kept = [f"{name}={before}{state}.{name}{after}" for name in fields]
        copied = f".{choice.method}({', '.join(kept)})"
        if self._fits(choice.op.node, " " * width + copied):
            return copied
        newline, indent = self.style.newline, self._indent(choice.op.node)
        inner = "".join(f"{newline}{indent}{self.style.indent}{one}," for one in kept)
        return f".{choice.method}({inner}{newline}{indent})"

    def _named_first(self, choice: OpChoice, fields: Sequence[str]) -> list[Edit]:
        """`x = replicate(make())` in two statements, so that the fields have a name."""
        op, statement = choice.op, self.module.table.parents[choice.op.node]
        assert isinstance(statement, ast.Assign)
        name = self.module.segment(statement.targets[0])
        before, after = self._around_state(choice)
        whole = f"{before}{name}{after}"
        indent = self._indent(op.node)
        line = f"{self.style.newline}{indent}{name} = {whole}{self._copied(choice, name, fields, len(whole))}"
        end = self.positions.span(statement)[1]
        made = self._around(op.node, op.operand, *_parentheses(op.operand, self.module, op.node))
        return [made[0], Edit(made[1].start, end, made[1].replacement + line)]

    def _around_state(self, choice: OpChoice) -> tuple[str, str]:
        """What stands before and after the name of a state in an operation on all of it."""
        if choice.op.kind == "replicate":
            return f"{self.names.replicate}(", f", {self._mesh(choice.op.node)})"
        if choice.op.form == "fetched":
            return f"{self.names.jax}.device_get(", ")"
        one = self._one_of(choice)
        return ("", "") if one == "{}" else (f"{self.names.jax}.tree.map(lambda x: {one.format('x')}, ", ")")

    def _replaced_next(self, node: ast.expr) -> set[str | None]:
        """The fields that a program itself replaces at once: `replicate(state).replace(rng=...)`."""
        parents = self.module.table.parents
        method = parents.get(node)
        call = parents.get(method) if isinstance(method, ast.Attribute) and method.attr in REPLACES else None
        return {k.arg for k in call.keywords} if isinstance(call, ast.Call) and call.func is method else set()

    def _global_operation(self, choice: OpChoice) -> list[Edit]:
        op = choice.op
        match op.kind:
            case "replicate":
                before, after = self._typed(op)
                opening, closing = f"{self.names.replicate}({before}", f"{after}, {self._mesh(op.node)})"
                return self._around(op.node, op.operand, opening, closing)
            case "rows":
                start, end = self.positions.span(op.node)
                opening, closing = f"{self.names.shard}(", f", {self._mesh(op.node)})"
                return [Edit(start, start, opening), Edit(end, end, closing)]
            case "merge" if op.form == "same":
                return []
            case "merge":
                return self._around(op.node, op.operand, *_parentheses(op.operand, self.module, op.node))
            case "split" if op.form == "sizes":
                return self._sized(op)
            case "split":
                return self._around(op.node, op.operand, f"{self.names.shard}(", f", {self._mesh(op.node)})")
            case "stack":
                return self._around(op.node, op.operand, f"{self.names.stack}(", ")")
            case "prefetch":
                assert isinstance(op.node, ast.Call)
                return [Edit(*self.positions.span(op.node.func), self.names.prefetch)]
            case "metrics":
                return self._metrics(op.node)
        return self._first(choice)

    def _around(self, node: ast.expr, operand: ast.expr, before: str, after: str) -> list[Edit]:
        start, end = self.positions.span(node)
        low, high = self.positions.span(operand)
        return [Edit(start, low, before), Edit(high, end, after)]

    def _typed(self, op: Op) -> tuple[str, str]:
        """What keeps the dtype of a stack: jnp.stack keeps the weak type of a Python scalar, the others do not."""
        idioms, kept = Idioms(self.resolver), op.form in ("jax.numpy.stack", "jax.numpy.broadcast_to")
        known = idioms.makes_array if kept else idioms.makes_strong
        if "." not in op.form or known(op.operand, self.module):
            return "", ""
        assert isinstance(op.node, ast.Call)
        owner = self.module.segment(op.node.func.value) if isinstance(op.node.func, ast.Attribute) else ""
        if kept:
            return f"{self.names.jax}.numpy.asarray(", ")"
        if op.form.startswith("numpy.") and owner:
            return f"{owner}.asarray(", ")"
        return f"{self.names.jax}.numpy.array([", "])[0]"

    def _sized(self, op: Op) -> list[Edit]:
        """`x.reshape(n, b, ...)`: the first two sizes become one."""
        assert isinstance(op.node, ast.Call)
        method = op.operand is not op.node.args[0]
        sizes = op.node.args if method else op.node.args[1:]
        if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple):
            sizes = sizes[0].elts
        low, high = self.positions.span(sizes[0])[0], self.positions.span(sizes[1])[1]
        start, end = self.positions.span(op.node)
        return [
            Edit(start, start, f"{self.names.shard}("),
            Edit(low, high, "-1"),
            Edit(end, end, f", {self._mesh(op.node)})"),
        ]

    def _metrics(self, node: ast.expr) -> list[Edit]:
        """`get_metrics(m)` without its `x[0]`."""
        assert isinstance(node, ast.Call)
        func, jax = node.func, self.names.jax
        if isinstance(func, ast.Attribute):
            owner = self.module.segment(func.value)
            return self._around(node, node.args[0], f"{owner}.stack_forest({jax}.device_get(", "))")
        opening = f"{jax}.tree.map(lambda *xs: {self.names.numpy}.stack(xs), *{jax}.device_get("
        return self._around(node, node.args[0], opening, "))")

    def _first(self, choice: OpChoice) -> list[Edit]:
        op = choice.op
        if op.form == "fetched":
            return self._around(op.node, op.operand, f"{self.names.jax}.device_get(", ")")
        one = self._one_of(choice)
        if one == "{}" and not choice.fields and (statement := self._assigns_itself(op)) is not None:
            return [statement]
        if one == "{}":
            return self._around(op.node, op.operand, *_parentheses(op.operand, self.module, op.node))
        if op.form != "tree":
            before, after = one.split("{}")
            opening, closing = _parentheses(op.operand, self.module, op.node)
            return self._around(op.node, op.operand, before + opening, closing + after)
        opening = f"{self.names.jax}.tree.map(lambda x: {one.format('x')}, "
        return self._around(op.node, op.operand, opening, ")")

    def _one_of(self, choice: OpChoice) -> str:
        """What becomes of one array of which device 0's slice was taken."""
        numpy = self._numpy_of(choice.op.operand)
        local, copied = self.program.guarded and not choice.op.fetched, choice.donated and not choice.op.fetched
        one = "{}.addressable_data(0)" if local and numpy is None else "{}"
        return f"{numpy or f'{self.names.jax}.numpy'}.copy({one})" if copied else one

    def _numpy_of(self, operand: ast.expr) -> str | None:
        """What the file calls numpy where an operand is numpy's already, `np.asarray(x)`."""
        if not isinstance(operand, ast.Call) or not isinstance(operand.func, ast.Attribute):
            return None
        callee = self.resolver.value(operand.func, self.module)
        is_numpy = isinstance(callee, External) and callee.name.startswith("numpy.")
        return self.module.segment(operand.func.value) if is_numpy else None

    def _assigns_itself(self, op: Op) -> Edit | None:
        """`x = unreplicate(x)`, of which nothing is left."""
        statement = self.module.table.parents.get(op.node)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        target, operand = statement.targets[0], op.operand
        same = isinstance(target, ast.Name) and isinstance(operand, ast.Name) and target.id == operand.id
        block = self.module.table.parents.get(statement)
        bodies = [getattr(block, name, None) for name in ("body", "orelse", "finalbody")]
        alone = any(isinstance(b, list) and statement in b and len(b) == 1 for b in bodies)
        if not same or alone or line_start(statement, self.module, self.positions) is None:
            return None
        start, _ = self.positions.line_span(statement.lineno)
        _, end = self.positions.line_span(statement.end_lineno or statement.lineno)
        rest = self.module.text[self.positions.span(statement)[1] : end].strip()
        return Edit(start, end, "") if not rest or rest.startswith("#") else None

    # Helpers

    def _helpers(self) -> Iterator[Iterable[str]]:
        deferred = [c for c in self.sites if self._is_deferred(c)]
        several = self.program.processes
        if deferred:
            needs = MapNeeds(
                stacked=any(self._stacked(s) for s in deferred),
                stacked_outputs=any(c.layout == "stacked" for s in deferred for c in s.outputs),
                copies=frozenset(c.method for s in deferred for c in s.arguments if c.fields),
                state_outputs=any(c.fields for s in deferred if not s.whole for c in s.outputs),
                whole_state=any(c.fields for s in deferred if s.whole for c in s.outputs),
                donate=any(self._donated(s) for s in deferred),
                static=any(self._static(s) for s in deferred),
                everywhere=any(s.site.node in self.alone for s in deferred),
                processes=several and any(self._needs_host_local(s) for s in deferred),
                ordered=several and self.program.guarded,
                named=len({c.axis for c in deferred}) > 1,
            )
            lines = state_helper.shard_map_lines if needs.copies else helpers.shard_map_lines
            yield lines(self.names, needs, self._double(deferred[0].axis))
        used = {self._helper_of(c) for c in self.ops}
        if "replicate" in used:
            yield helpers.replicate_lines(self.names)
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


def _on_one_line(text: str) -> str:
    """A part of a call without its line breaks and the comma that goes with them."""
    text = re.sub(r"\(\s*\n\s*", "(", re.sub(r",?\s*\n\s*\)", ")", text))
    return re.sub(r"\s*\n\s*", " ", text)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _display(parts: Sequence[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _parentheses(operand: ast.expr, module: Module, node: ast.expr) -> tuple[str, str]:
    """Parentheses where an operand that takes its expression's place would bind less tightly, or span lines."""
    if isinstance(operand, ATOMS):
        return "", ""
    parent = module.table.parents.get(node)
    alone = isinstance(parent, ast.Assign | ast.Return | ast.keyword) or (
        isinstance(parent, ast.Call) and parent.func is not node
    )
    lines = operand.lineno != operand.end_lineno
    return ("", "") if alone and not lines and not isinstance(operand, ast.NamedExpr | ast.Yield) else ("(", ")")
