"""Plants one fault at a time in correct programs, and prints how many of each kind lint finds, and which it misses.

    python tests/campaigns/seeded.py [FOLDER] [--most 40] [--kind NAME]

The programs are fixtures/*/before or, with FOLDER, the files of checked-out repositories that map over devices and what
those import, each with up to four that import it and up to four that it imports and that map. A fault counts as found
if lint tells something of the right group of rules that it did not tell of the program as it was. Where one can be
planted is decided by the text alone, and never by what lint sees; faults in keys that would change no number in the
whole repository are not planted, and are told with the reason (seeded_harmless.py). Nothing is written.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.findings import Finding
from jaxmigrate.lint.linting import ask, parsed
from jaxmigrate.program.imports import reached
from jaxmigrate.program.modules import Project, read_utf8
from jaxmigrate.sources import SourceError, read_source

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.campaigns.seeded_harmless import Repository

FIXTURES = Path(__file__).parents[2] / "fixtures"
REDUCTIONS = ("psum", "pmean")
COLLECTIVES = (*REDUCTIONS, "pmax", "pmin", "all_gather", "ppermute", "all_to_all", "psum_scatter", "axis_index")
MAPS = ("pmap", "shard_map")
MOST_NEIGHBOURS = 4


@dataclass(frozen=True)
class Edit:
    """Text that takes the place of an expression or a statement; `key` names the random key that it spoils."""

    node: ast.expr | ast.stmt
    text: str
    key: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of fault: where it can be planted in a tree with its text, and the rules that are to find it."""

    name: str
    codes: tuple[str, ...]
    places: Callable[[ast.Module, str], Iterator[Edit]]


@dataclass(frozen=True)
class Program:
    """A file to plant faults in, and the files that lint is asked about then."""

    path: Path
    text: str
    entries: tuple[Path, ...]
    repository: Repository


# Where faults can be planted


def last_name(node: ast.expr) -> str:
    """The name after the last dot."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """The calls of functions with these last names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) in names:
            yield node


def axis_of(call: ast.Call) -> ast.expr | None:
    """The expression that names a collective's axis."""
    position = 0 if last_name(call.func) == "axis_index" else 1
    given = [keyword.value for keyword in call.keywords if keyword.arg == "axis_name"]
    return next(iter(given or call.args[position : position + 1]), None)


def is_fixed(axis: ast.expr | None) -> bool:
    """Whether an axis is a literal or a constant, and no parameter, which nobody could rename at one end."""
    if isinstance(axis, ast.Constant):
        return isinstance(axis.value, str)
    return axis is not None and last_name(axis).isupper()


def renamed_collectives(tree: ast.Module, _text: str) -> Iterator[Edit]:
    """A collective over another name than its map's."""
    for call in calls(tree, *COLLECTIVES):
        axis = axis_of(call)
        if axis is not None and is_fixed(axis):
            yield Edit(axis, '"renamed"')


def renamed_maps(tree: ast.Module, _text: str) -> Iterator[Edit]:
    """A map over another name than that of the collectives in the function of this file that it maps."""
    named = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for call in calls(tree, "pmap", "partial"):
        axes = [keyword.value for keyword in call.keywords if keyword.arg == "axis_name"]
        if not axes or not is_fixed(axes[0]):
            continue
        mapped = call.args[0] if call.args else None
        while isinstance(mapped, ast.Call) and mapped.args:
            mapped = mapped.args[0]
        if mapped is not None and last_name(mapped) == "pmap":
            mapped = None
        owner = named.get(last_name(mapped)) if mapped is not None else _decorated(call, named)
        if owner is not None and any(_is_over(axes[0], c) for c in calls(owner, *COLLECTIVES)):
            yield Edit(axes[0], '"renamed"')


def _decorated(decorator: ast.expr, named: dict[str, ast.FunctionDef]) -> ast.FunctionDef | None:
    return next((node for node in named.values() if decorator in node.decorator_list), None)


def _is_over(axis: ast.expr, call: ast.Call) -> bool:
    given = axis_of(call)
    return given is not None and ast.dump(given) == ast.dump(axis)


def deleted_reductions(tree: ast.Module, text: str) -> Iterator[Edit]:
    """Gradients without their reduction."""
    for call in calls(tree, *REDUCTIONS):
        if call.args and is_fixed(axis_of(call)) and "grad" in (segment(text, call.args[0]) or "").lower():
            yield Edit(call, f"({segment(text, call.args[0])})")


def doubled_reductions(tree: ast.Module, text: str) -> Iterator[Edit]:
    """A reduction of what has just been reduced."""
    for call in calls(tree, *REDUCTIONS):
        if call.args and is_fixed(axis_of(call)) and not isinstance(call.args[0], ast.Constant):
            yield Edit(call.args[0], segment(text, call))


