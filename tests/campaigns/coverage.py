"""Tells how much of the SPMD code of checked-out repositories lint follows, and where it gives up.

    python tests/campaigns/coverage.py FOLDER [--only NAME...] [--places]

FOLDER holds repositories. For each: the places that name a map (`pmap`, `shard_map`, `smap`), for how many of these the
mapped function is in sight; the arguments of shard_maps, and how many have a spec that is known; the collectives, how
many the walk by axes reaches from a map, and how many a reading of a map's body does. What is not reached has a cause:
the first call on the way from what is read to it that is not followed, or that nothing in the repository leads to it.
`--places` prints each of them. Tests of the repositories are left out, for what they hold is no program's.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.flow import axes as axis_walk
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import arguments
from jaxmigrate.flow.variance import calls as variance_calls
from jaxmigrate.flow.variance.lattice import MAY
from jaxmigrate.lint.linting import parsed, place, without_collector
from jaxmigrate.program.collectives import AXIS_POSITIONS, SHARD_MAPS
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External
from jaxmigrate.sources import SourceError, SourceFile, read_source

MAPS = frozenset({"pmap", "shard_map", "smap"})
COLLECTIVES = frozenset(name.rpartition(".")[2] for name in AXIS_POSITIONS)
Place = tuple[Module, ast.expr, str]


class Coverage:
    """One repository: what is followed in it, and the causes of what is not."""

    def __init__(self, modules: list[Module], project: Project) -> None:
        self.modules = modules
        resolver = Resolver(project, defaults_hold=True)
        self.facts = Facts(tuple(modules), resolver, {m.path: m.path.as_posix() for m in modules})
        self.walked: set[ast.AST] = set()
        self.read: set[ast.AST] = set()
        self.known_specs = self.all_specs = 0
        self._run()
        self.entered = self._entered()

    def _run(self) -> None:
        """Both analyses, with a note of each call at which they have been."""
        walk_call, read_call = axis_walk._call, variance_calls.call

        def noted_walk(walk, call, at):  # type: ignore[no-untyped-def]
            if at.around.complete or at.around.axes:
                self.walked.add(call)
            return walk_call(walk, call, at)

        def noted_read(run, node, frame):  # type: ignore[no-untyped-def]
            self.read.add(node)
            return read_call(run, node, frame)

        axis_walk._call, variance_calls.call = noted_walk, noted_read
        try:
            _ = self.facts.axes, self.facts.readings
        finally:
            axis_walk._call, variance_calls.call = walk_call, read_call
        for found in self.facts.all_maps:
            if found.name in SHARD_MAPS:
                given = arguments(found, self.facts.resolver)
                self.all_specs += len(given)
                self.known_specs += sum(one != MAY for one in given)

    def _entered(self) -> set[ast.AST]:
        """The functions that some reading has been in."""
        found: set[ast.AST] = set()
        for module in self.modules:
            for call in module.table.calls:
                if call in self.read:
                    scope = module.table.scope_of[call].function()
                    if scope is not None:
                        found.add(scope.node)
        return found | {found.function.node for found in self.facts.all_maps}

    def sites(self) -> Iterator[tuple[Module, ast.expr, str]]:
        """Each place that names a map, and why what it maps is not in sight; empty where it is."""
        known = [found.application for found in self.facts.all_maps]
        spans = [(a.module.path, a.node.lineno, a.node.end_lineno or 0) for a in known]
        for module in self.modules:
            for name in MAPS:
                for node in module.table.named.get(name, ()):
                    if not _is_used(node, module):
                        continue
                    inside = any(p == module.path and a <= node.lineno <= b for p, a, b in spans)
                    yield module, node, "" if inside else self._why_no_map(node, module)

    def _why_no_map(self, node: ast.expr, module: Module) -> str:
        resolver = self.facts.resolver
        callees = resolver.values(node, module)
        if not any(isinstance(v, External) for v in callees):
            return "calls " + ", ".join(sorted({_kind(v) for v in callees}))
        if not any(isinstance(v, External) and v.name.startswith("jax") for v in callees):
            return "library's " + ", ".join(sorted(v.name for v in callees if isinstance(v, External)))
        call = module.table.parents[node]
        if not isinstance(call, ast.Call):
            return "is a value"
        at = 0 if call.func is node else 1
        given = call.args[at] if len(call.args) > at else None
        if given is None:
            return "takes no function here"
        return "maps " + ", ".join(sorted({_kind(v) for v in resolver.values(given, module)}))

    def collectives(self) -> Iterator[tuple[Module, ast.Call, bool, bool]]:
        """Each call of a collective, with whether it is walked to and whether it is read."""
        for module in self.modules:
            for call in module.table.calls:
                if last_name(call.func) in COLLECTIVES:
                    values = self.facts.resolver.values(call.func, module)
                    if any(isinstance(v, External) and v.name in AXIS_POSITIONS for v in values):
                        yield module, call, call in self.walked, call in self.read

    def cause(self, module: Module, call: ast.Call) -> str:
        """The first step from what is read towards a call that is not taken."""
        scope = module.table.scope_of[call].function()
        if scope is None:
            return "stands in a module"
        if scope.node in self.entered:
            return "entered, and this call not evaluated"
        pending, seen = deque([(module, scope.node)]), {scope.node}
        while pending:
            home, function = pending.popleft()
            for user, node, around in self._uses(home, function):
                if around is None or around in self.entered:
                    if around is None:
                        continue
                    return f"not followed: {self._step(user, node)}"
                if around not in seen:
                    seen.add(around)
                    pending.append((user, around))
        return "nothing that is read leads here"

    def _uses(self, module: Module, function: ast.AST) -> Iterator[tuple[Module, ast.expr, ast.AST | None]]:
        """The places that may use a function by its name, with the function that each stands in."""
        name = getattr(function, "name", "")
        scope = module.table.own_scope.get(function)
        outer = scope.parent if scope is not None else None
        names = {name} if name else set[str]()
        if outer is not None and outer.kind == "class" and name in ("__call__", "forward", "setup", "__init__"):
            names = {getattr(outer.node, "name", "")}
        if not name and outer is not None and (around := outer.function()) is not None:
            yield module, function, around.node  # type: ignore[misc]
        for other in self.modules:
            for one in names:
                for node in other.table.named.get(one, ()):
                    if other.table.scope_of.get(node) is not None:
                        place = other.table.scope_of[node].function()
                        yield other, node, place.node if place is not None else None

    def _step(self, module: Module, node: ast.expr) -> str:
        where = f"{module.path.name}:{node.lineno}"
        parent = module.table.parents.get(node)
        text = ast.unparse(parent if isinstance(parent, ast.Call) and parent.func is node else node)
        values = self.facts.resolver.values(node, module) if isinstance(node, ast.Name | ast.Attribute) else ()
        return f"{where} {text[:60]} -> {','.join(_kind(v) for v in values)}"


def _is_used(node: ast.expr, module: Module) -> bool:
    """Whether a name is called, decorates, or is given away; not what an assignment or a test says."""
    parent = module.table.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return False
    return isinstance(parent, ast.Call | ast.FunctionDef | ast.AsyncFunctionDef)


def _kind(value: object) -> str:
    callee = getattr(value, "callee", None)
    inner = f"({_kind(callee)})" if callee is not None else ""
    name = getattr(value, "name", "")
    node = getattr(value, "node", None)
    name = name or getattr(node, "name", "")
    return f"{type(value).__name__} {name}{inner}".strip()


def sources_of(repository: Path) -> list[SourceFile]:
    """The repository's files but its tests."""
    found = []
    for path in sorted(repository.rglob("*.py")):
        inner = path.relative_to(repository)
        if not any(part in ("tests", "test") for part in inner.parts) and not path.name.endswith("_test.py"):
            try:
                found.append(read_source(path))
            except SourceError as error:
                print(error, file=sys.stderr)
    return found


