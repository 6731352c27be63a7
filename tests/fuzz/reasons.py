"""Checks that what fix says of arrays that stay stacked is true of the program, where that can be told.

    python tests/fuzz/reasons.py [--seed 0] [--count 400] [--run 60]

A reason that names a place is checked against the statement that stands there: it has the method, the attribute, the
function, the index that the reason is about. "Differs between devices" is checked by running: in some call the slices
of that result do differ; a result that is equal by chance of the data is counted as such. Prints for each reason
how often it was given, and how many of those are checked and true. The exit status is 1 where one is false.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.migrate import ArrayLayout, SitePlan
from tests.fuzz.running import FLAGS, generated, rewritten

AXES = ("its in_axes are not", "its out_axes are not")
PLACE = re.compile(r" \((?:(?P<file>[\w./]+\.py), )?line (?P<line>\d+)\)|\((?P<other>[\w./]+\.py):(?P<row>\d+)\)")
DIFFERS = "differs between devices when the mapped function returns it"


class Given(NamedTuple):
    """A reason for an array of a site, the source of its file, and the statement that it names, if any."""

    reason: str
    site: SitePlan
    array: ArrayLayout
    source: str
    statement: ast.AST | None


def named(node: ast.AST) -> set[str]:
    """The names and attributes of a statement."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def has(*kinds: type[ast.AST]) -> Callable[[ast.AST, re.Match[str]], bool]:
    """A check that a statement has a node of some kinds."""
    return lambda node, _: any(isinstance(n, kinds) for n in ast.walk(node))


def names_it(node: ast.AST, said: re.Match[str]) -> bool:
    """A check that a statement names what the reason names, by its last part."""
    return said[1].rpartition(".")[2] in named(node)


ARITHMETIC = has(ast.BinOp, ast.AugAssign, ast.UnaryOp)
LOOPS = has(ast.For, ast.comprehension, ast.Starred, ast.Call, ast.Tuple)
CHECKS: dict[str, Callable[[ast.AST, re.Match[str]], bool]] = {
    r"has \.(\w+) read": names_it,
    r"has \.(\w+)\(\) called": names_it,
    r"is passed to ((?!a |an |the )[\w.]+)": names_it,
    r"is indexed ": has(ast.Subscript),
    r"takes part in arithmetic": ARITHMETIC,
    r"is iterated over": LOOPS,
    r"is stored in ": has(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Call),
    r"is mixed with": has(ast.Assign, ast.For, ast.IfExp, ast.Call, ast.Return),
    r"is compared": has(ast.Compare),
}


def statement_at(files: dict[str, str], reason: str) -> ast.AST | None:
    """The innermost statement at the place that a reason names, without the bodies of compound ones."""
    place = PLACE.search(reason)
    if place is None:
        return None
    name, line = place["file"] or place["other"] or "main.py", int(place["line"] or place["row"])
    tree = ast.parse(files[name])
    found = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or 0)]
    return max(found, key=lambda n: n.lineno, default=None)


def reasons(files: dict[str, str]) -> Iterator[Given]:
    """What fix says of each array of a program that stays stacked."""
    for site in rewritten("", files, ("auto",), twice=False).sites:
        for array in (*site.arguments, *site.outputs):
            if array.reason:
                yield Given(array.reason, site, array, files[site.path], statement_at(files, array.reason))


def told(given: Given) -> bool | None:
    """Whether a reason is true of the statement that it names; None where that cannot be told."""
    if given.reason.startswith(AXES):
        return given.reason.split()[1] in given.source
    if given.statement is None:
        return None
    for pattern, check in CHECKS.items():
        if said := re.match(pattern, given.reason):
            return check(given.statement, said)
    return None


def recorded(files: dict[str, str], run: Callable[[dict[str, str]], Any]) -> dict[tuple[str, str], bool]:
    """For each result of each mapped function of a program, by name, whether its slices ever differ."""
    import jax
    import numpy as np

    found: dict[tuple[str, str], bool] = {}
    pmap = jax.pmap

    def differ(tree: Any) -> bool:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
        return any(part.tobytes() != leaf[0].tobytes() for leaf in leaves if leaf.ndim for part in leaf[1:])

    def watching(fun: Any, *args: Any, **kwargs: Any) -> Any:
        mapped = pmap(fun, *args, **kwargs)
        name = getattr(getattr(fun, "func", fun), "__name__", "")

        def call(*args: Any, **kwargs: Any) -> Any:
            out = mapped(*args, **kwargs)
            parts = {str(n): part for n, part in enumerate(out)} if type(out) is tuple else {}
            for place, part in {**parts, "result": out}.items():
                found[name, place] = found.get((name, place), False) or differ(part)
            return out

        return call

    jax.pmap = watching
    try:
        run(files)
    finally:
        jax.pmap = pmap
    return found


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--run", type=int, default=60, metavar="N", help="programs that are run, for what differs")
    options = parser.parse_args()
    os.environ |= {"XLA_FLAGS": " ".join((*FLAGS, "--xla_backend_optimization_level=0")), "NPROC": "64"}
    given, true, false, chance = Counter[str](), Counter[str](), list[str](), 0
    ran = 0
    for number in range(options.count):
        files = generated(f"{options.seed}:{4 * number}")[1]
        each = list(reasons(files))
        seen: dict[tuple[str, str], bool] = {}
        if any(one.reason.startswith(DIFFERS) for one in each) and ran < options.run:
            from tests.fuzz.worker import run

            ran += 1
            try:
                seen = recorded(files, run)
            except Exception:  # noqa: BLE001 - a program that raises as written tells nothing
                seen = {}
        for one in each:
            kind = PLACE.sub("", re.sub(r"\b\d+\b|`[^`]*`", "#", one.reason))
            given[kind] += 1
            verdict = told(one)
            if one.reason.startswith(DIFFERS):
                function = re.search(r"\w+_step", one.site.mapped)
                verdict = seen.get((function[0] if function else "", one.array.name.strip("[]")))
                if verdict is False:
                    chance += 1
                    verdict = None
            if verdict is False:
                false.append(f"{options.seed}:{4 * number}: {one.array.name}: {one.reason}")
            true[kind] += verdict is True
    for kind, count in given.most_common():
        print(f"{count:5} given, {true[kind]:5} checked and true: {kind}")
    print(f"{sum(given.values())} reasons, {sum(true.values())} checked and true, {len(false)} false;", end=" ")
    print(f"{ran} programs run, {chance} results equal by chance of the data")
    for line in false:
        print(f"FALSE {line}")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