def moved_collectives(tree: ast.Module, text: str) -> Iterator[Edit]:
    """A reduction that the first device alone gets to."""
    if not any(isinstance(n, ast.Import) and any(a.name == "jax" for a in n.names) for n in ast.walk(tree)):
        return
    for call in calls(tree, *REDUCTIONS):
        axis = axis_of(call)
        if not call.args or axis is None or not is_fixed(axis) or isinstance(call.args[0], ast.Constant):
            continue
        function, name, value = (segment(text, node) for node in (call.func, axis, call.args[0]))
        test = f"jax.lax.axis_index({name}) == 0"
        yield Edit(call, f"jax.lax.cond({test}, lambda moved: {function}(moved, {name}), lambda moved: moved, {value})")


def _is_pmap(node: ast.Assign) -> bool:
    return isinstance(node.value, ast.Call) and last_name(node.value.func) == "pmap"


def moved_steps(tree: ast.Module, text: str) -> Iterator[Edit]:
    """A call of a mapped function that the first process alone gets to."""
    if not any(isinstance(n, ast.Import) and any(a.name == "jax" for a in n.names) for n in ast.walk(tree)):
        return
    made = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
    mapped = {last_name(node.targets[0]) for node in made if _is_pmap(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.Expr) or not isinstance(node.value, ast.Call):
            continue
        name = last_name(node.value.func)
        above = [one for one in made if last_name(one.targets[0]) == name and one.lineno < node.lineno]
        if above and not _is_pmap(max(above, key=lambda one: one.lineno)):
            continue  # what has the name here is jitted: `step = jax.jit(f)` where there is one device
        if name in mapped - {""} and "\n" not in segment(text, node):
            margin = " " * node.col_offset
            yield Edit(node, f"if jax.process_index() == 0:\n{margin}    {segment(text, node)}")


def dropped_folds(tree: ast.Module, text: str) -> Iterator[Edit]:
    """A random key that is the same on every device."""
    for call in calls(tree, "fold_in"):
        if len(call.args) == 2 and any(True for _ in calls(call.args[1], "axis_index")):
            key = segment(text, call.args[0])
            yield Edit(call, key, key)


def shared_keys(tree: ast.Module, text: str) -> Iterator[Edit]:
    """One key, as often as there are devices, in place of a key for each that something reads."""
    if not any(isinstance(n, ast.Import) and any(a.name == "jax" for a in n.names) for n in ast.walk(tree)):
        return
    for call in calls(tree, "split"):
        counts = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "num")]
        wanted = call.args and counts and _counts_devices(counts[0]) and _is_key(call.args[0])
        if wanted and not _is_overwritten(call, tree):
            key, count = segment(text, call.args[0]), segment(text, counts[0])
            yield Edit(call, f"jax.numpy.stack([{key}] * {count})", key)


def _is_overwritten(call: ast.Call, tree: ast.Module) -> bool:
    """Whether the name that takes a call's result is given another before anything reads it: then nothing changes."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        assignments = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
        for one in assignments:
            if one.value is call and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
                name = one.targets[0].id
                reads = [_start(node) for node in _names(function, name) if isinstance(node.ctx, ast.Load)]
                writes = [_end(a) for a in assignments for t in a.targets for _ in _names(t, name) if a is not one]
                after = [(place, place in writes) for place in (*reads, *writes) if place > _end(one)]
                loops = [node for node in ast.walk(function) if isinstance(node, ast.For | ast.While)]
                return min(after, default=((0, 0), False))[1] and not any(one in ast.walk(loop) for loop in loops)
    return False


def _names(node: ast.AST, name: str) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name)


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _counts_devices(count: ast.expr) -> bool:
    """Whether a number is that of the devices, and no more than that."""
    name = last_name(count.func) if isinstance(count, ast.Call) and not count.args else last_name(count)
    return re.fullmatch(r"(n|num|local|n_local|num_local)_devices(_to_use)?|(local_)?device_count", name) is not None


def _is_key(node: ast.expr) -> bool:
    return re.search("key|rng|seed", last_name(node), re.IGNORECASE) is not None


KINDS = (
    Kind("axis renamed at the collective", ("JM1",), renamed_collectives),
    Kind("axis renamed at the map", ("JM1",), renamed_maps),
    Kind("reduction of gradients deleted", ("JM2",), deleted_reductions),
    Kind("reduction doubled", ("JM2",), doubled_reductions),
    Kind("collective moved under a device's condition", ("JM3",), moved_collectives),
    Kind("step moved under a process's condition", ("JM3",), moved_steps),
    Kind("fold_in of a key dropped", ("JM2",), dropped_folds),
    Kind("one key for all devices", ("JM2",), shared_keys),
)


def segment(text: str, node: ast.expr | ast.stmt) -> str:
    """The text of a node."""
    return ast.get_source_segment(text, node) or ast.unparse(node)


def edited(text: str, edit: Edit) -> str:
    """The text with an edit made."""
    lines = text.splitlines(keepends=True)
    node = edit.node
    end_line, end_offset = node.end_lineno or node.lineno, node.end_col_offset or 0
    first, last = lines[node.lineno - 1].encode(), lines[end_line - 1].encode()
    before = "".join(lines[: node.lineno - 1]) + first[: node.col_offset].decode()
    return before + edit.text + last[end_offset:].decode() + "".join(lines[end_line:])


# What lint says


def told(program: Program, text: str) -> Counter[tuple[str, str, str]]:
    """What lint tells of a program with this text, without the places."""
    sources = [read_source(path) for path in program.entries]
    changed = [
        source if source.path != program.path else type(source)(source.name, source.path, b"", text, "utf-8", False)
        for source in sources
    ]
    modules, _ = parsed(changed)
    project = Project(modules, read_utf8, common=program.path.parent)
    names = {module.path: module.path.as_posix() for module in modules}
    return Counter(_kept(finding) for finding in ask(modules, project, _Every(names)))


class _Every(dict[Path, str]):
    """Every file is reported on, also those that are only imported."""

    def get(self, path: Path, default: object = None) -> str:
        return path.as_posix()


def _kept(finding: Finding) -> tuple[str, str, str]:
    return finding.path, finding.code, finding.message


# Programs


def fixtures() -> list[Program]:
    """The fixtures, each with all of its files; the demonstration's have their faults already."""
    found = []
    for root in sorted(path for path in FIXTURES.glob("*/before") if path.parent.name != "demo"):
        texts = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
        repository = Repository(texts, (), Project((), read_utf8, common=root))
        found += [Program(path, text, tuple(texts), repository) for path, text in texts.items()]
    return found


