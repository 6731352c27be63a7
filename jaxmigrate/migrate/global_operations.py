"""The text of the operations that made and undid the device axis, without it."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence

from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.objects import REPLACES
from jaxmigrate.flow.layout.state import Op
from jaxmigrate.migrate.edits import Edit
from jaxmigrate.migrate.global_file import WIDTH, GlobalFile
from jaxmigrate.migrate.placement import line_start
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import External

ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Tuple, ast.Dict, ast.List)


class OperationWriter(GlobalFile):
    """Writes the operations of one file."""

    def _operation(self, choice: OpChoice) -> Sequence[Edit]:
        """The edits of an operation; of an object's stacked fields it is kept as it is."""
        edits = self._global_operation(choice)
        fields = [name for name in choice.fields if name not in self._replaced_next(choice.op.node)]
        if not fields:
            return edits
        if any(name.isdigit() for name in fields):
            return [self._of_parts(choice.op, fields)]
        if choice.op.kind != "stack" and not isinstance(choice.op.operand, ast.Name | ast.Attribute):
            return self._named_first(choice, fields)  # what is lent, `states[0]` too, means the same twice
        if choice.op.kind == "stack" and choice.rest:
            return [self._rest_stacked(choice)]
        *others, last = edits
        state = self.module.segment(choice.op.operand)
        copied = last.replacement + self._copied(choice, state, fields, len(state) + len(last.replacement))
        return [*others, Edit(last.start, last.end, copied)]

    def _of_parts(self, op: Op, kept: Sequence[str]) -> Edit:
        """`replicate((a, b))` of which some parts stay as they are: a tuple of what becomes of each."""
        node, operand = self.positions.span(op.node), self.positions.span(op.operand)
        before, after = self.module.text[node[0] : operand[0]], self.module.text[operand[1] : node[1]]
        made = {True: (before, after), False: (f"{self.names.replicate}(", f", {self._mesh(op.node)})")}
        if isinstance(op.operand, ast.Tuple):
            texts = [self.module.segment(part) for part in op.operand.elts]
            found = [text.join(made[str(i) in kept]) for i, text in enumerate(texts)]
            return Edit(*node, f"({', '.join(found)})")
        name, count = self.module.segment(op.operand), len(op.cell.find().fields)
        runs = [[*run] for _, run in itertools.groupby(range(count), lambda i: str(i) in kept)]
        found = []
        for first, *rest in runs:
            part = f"{name}[{first}:{rest[-1] + 1}]" if rest else f"{name}[{first}]"
            found.append(f"{'*' if rest else ''}{part.join(made[str(first) in kept])}")
        newline, indent = self.style.newline, self._indent(op.node)
        line = f"({', '.join(found)})"
        if self._fits(op.node, line):
            return Edit(*node, line)
        inner = f"{newline}{indent}{self.style.indent}"
        return Edit(*node, f"({inner}{f',{inner}'.join(found)},{newline}{indent})")

    def _rest_stacked(self, choice: OpChoice) -> Edit:
        """What is lent, with its replicated fields stacked."""
        state = self.module.segment(choice.op.operand)
        stacked = [f"{name}={self.names.stack}({state}.{name})" for name in choice.rest]
        start, end = self.positions.span(choice.op.node)
        return Edit(start, end, f"{state}.{choice.method}{self._arguments(choice, stacked, len(state))}")

    def _copied(self, choice: OpChoice, state: str, fields: Sequence[str], width: int) -> str:
        """`.replace(...)` with an operation kept as it is for each of some fields of a state."""
        node, operand = self.positions.span(choice.op.node), self.positions.span(choice.op.operand)
        before, after = self.module.text[node[0] : operand[0]], self.module.text[operand[1] : node[1]]
        if "#" not in before + after:
            before, after = _on_one_line(before), _on_one_line(after)
        kept = [f"{name}={before}{state}.{name}{after}" for name in fields]
        return f".{choice.method}{self._arguments(choice, kept, width)}"

    def _arguments(self, choice: OpChoice, arguments: Sequence[str], width: int) -> str:
        """The arguments of a copy that begins so many characters behind its operation."""
        line = f"({', '.join(arguments)})"
        if self._fits(choice.op.node, " " * (width + len(choice.method) + 1) + line):
            return line
        newline, indent = self.style.newline, self._indent(choice.op.node)
        inner = "".join(f"{newline}{indent}{self.style.indent}{one}," for one in arguments)
        return f"({inner}{newline}{indent})"

    def _named_first(self, choice: OpChoice, fields: Sequence[str]) -> Sequence[Edit]:
        """`x = replicate(make())` in two statements, so that the fields have a name."""
        op, statement = choice.op, self.module.table.parents[choice.op.node]
        assert isinstance(statement, ast.Assign)
        name = self.module.segment(statement.targets[0])
        before, after = self._around_state(choice)
        whole = f"{before}{name}{after}"
        indent = self._indent(op.node)
        line = f"{self.style.newline}{indent}{name} = {whole}{self._copied(choice, name, fields, len(whole))}"
        end = self.positions.span(statement)[1]
        opening, closing = self._around(op.node, op.operand, *_parentheses(op.operand, self.module, op.node))
        return [opening, Edit(closing.start, end, closing.replacement + line)]

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

    def _global_operation(self, choice: OpChoice) -> Sequence[Edit]:  # noqa: C901 - one case a kind
        op = choice.op
        match op.kind:
            case "replicate" if op.form == "wider":
                return self._wider(op)
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
            case "merge" if op.sorts:
                return self._sorted(op)
            case "merge":
                return self._around(op.node, op.operand, *_parentheses(op.operand, self.module, op.node))
            case "split" if op.form in ("sizes", "product"):
                return self._sized(op)
            case "inner":
                return [self._behind(op)]
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

    def _around(self, node: ast.expr, operand: ast.expr, before: str, after: str) -> tuple[Edit, Edit]:
        """Puts other text before and after an operand; comments that stood there stay."""
        start, end = self.positions.span(node)
        low, high = self.positions.span(operand)
        above, below = self._comments_around(node, operand)
        if above or below:
            before, after = (before, after) if before.endswith("(") else (f"{before}(", f"){after}")
            outer = self.style.newline + self._indent(node)
            inner = outer + self.style.indent
            before += "".join(inner + comment for comment in above) + inner
            after = after[: after.rindex(")")] + "".join(inner + comment for comment in below) + f"{outer})"
        elif inner := self._own_line(node, operand, before, after):
            mesh = after.removesuffix(")").removeprefix(", ")
            before += inner
            after = (f",{inner}{mesh}," if mesh else "") + f"{self.style.newline}{self._indent(node)})"
        return Edit(start, low, before), Edit(high, end, after)

    def _own_line(self, node: ast.expr, operand: ast.expr, before: str, after: str) -> str:
        """The line break and indentation of an operand that begins a line and needs it still, else nothing."""
        start, _ = self.positions.span(node)
        low, high = self.positions.span(operand)
        line, _ = self.positions.line_span(operand.lineno)
        indent = self.module.text[line:low]
        one_call = before.endswith("(") and before.count("(") == 1 == after.count(")") and after.endswith(")")
        if node.lineno == operand.lineno or indent.strip() or not one_call:
            return ""
        if len(indent) <= len(self._indent(node)):
            return ""
        first, _ = self.positions.line_span(node.lineno)
        joined = f"{self.module.text[first:start]}{before}{self.module.text[low:high]}{after}"
        fits = operand.lineno == operand.end_lineno and len(joined) < WIDTH
        return "" if fits else f"{self.style.newline}{indent}"

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

    def _sized(self, op: Op) -> Sequence[Edit]:
        """`x.reshape(n, b, ...)` and `x.reshape((n, -1) + sizes)`: the first two sizes become one."""
        assert isinstance(op.node, ast.Call)
        method = op.operand is not op.node.args[0]
        sizes = op.node.args if method else op.node.args[1:]
        shape = sizes[0] if len(sizes) == 1 else None
        before = shape.left if isinstance(shape, ast.BinOp) else None
        whole = before or shape
        if isinstance(whole, ast.Tuple | ast.List):
            sizes = whole.elts
        one = " * ".join(self._factor(size) for size in sizes[:2]) if op.form == "product" else "-1"
        low, high = self.positions.span(sizes[0])[0], self.positions.span(sizes[1])[1]
        if before is not None and len(sizes) == 2:  # of the tuple one size is left
            low, high = self.positions.span(before)
            one = f"[{one}]" if isinstance(before, ast.List) else f"({one},)"
        start, end = self.positions.span(op.node)
        return [
            Edit(start, start, f"{self.names.shard}("),
            Edit(low, high, one),
            Edit(end, end, f", {self._mesh(op.node)})"),
        ]

    def _wider(self, op: Op) -> Sequence[Edit]:
        """`broadcast_to(x, (n, k) + x.shape)`: to the other sizes first, then to all devices."""
        assert isinstance(op.node, ast.Call)
        shape = op.node.args[1]
        sizes = shape.left if isinstance(shape, ast.BinOp) else shape
        assert isinstance(sizes, ast.Tuple)
        start, end = self.positions.span(op.node)
        first, second = (self.positions.span(size)[0] for size in sizes.elts[:2])
        alone = sizes is not shape and len(sizes.elts) == 2  # a tuple of one keeps its comma
        last = self.positions.span(sizes.elts[-1])[1]
        return [
            Edit(start, start, f"{self.names.replicate}("),
            Edit(first, second, ""),
            *([Edit(last, last, ",")] if alone and not self._has_comma(sizes) else []),
            Edit(end, end, f", {self._mesh(op.node)})"),
        ]

    def _has_comma(self, sizes: ast.Tuple) -> bool:
        """Whether a tuple's last element has a comma behind it."""
        behind = self.positions.span(sizes.elts[-1])[1]
        return "," in self.module.text[behind : self.positions.span(sizes)[1]]

    def _behind(self, op: Op) -> Edit:
        """`x[:, 0]` without its first axis."""
        assert isinstance(op.node, ast.Subscript)
        assert isinstance(op.node.slice, ast.Tuple)
        first, second = op.node.slice.elts[:2]
        return Edit(self.positions.span(first)[0], self.positions.span(second)[0], "")

    def _factor(self, size: ast.expr) -> str:
        """A size as a factor of a product."""
        text = self.module.segment(size)
        return text if isinstance(size, (*ATOMS, ast.Constant)) else f"({text})"

    def _metrics(self, node: ast.expr) -> Sequence[Edit]:
        """`get_metrics(m)` without its `x[0]`."""
        assert isinstance(node, ast.Call)
        func, jax = node.func, self.names.jax
        if isinstance(func, ast.Attribute):
            owner = self.module.segment(func.value)
            return self._around(node, node.args[0], f"{owner}.stack_forest({jax}.device_get(", "))")
        opening = f"{jax}.tree.map(lambda *xs: {self.names.numpy}.stack(xs), *{jax}.device_get("
        return self._around(node, node.args[0], opening, "))")

    def _first(self, choice: OpChoice) -> Sequence[Edit]:
        op = choice.op
        if op.form == "fetched":
            return self._around(op.node, op.operand, f"{self.names.jax}.device_get(", ")")
        one = self._one_of(choice)
        if one == "{}" and op.sorts:
            return self._sorted(op)
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

    def _sorted(self, op: Op) -> Sequence[Edit]:
        """A tree as it is, but for the order of its dictionaries."""
        return self._around(op.node, op.operand, f"{self.names.jax}.tree.map(lambda x: x, ", ")")

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
        alone = len(self.module.table.block_of(statement)) == 1
        if not same or alone or line_start(statement, self.module, self.positions) is None:
            return None
        start, _ = self.positions.line_span(statement.lineno)
        _, end = self.positions.line_span(statement.end_lineno or statement.lineno)
        rest = self.module.text[self.positions.span(statement)[1] : end].strip()
        return Edit(start, end, "") if not rest or rest.startswith("#") else None


def _on_one_line(text: str) -> str:
    """A part of a call without its line breaks and the comma that goes with them."""
    text = re.sub(r"\(\s*\n\s*", "(", re.sub(r",?\s*\n\s*\)", ")", text))
    return re.sub(r"\s*\n\s*", " ", text)


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