def covered(repository: Path) -> Coverage:
    """The coverage of one repository."""
    sources = sources_of(repository)
    texts = {place(source): source.text for source in sources}
    modules, _ = parsed(sources)
    project = Project(modules, texts.get, texts)
    return Coverage(modules, project)


def main() -> int:
    """Prints one line a repository, and the causes of all together."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--places", action="store_true")
    options = parser.parse_args()
    sys.setrecursionlimit(10_000)
    total: Counter[str] = Counter()
    print(f"{'repository':40} maps seen | specs known | collectives walked read")
    for repository in sorted(p for p in options.folder.iterdir() if p.is_dir()):
        if options.only and not any(one in repository.name for one in options.only):
            continue
        with without_collector():
            total += report(repository, places=options.places)
    print(
        f"{'all':40} {total['maps']} {total['seen']} | {total['specs']} {total['known']} | "
        f"{total['collectives']} {total['walked']} {total['read']}"
    )
    return 0


def report(repository: Path, *, places: bool) -> Counter[str]:
    """Prints a repository's line, and what is not reached in it; its numbers."""
    found = covered(repository)
    sites, collectives = [*found.sites()], [*found.collectives()]
    row = Counter(
        maps=len(sites),
        seen=sum(not why for _, _, why in sites),
        specs=found.all_specs,
        known=found.known_specs,
        collectives=len(collectives),
        walked=sum(walked for _, _, walked, _ in collectives),
        read=sum(read for _, _, _, read in collectives),
    )
    if row["maps"] or row["collectives"]:
        print(
            f"{repository.name:40} {row['maps']} {row['seen']} | {row['specs']} {row['known']} | "
            f"{row['collectives']} {row['walked']} {row['read']}",
            flush=True,
        )
    if places:
        for module, node, why in sites:
            if why:
                print(f"    map {module.path.relative_to(repository.absolute())}:{node.lineno} {why}")
        for module, call, walked, read in collectives:
            if not read:
                inner = module.path.relative_to(repository.absolute())
                more = "walked" if walked else ""
                print(f"    {last_name(call.func)} {inner}:{call.lineno} {more} {found.cause(module, call)}")
    return row


if __name__ == "__main__":
    sys.exit(main())