def repositories(folder: Path) -> list[Program]:
    """The files that map over devices or that such files import."""
    found: list[Program] = []
    for root in sorted(path for path in folder.iterdir() if path.is_dir()):
        texts = dict(_readable(root))
        project = Project((), read_utf8, common=root)
        notebooks = [path.read_text(encoding="utf-8") for path in root.rglob("*.ipynb")]
        repository = Repository(texts, notebooks, project)
        mapping = [path for path, text in texts.items() if "pmap(" in text or "jax.pmap" in text]
        imports = {path: reached(path, texts[path], project) for path in mapping}
        for path, text in texts.items():
            importers = [one for one in mapping if path in imports[one]]
            if importers or path in imports:  # what a helper does wrong, if anything, shows where it is called
                imported = [one for one in mapping if one in imports.get(path, ())]
                near = (*importers[:MOST_NEIGHBOURS], *imported[:MOST_NEIGHBOURS])
                found.append(Program(path, text, tuple(dict.fromkeys((path, *near))), repository))
    return found


def _readable(repository: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(repository.rglob("*.py")):
        if "test" in path.stem:
            continue
        try:
            text = read_source(path).text
            ast.parse(text)
        except (SourceError, SyntaxError):
            continue
        yield path, text


def places(kind: Kind, programs: list[Program]) -> list[tuple[Program, Edit]]:
    """Everywhere that a kind of fault can be planted and the text still parses."""
    found = []
    for program in programs:
        for edit in kind.places(ast.parse(program.text), program.text):
            try:
                ast.parse(edited(program.text, edit))
            except SyntaxError:
                continue
            harmless = program.repository.why_harmless(program.path, edit.node, edit.key) if edit.key else ""
            if harmless:
                print(f"not planted: {kind.name}: {program.path}:{edit.node.lineno} {edit.key}: {harmless}", flush=True)
            else:
                found.append((program, edit))
    return found


def run(kind: Kind, programs: list[Program], most: int, before: dict[Program, Counter[tuple[str, str, str]]]) -> str:
    """Plants faults of a kind, prints those that are missed, and returns the table's row."""
    planted = places(kind, programs)
    chosen = planted if len(planted) <= most else random.Random(0).sample(planted, most)
    missed = 0
    for program, edit in chosen:
        if program not in before:
            before[program] = told(program, program.text)
        new = told(program, edited(program.text, edit)) - before[program]
        if not any(code.startswith(kind.codes) for _, code, _ in new):
            missed += 1
            was = " ".join(segment(program.text, edit.node).split())[:80]
            others = ", ".join(sorted({code for _, code, _ in new}))
            print(f"missed: {kind.name}: {program.path}:{edit.node.lineno} {was} {others}", flush=True)
    share = f"{(len(chosen) - missed) / len(chosen):.0%}" if chosen else "-"
    return f"| {kind.name} | {len(planted)} | {len(chosen)} | {len(chosen) - missed} | {share} |"


def main() -> None:
    """Prints the misses and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--most", type=int, default=40, help="faults of a kind, chosen at random where there are more")
    parser.add_argument("--kind", default="", help="only kinds whose names hold this")
    options = parser.parse_args()
    sys.setrecursionlimit(10_000)
    programs = repositories(options.folder.absolute()) if options.folder else fixtures()
    before: dict[Program, Counter[tuple[str, str, str]]] = {}
    rows = [run(kind, programs, options.most, before) for kind in KINDS if options.kind in kind.name]
    print("| fault | places | planted | found | share |\n|---|---:|---:|---:|---:|", *rows, sep="\n")


if __name__ == "__main__":
    main()
