"""Experiments of jaxline whose attributes lost their device axis, and checkpoints that hold what they did before."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.jaxline import SLICES, WHOLES, targets
from jaxmigrate.migrate.array_texts import ArrayTexts
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import After, Operation, Replace, code


@dataclass(slots=True)
class Entry:
    """An entry of a table, with the comments above it and the one behind it."""

    name: str
    value: str
    text: str
    above: list[str] = field(default_factory=list)
    behind: str = ""


@dataclass(slots=True)
class Table:
    """A dictionary of attributes; `top` and `bottom` are comments that belong to no entry."""

    node: ast.Dict
    entries: list[Entry] = field(default_factory=list)
    top: str = ""
    bottom: list[str] = field(default_factory=list)
    ends_with_comma: bool = True

    @property
    def is_one_line(self) -> bool:
        """Whether it stands on one line."""
        return self.node.lineno == self.node.end_lineno

    @property
    def has_comments(self) -> bool:
        """Whether comments stand in it, which need lines."""
        return bool(self.top or self.bottom or any(e.above or e.behind for e in self.entries))


def write_checkpoints(module: Module, choices: Sequence[OpChoice], arrays: ArrayTexts) -> Iterator[Operation]:
    """The operations on all experiments of a file whose attributes moved."""
    parents = module.table.parents
    moved: dict[ast.ClassDef, list[OpChoice]] = {}
    for choice in choices:
        if choice.op.kind == "checkpoint" and choice.op.module is module:
            holder = parents[parents[parents[choice.op.node]]]
            assert isinstance(holder, ast.ClassDef)
            moved.setdefault(holder, []).append(choice)
    for holder, found in moved.items():
        yield from _experiment(module, holder, found, arrays)


def _experiment(
    module: Module, holder: ast.ClassDef, choices: Sequence[OpChoice], arrays: ArrayTexts
) -> Iterator[Operation]:
    """Moves entries from the table of slices to the one of whole arrays."""
    assigned = [s for s in holder.body if isinstance(s, ast.Assign | ast.AnnAssign)]
    statements = {name: s for s in assigned for name in (SLICES, WHOLES) if name in targets(s)}
    slices, wholes = statements[SLICES], statements.get(WHOLES)
    names = {_string(choice.op.node) for choice in choices}
    table = _table(slices, module)
    moved = [entry for entry in table.entries if entry.name in names]
    kept = [entry for entry in table.entries if entry.name not in names]
    unit = style_of(module).indent
    new: list[str] = []
    if wholes is not None:
        other = _table(wholes, module)
        together = [*other.entries, *moved] if other.is_one_line else [*moved, *other.entries]
        yield Replace(other.node, code(_display(_with(other, together), unit)))
    elif kept:
        new = [f"{WHOLES} = {_display(Table(table.node, moved), unit)}"]
    if wholes is None and not kept:
        target = slices.targets[0] if isinstance(slices, ast.Assign) else slices.target
        yield Replace(target, code(WHOLES))
    else:
        yield Replace(table.node, code(_display(_with(table, kept), unit)))
    below = max(filter(None, (slices, wholes)), key=lambda s: s.lineno)
    methods = _methods(moved, choices, arrays)
    yield After(below, code("\n".join([*new, *(["", *methods] if new else methods)])))


def _with(table: Table, entries: list[Entry]) -> Table:
    return Table(table.node, entries, table.top, table.bottom, table.ends_with_comma)


def _methods(entries: Sequence[Entry], choices: Sequence[OpChoice], arrays: ArrayTexts) -> Iterator[str]:
    """What a checkpoint takes and what it gives back, as they were; a chief among processes takes it by itself."""
    donated = any(choice.donated for choice in choices)
    jax = arrays.names.of("jax")
    one = f"{arrays.names.of('jax.numpy')}.copy(x.addressable_data(0))" if donated else "x.addressable_data(0)"
    why = "Copies arrays that the next step donates." if donated else "Takes one device's copy."
    names = ", ".join(entry.value for entry in entries)
    yield "def snapshot_state(self):"
    yield f'    """{why}"""'
    yield "    snapshot = super().snapshot_state()"
    yield f"    for name in ({names}{',' if len(entries) == 1 else ''}):"
    yield f"        snapshot[name] = {jax}.tree.map(lambda x: {one}, snapshot[name])"
    yield "    return snapshot"
    yield ""
    yield "def restore_from_snapshot(self, snapshot_state):"
    yield '    """Copies what a checkpoint holds to all devices."""'
    yield "    super().restore_from_snapshot(snapshot_state)"
    spec = arrays.names.of("jax.sharding.PartitionSpec")
    weak = arrays.keeps_weak(choices[0].op)
    arrays.shared.note_values(numbers=not weak)
    for entry in entries:
        name = f"self.{entry.name}"
        tree = f"{jax}.tree.map({arrays.names.of('jax.numpy')}.asarray, {name})" if weak else name
        yield f"    {name} = {arrays.placed(tree, f'{spec}()', choices[0].axis)}"


def _string(node: ast.expr | None) -> str:
    assert isinstance(node, ast.Constant)
    return str(node.value)


# tables


def _table(statement: ast.Assign | ast.AnnAssign, module: Module) -> Table:
    """The table that a statement assigns; every entry of it has a line of its own, or all have one together."""
    node = statement.value
    assert isinstance(node, ast.Dict)
    table = Table(node)
    by_line: dict[int, Entry] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        assert key is not None
        text = f"{module.segment(key)}: {module.segment(value)}"
        table.entries.append(Entry(_string(key), module.segment(value), text))
        by_line[value.end_lineno or value.lineno] = table.entries[-1]
    if not table.is_one_line:
        _note_comments(table, by_line, module.segment(node))
    return table


def _note_comments(table: Table, by_line: dict[int, Entry], text: str) -> None:
    """Finds the comments of a table that stands on several lines, and whether its last entry has a comma."""
    above: list[str] = []
    last = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0] + table.node.lineno - 1
        if token.type == tokenize.COMMENT and line in by_line:
            by_line[line].behind = token.string
        elif token.type == tokenize.COMMENT and line == table.node.lineno:
            table.top = token.string
        elif token.type == tokenize.COMMENT:
            above.append(token.string)
        elif token.type == tokenize.STRING and line in by_line and above:
            by_line[line].above, above = above, []
        if token.string == "}":
            break
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            last = token.string
    table.bottom, table.ends_with_comma = above, last == ","


def _display(table: Table, unit: str) -> str:
    """The source of a table: a line for each entry where it had that, or where comments need it."""
    entries = table.entries
    if (not entries or table.is_one_line) and not table.has_comments:
        return "{" + ", ".join(entry.text for entry in entries) + "}"
    lines = [f"{{  {table.top}" if table.top else "{"]
    for index, entry in enumerate(entries):
        lines += [f"{unit}{comment}" for comment in entry.above]
        comma = "," if index + 1 < len(entries) or table.ends_with_comma else ""
        lines.append(f"{unit}{entry.text}{comma}{f'  {entry.behind}' if entry.behind else ''}")
    lines += [f"{unit}{comment}" for comment in table.bottom]
    return "\n".join([*lines, "}"])
