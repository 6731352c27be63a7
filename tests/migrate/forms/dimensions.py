"""The ways to write a pmap: what each one varies in, and which combinations Python, pmap or fix rule out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Combination: TypeAlias = Mapping[str, str]

DIMENSIONS: dict[str, tuple[str, ...]] = {
    "stand": (
        "name", "attribute", "subscript", "dictionary", "decorator", "decorator_partial", "at_once", "returned",
        "argument", "conditional", "lambda_body", "method", "lower", "wrapped", "anew",
    ),
    "mapped": (
        "def", "lambda", "partial", "method", "attribute", "factory", "imported", "parameter", "vmap", "jit", "nested",
    ),
    "named": (
        "import_jax", "import_as", "from_import", "from_as", "re_export", "alias_here", "alias_elsewhere",
        "wrapper_here", "wrapper_elsewhere",
    ),
    "axis": ("absent", "none", "literal", "constant", "imported", "attribute", "parameter", "positional"),
    "in_axes": ("absent", "int", "none", "tuple", "list", "nested", "runtime"),
    "out_axes": ("absent", "int", "none", "tuple", "nested", "runtime"),
    "static": ("absent", "int", "tuple"),
    "donate": ("absent", "int", "tuple"),
    "devices": ("absent", "given"),
    "axis_size": ("absent", "given"),
    "backend": ("absent", "given"),
    "kwargs": ("absent", "given"),
    "call": ("positional", "keyword", "defaults", "star", "fewer", "changing"),
}  # fmt: skip
ALIASES = frozenset({"alias_here", "alias_elsewhere", "wrapper_here", "wrapper_elsewhere"})
KEYWORDS = ("in_axes", "out_axes", "static", "donate", "devices", "axis_size", "backend", "kwargs")


@dataclass(frozen=True, slots=True, eq=False)
class Excluded:
    """Combinations with one of these values in each of these dimensions, and why they are not run.

    `by` says what rules them out: `python` cannot write them, `pmap` raises (the program can be written, and a test
    runs the original of one to see it raise), `fix` makes a program of it that raises.
    """

    by: Literal["python", "pmap", "fix"]
    reason: str
    where: Mapping[str, frozenset[str]]

    def holds(self, combination: Combination) -> bool:
        """Whether a combination, or a part of one, is among these."""
        return all(combination.get(d) in values for d, values in self.where.items())


def given(dimension: str) -> frozenset[str]:
    """Every value of a dimension but `absent`."""
    return frozenset(DIMENSIONS[dimension]) - {"absent"}


def _where(**values: str | Iterable[str]) -> dict[str, frozenset[str]]:
    return {d: frozenset((v,) if isinstance(v, str) else v) for d, v in values.items()}


DIRECT = frozenset(DIMENSIONS["named"]) - ALIASES

NESTED = Excluded("pmap", "pmap has refused nested maps since jax 0.8", _where(mapped="nested"))
OLDER = (
    Excluded("pmap", "pmap wanted as many rows as devices before jax 0.8", _where(devices="given", call="changing")),
    Excluded("pmap", "pmap took no devices for nested maps", _where(mapped="nested", devices="given")),
    Excluded(
        "python",
        "a function that serves as a bare decorator takes no axis for the map inside",
        _where(mapped="nested", stand="decorator", named=("wrapper_here", "wrapper_elsewhere")),
    ),
    Excluded(
        "fix",
        "fix does not read a file that has no pmap, so it misses that the file hands a map to a function that maps; "
        "jax raises",
        _where(mapped="nested", named="wrapper_elsewhere"),
    ),
    Excluded(
        "fix",
        "fix does not follow a decorator of the project's own into what it maps; jax raises",
        _where(mapped="nested", stand="decorator_partial", named="wrapper_here"),
    ),
)

EXCLUDED: tuple[Excluded, ...] = (
    Excluded(
        "python",
        "a decorator maps the def below it, or what another decorator makes of that",
        _where(
            stand=("decorator", "decorator_partial"),
            mapped=("lambda", "partial", "method", "attribute", "factory", "imported", "parameter"),
        ),
    ),
    Excluded(
        "python",
        "the mapped function has a name of its own, which is given anew",
        _where(stand="anew", mapped=("lambda", "method", "attribute", "factory", "imported", "parameter")),
    ),
    *(
        Excluded("python", "a bare decorator has no keywords", _where(stand="decorator", named=DIRECT) | {d: given(d)})
        for d in ("axis", *KEYWORDS)
    ),
    Excluded(
        "python",
        "the first positional argument that a partial binds is the function",
        _where(stand=("decorator_partial",), axis="positional"),
    ),
    Excluded(
        "python",
        "a decorator of the def itself passes nothing by position, unless it is an alias that does",
        _where(stand="decorator", axis="positional", named=("alias_here", "alias_elsewhere")),
    ),
    Excluded(
        "python",
        "a decorated method is mapped by a partial, whose first positional argument is the function",
        _where(stand="method", axis="positional", mapped=("def", "vmap", "jit")),
    ),
    Excluded(
        "python",
        "a bare decorator that was made in another module knows no parameter of this one",
        _where(stand="decorator", axis="parameter", named=("alias_elsewhere", "wrapper_elsewhere")),
    ),
    Excluded("pmap", "pmap takes in_axes as a tuple, not as a list", _where(in_axes="list")),
    NESTED,
    Excluded("python", "the map inside, here, takes arrays only", _where(mapped="nested", static=given("static"))),
    Excluded("python", "the map inside, here, takes arrays only", _where(mapped="nested", stand=("method", "wrapped"))),
    Excluded(
        "pmap",
        "pmap needs an argument that it maps",
        _where(in_axes="none", call=("positional", "defaults", "star", "fewer", "changing")),
    ),
    Excluded("pmap", "pmap wants as many rows as axis_size says", _where(axis_size="given", call="changing")),
)  # fmt: skip


IN_PROCESSES: tuple[Excluded, ...] = (
    *EXCLUDED,
    Excluded("pmap", "pmap's own out_axes cannot be hashed there if it is a dictionary", _where(out_axes="nested")),
    Excluded(
        "pmap", "what pmap compiled ahead takes global arrays, which the program does not have", _where(stand="lower")
    ),
    Excluded("pmap", "a process has as many rows as devices", _where(call=("fewer", "changing"))),
    Excluded(
        "pmap", "the devices of all processes would have to be given, in an order by process", _where(devices="given")
    ),
)


SHOWN: tuple[Excluded, ...] = (
    *EXCLUDED,
    *(
        Excluded("fix", "the map chooses its mesh at each call", where)
        for where in (
            _where(named=ALIASES),
            _where(in_axes=("nested", "runtime")),
            _where(out_axes=("nested", "runtime")),
            *(_where(**{d: "given"}) for d in ("devices", "axis_size", "backend", "kwargs")),
            _where(stand=("lower", "wrapped")),
            _where(mapped="nested"),
            _where(axis="parameter"),
        )
    ),
)


def excluded(combination: Combination, rules: Sequence[Excluded] = EXCLUDED) -> Excluded | None:
    """Why a combination is not run; None where it is."""
    return next((e for e in rules if e.holds(combination)), None)
