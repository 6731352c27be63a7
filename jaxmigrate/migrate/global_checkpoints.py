"""Experiments of jaxline whose attributes lost their device axis, and checkpoints that hold what they did before."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.experiments import SLICES, WHOLES, targets
from jaxmigrate.migrate.edits import Edit
from jaxmigrate.migrate.global_file import WIDTH, GlobalFile

Entries: TypeAlias = Sequence[tuple[ast.expr | None, ast.expr]]


class CheckpointWriter(GlobalFile):
    """Writes the tables of the experiments of one file, and methods that do what jaxline no longer does."""

    def _checkpoints(self) -> Iterator[Edit]:
        """The edits of all experiments whose attributes moved."""
        moved: dict[ast.ClassDef, list[OpChoice]] = {}
        for choice in self.ops:
            if choice.op.kind == "checkpoint":
                parents = self.module.table.parents
                holder = parents[parents[parents[choice.op.node]]]
                assert isinstance(holder, ast.ClassDef)
                moved.setdefault(holder, []).append(choice)
        for holder, choices in moved.items():
            yield from self._experiment(holder, sorted(choices, key=lambda c: c.op.node.lineno))

    def _experiment(self, holder: ast.ClassDef, choices: Sequence[OpChoice]) -> Iterator[Edit]:
        assigned = [s for s in holder.body if isinstance(s, ast.Assign | ast.AnnAssign)]
        statements = {name: s for s in assigned for name in (SLICES, WHOLES) if name in targets(s)}
        slices, wholes = statements[SLICES], statements.get(WHOLES)
        table, other = _table(slices), _table(wholes) if wholes is not None else None
        keys = [choice.op.node for choice in choices]
        entries = [(k, v) for k, v in zip(table.keys, table.values, strict=True) if k in keys]
        rest = [(k, v) for k, v in zip(table.keys, table.values, strict=True) if k not in keys]
        after = max(filter(None, (slices, wholes)), key=lambda s: s.lineno)
        added = ""
        if not rest and other is None:
            start = self.positions.span(slices)[0]
            yield Edit(start, start + len(SLICES), WHOLES)
        else:
            yield from self._without(table, entries, rest)
            if other is None:
                added = f"{WHOLES} = {self._display(entries, self._indent(after))}"
            else:
                yield self._extended(other, entries)
        start = self.positions.line_span(after.end_lineno or after.lineno)[1]
        indent, newline = self._indent(after), self.style.newline
        text = f"{indent}{added}{newline}" if added else ""
        lines = [*self._methods(entries, choices)]
        text += "".join(f"{indent}{line}".rstrip() + newline for line in self.style.render(lines).splitlines())
        yield Edit(start, start, text)

    def _methods(self, entries: Entries, choices: Sequence[OpChoice]) -> Iterator[str]:
        """What a checkpoint takes and what it gives back, as they were; a chief among processes takes it by itself."""
        jax, donated = self.names.jax, any(choice.donated for choice in choices)
        one = f"{jax}.numpy.copy(x.addressable_data(0))" if donated else "x.addressable_data(0)"
        why = "Copies what the next step gives away." if donated else "Takes one device's copy."
        names = ", ".join(f'"{_text(value)}"' for _, value in entries)
        yield ""
        yield "def snapshot_state(self):"
        yield f'    """{why}"""'
        yield "    snapshot = super().snapshot_state()"
        yield f"    for name in ({names}{',' if len(entries) == 1 else ''}):"
        yield f"        snapshot[name] = {jax}.tree.map("
        yield f"            lambda x: {one}, snapshot[name]"
        yield "        )"
        yield "    return snapshot"
        yield ""
        yield "def restore_from_snapshot(self, snapshot_state):"
        yield '    """Copies what a checkpoint holds to all devices."""'
        yield "    super().restore_from_snapshot(snapshot_state)"
        yield f"    {self.names.mesh} = {self._mesh_text([choices[0].op.node]).replace(chr(39), chr(34))}"
        for key, _ in entries:
            name = _text(key)
            yield f"    self.{name} = {self.names.replicate}(self.{name}, {self.names.mesh})"

    def _without(
        self,
        table: ast.Dict,
        entries: Entries,
        rest: Entries,
    ) -> Iterator[Edit]:
        """A table without some of its entries."""
        if table.lineno == table.end_lineno:
            yield Edit(*self.positions.span(table), "{" + ", ".join(self._entry(*one) for one in rest) + "}")
            return
        for _, value in entries:
            yield Edit(*self.positions.line_span(value.lineno), "")

    def _line(self, key: ast.expr | None, value: ast.expr) -> str:
        """An entry with the comma and the comment behind it."""
        _, end = self.positions.span(value)
        behind = self.module.text[end : self.positions.line_span(value.lineno)[1]].strip()
        comment = behind.partition("#")[2]
        return f"{self._entry(key, value)},{f'  #{comment}' if comment else ''}"

    def _extended(self, table: ast.Dict, entries: Entries) -> Edit:
        """A table with more entries."""
        known = list(zip(table.keys, table.values, strict=True))
        if table.lineno == table.end_lineno or not known:
            texts = [self._entry(*one) for one in (*known, *entries)]
            return Edit(*self.positions.span(table), "{" + ", ".join(texts) + "}")
        start = self.positions.span(known[0][1])[0]
        line, _ = self.positions.line_span(known[0][1].lineno)
        text = self.module.text[line:start]
        indent, newline = text[: len(text) - len(text.lstrip())], self.style.newline
        lines = "".join(f"{indent}{self._line(*one)}{newline}" for one in entries)
        return Edit(line, line, lines)

    def _display(self, entries: Entries, indent: str) -> str:
        texts = [self._entry(*one) for one in entries]
        one = "{" + ", ".join(texts) + "}"
        if len(indent + WHOLES + one) < WIDTH - 3 and not any("#" in self._line(*entry) for entry in entries):
            return one
        newline = self.style.newline
        inner = "".join(f"{indent}{self.style.indent}{self._line(*one)}{newline}" for one in entries)
        return f"{{{newline}{inner}{indent}}}"

    def _entry(self, key: ast.expr | None, value: ast.expr) -> str:
        assert key is not None
        return f"{self.module.segment(key)}: {self.module.segment(value)}"


def _table(statement: ast.Assign | ast.AnnAssign) -> ast.Dict:
    assert isinstance(statement.value, ast.Dict)
    return statement.value


def _text(node: ast.expr | None) -> str:
    assert isinstance(node, ast.Constant)
    return str(node.value)
