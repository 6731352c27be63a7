"""Decides, for each reference to pmap, whether it can be replaced, and what the helper must then be able to do."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxmigrate.migrate.helper import DEFAULT_AXES, DEFAULT_AXIS, Needs
from jaxmigrate.migrate.inside import Inside, inside
from jaxmigrate.migrate.lowered import LOWER_CALL
from jaxmigrate.migrate.nesting import InPlace, in_place
from jaxmigrate.migrate.one_device import is_given_one_device, may_give_one_device
from jaxmigrate.migrate.passed_on import passed_on
from jaxmigrate.program.library import mentions
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, Reference, axis_of, is_decorator, references
from jaxmigrate.program.values import Argument, Constant

KEYWORDS = frozenset(
    {
        "fun",
        "axis_name",
        "in_axes",
        "out_axes",
        "static_broadcasted_argnums",
        "devices",
        "backend",
        "axis_size",
        "donate_argnums",
    }
)
IMPORTS_JAXLINE = r"^\s*(from|import)\s+jaxline\b"  # which asks for the process itself
PROCESS_WORDS = re.compile("|".join((mentions("of-processes"), IMPORTS_JAXLINE)), re.MULTILINE)
GUARD_WORDS = re.compile(
    r"\b(process_index|process_count|host_id|host_count|multihost_utils|jax\.distributed)\b"
    rf"|{IMPORTS_JAXLINE}",
    re.MULTILINE,
)
OTHER_PROCESSES = re.compile(
    r"\b(split_for_jax_process|distributed\.initialize|host_local_array_to_global_array|mpi4py|mpi4jax|SLURM_PROCID)\b"
)
RAISES_AS_SEVERAL = re.compile(
    r"^\s*(if\s+([\w.]*(process|host)_count\(\)\s*(>|!=)\s*1|[\w.]*local_device_count\(\)\s*(<|!=)\s*[\w.]*device_count\(\))"
    r"\s*:\s*raise\b|assert\s+[\w.]*(process|host)_count\(\)\s*==\s*1\b)",
    re.MULTILINE,
)
READS_WRAPPED = re.compile(r"""\.\s*__wrapped__\b|["']\w*wrapped__["']""")
UNWRAPS = re.compile(
    r"""^[^#\n]*\binspect\s*\.\s*unwrap\b|^[ \t]*from\s+inspect\s+import\s+(?:\([^)]*|[^\n(]*)\b(?:unwrap|\*)"""
    r"""|\bimport\s+inspect\s+as\b(?=[\s\S]*\.\s*unwrap\b)|["']unwrap["']""",
    re.MULTILINE,
)
DOCUMENTS = re.compile(
    r"^def linkcode_resolve\b|^extensions\b.*=\s*\[[^]]*[\"']sphinx\.", re.MULTILINE
)  # Sphinx's conf.py
SETS_WRAPPED = re.compile(r"\s*(?:#|[\w.]+\.__wrapped__\s*=[^=])")
ORDERED = re.compile(  # what gives devices their places, also by a library's function
    r"\b(axis_index\w*|all_gather\w*|all_to_all|ppermute|pshuffle|pswapaxes|psum_scatter|reduce_scatter"
    r"|bind_rng_to_host_device|process_allgather|kfac_jax|axis_context)\b"
)
DONATES = re.compile(  # what takes the buffers of arrays from whoever holds them
    r"^[^#\n]*(donat|\.delete\(\)|\bkfac)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is left as it is: a rule code, and what the user can do."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """A reference and, where it is left, why; `nested` where it maps a map, `inner` where it is the map so mapped.

    `around` where what it maps calls maps itself, `inside` where it is such a map. It `stays` where a site goes by a
    name of it that must not change: other sites that go by the name then show maps of their own, or stay as well.
    """

    reference: Reference
    sites: tuple[MappedSite, ...]
    refusal: Refusal | None
    nested: InPlace | None = None
    inner: bool = False
    around: bool = False
    inside: bool = False
    stays: Refusal | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the helper for one map takes its place."""
        return self.refusal is None and self.nested is None and not self.inner and not self.inside


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the whole project says that a single file does not.

    `processes`: it asks for its process or its local devices somewhere, so that it may run as several processes.
    `guarded`: it asks which process it is, so that some code may run on one of them only. `several`: a file
    says that it runs as several. `ordered`: it may ask for the places of devices, or bring things in their order.
    `lower`, `wrapped`: it reads attributes of those names. `words`: the keywords of pmap that it mentions anywhere.
    `donates`: it may give up the buffers of arrays.
    """

    processes: bool
    guarded: bool
    several: bool
    ordered: bool
    lower: bool
    wrapped: bool
    words: frozenset[str]
    donates: bool


def runs_as_several(text: str) -> bool:
    """Whether a file says that its program runs as several processes: it asks which of them it is, or brings them up.

    Who only counts its local devices may mean all there are.
    """
    return GUARD_WORDS.search(text) is not None or OTHER_PROCESSES.search(text) is not None


def reads_wrapped(text: str) -> bool:
    """Whether a file reads what decorated functions are made of: to set it, or to write of it, is no such thing.

    Nor is what tells Sphinx where the source of a function stands.
    """
    if "wrapped__" not in text and "inspect" not in text:
        return False
    if DOCUMENTS.search(text):
        return False
    if UNWRAPS.search(text):
        return True
    return any(READS_WRAPPED.search(line) and not SETS_WRAPPED.match(line) for line in text.splitlines())


def surroundings(texts: Sequence[str]) -> Surroundings:
    """Reads the whole project's text for what the helper has to provide."""
    alone = _is_one_process(texts)
    return Surroundings(
        processes=not alone and any(PROCESS_WORDS.search(text) for text in texts),
        guarded=not alone and any(GUARD_WORDS.search(text) for text in texts),
        several=not alone and any(map(runs_as_several, texts)),
        ordered=any(ORDERED.search(text) for text in texts),
        lower=any(LOWER_CALL.search(text) for text in texts),
        wrapped=any(map(reads_wrapped, texts)),
        words=frozenset(w for w in KEYWORDS if _is_passed(w, texts)),
        donates=any(DONATES.search(text) for text in texts),
    )


def _is_one_process(texts: Sequence[str]) -> bool:
    """Whether the only files that ask for processes raise where there are several."""
    asking = [text for text in texts if runs_as_several(text)] or [t for t in texts if PROCESS_WORDS.search(t)]
    return bool(asking) and all(RAISES_AS_SEVERAL.search(text) for text in asking)


def _is_passed(word: str, texts: Sequence[str]) -> bool:
    """Whether a keyword is passed: in a call, or as a key that a `**` may bring."""
    pattern = re.compile(rf"[(,]\s*{word}\s*=(?!=)|[\"\']{word}[\"\']")
    return any(word in text and pattern.search(text) for text in texts)  # the search for a word is much the faster one


def decide(module: Module, sites: Sequence[MappedSite], resolver: Resolver, processes: bool = False) -> list[Decision]:
    """A decision for each reference of a module that has these sites; `processes` if there may be several of them."""
    found = references(module, resolver)
    own = {r.node: tuple(s for s in sites if s.reference is not None and s.reference.node is r.node) for r in found}
    nested = {r.node: None if processes else _in_place(r, own[r.node], found) for r in found}
    inner = {n.call for n in nested.values() if n is not None}
    plain = [
        Decision(r, own[r.node], _refusal(r, own[r.node], module, resolver), nested[r.node], r.call in inner)
        if nested[r.node] is None
        else Decision(r, own[r.node], None, nested[r.node])
        for r in found
    ]
    return _nest(plain, sites, resolver, processes)


def _nest(
    decisions: list[Decision], sites: Sequence[MappedSite], resolver: Resolver, processes: bool
) -> list[Decision]:
    """The decisions where some maps hold others, which one mesh of two axes replaces."""
    by_node = {site.node: site for site in sites}
    found = {d: _insides(d, by_node, resolver, processes) for d in decisions if d.nested is None and not d.inner}
    held = {site.reference.node for i in found.values() for one in i for site in one.sites if site.reference}
    return [
        replace(
            d,
            refusal=d.refusal or _first_refusal(found.get(d, ())),
            around=bool(found.get(d)),
            inside=d.reference.node in held,
        )
        for d in decisions
    ]


def _insides(
    decision: Decision, by_node: Mapping[ast.expr, MappedSite], resolver: Resolver, processes: bool
) -> tuple[Inside, ...]:
    found = (inside(site, by_node, resolver, processes) for site in decision.sites)
    return tuple(one for one in found if one is not None)


def _first_refusal(insides: Sequence[Inside]) -> Refusal | None:
    reason = next((one.reason for one in insides if one.reason), "")
    return Refusal("JM405", reason) if reason else None


def _in_place(reference: Reference, sites: Sequence[MappedSite], found: Sequence[Reference]) -> InPlace | None:
    """The map that a reference's site maps in place, where that one is a plain call of pmap of its own."""
    if reference.use != "call" or len(sites) != 1:
        return None
    nested = in_place(sites[0])
    if nested is None or not any(r.use == "call" and r.call is nested.call for r in found):
        return None
    return None if isinstance(nested.function, ast.Call) and _maps(nested.function, found) else nested


def _maps(call: ast.Call, found: Sequence[Reference]) -> bool:
    return any(r.call is call for r in found)


def _refusal(reference: Reference, sites: Sequence[MappedSite], module: Module, resolver: Resolver) -> Refusal | None:
    if reference.use == "value":
        return _value_refusal(reference, module)
    arguments = sites[0].arguments if sites else ()
    unknown = [a.keyword for a in arguments if a.keyword not in (*KEYWORDS, None, "*", "**")]
    if unknown:
        return Refusal(
            "JM403",
            f"pmap is given {unknown[0]}, which jax.pmap no longer takes; "
            "remove it (see the JAX changelog) and run fix again",
        )
    for name in ("in_axes", "out_axes"):
        if negative := next((n for a in arguments if a.keyword == name for n in _negative(a, resolver)), None):
            return Refusal(
                "JM402",
                f"{name} holds {negative}; jax.pmap itself no longer maps negative axes correctly; "
                "write the axis counted from the front and run fix again",
            )
    return None


def _value_refusal(reference: Reference, module: Module) -> Refusal | None:
    parent = module.table.parents.get(reference.node)
    if isinstance(parent, ast.Attribute):
        return Refusal(
            "JM404", f"reads {parent.attr} of jax.pmap itself, which no replacement has; drop that and run fix again"
        )
    return None


def _negative(argument: Argument, resolver: Resolver) -> list[int]:
    """The negative integers in an axes literal."""
    if argument.expression is None:
        return []
    found: list[int] = []
    for node in ast.walk(argument.expression):
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                found.append(-number)
    value = resolver.value(argument.expression, argument.module)
    if isinstance(value, Constant):
        found += [n for n in _leaves(value.value) if isinstance(n, int) and n < 0]
    return found


def _leaves(value: object) -> list[object]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple) else [value]


def needs_of(
    decisions: Iterable[Decision], around: Surroundings, resolver: Resolver, changed: Collection[ast.AST] = ()
) -> Needs:
    """What the helper of a file must be able to do for the references that are replaced.

    `changed`: slices of stacked arrays that are global arrays instead.
    """
    needs: Needs | None = None
    for decision in decisions:
        if decision.is_plain:
            one = _needs_of_one(decision, around, resolver, changed)
            needs = one if needs is None else merged(needs, one)
    needs = needs or Needs()
    alone = needs.alone and not needs.inner
    return replace(
        needs,
        processes=around.several,
        for_one=not around.several,
        alone=alone,
        lower=around.lower,
        wrapped=around.wrapped,
    )


def _needs_of_one(decision: Decision, around: Surroundings, resolver: Resolver, changed: Collection[ast.AST]) -> Needs:
    site = decision.sites[0] if decision.sites else None
    if site is None or site.is_open:
        words = passed_on(site, resolver) if site is not None else None
        needs = _needs_of(around.words if words is None else words)
        alone = needs.in_axes and may_give_one_device(decision.reference, resolver, changed)
        return replace(needs, inner=decision.around, alone=alone)
    given = {a.keyword for a in site.arguments}
    in_axes = site.keyword("in_axes")
    return replace(
        _needs_of(given),
        axis_name=_axis_need(site, resolver),
        in_axes=in_axes is not None,
        list_axes=in_axes is not None and _may_be_list(in_axes, resolver),
        inner=decision.around,
        alone=in_axes is not None and is_given_one_device(site, in_axes, resolver, changed),
    )


def _needs_of(words: Collection[str | None]) -> Needs:
    """What a map needs that may be given these keywords of pmap, with any value."""
    return Needs(
        axis_name="optional",
        in_axes="in_axes" in words,
        list_axes="in_axes" in words,
        out_axes="out_axes" in words,
        static="static_broadcasted_argnums" in words,
        donate="donate_argnums" in words,
        devices="devices" in words,
        backend="backend" in words,
        axis_size="axis_size" in words,
    )


def _axis_need(site: MappedSite, resolver: Resolver) -> Any:
    if site.keyword("axis_name") is None:
        return "absent"
    axis = axis_of(site, resolver)
    return "given" if isinstance(axis, Constant) and isinstance(axis.value, str) else "optional"


def _may_be_list(argument: Argument, resolver: Resolver) -> bool:
    if isinstance(argument.expression, ast.Tuple):
        return False
    if isinstance(argument.expression, ast.List):
        return True
    return (
        not isinstance(resolver.value(argument.expression, argument.module), Constant) if argument.expression else True
    )


def merged(one: Needs, other: Needs) -> Needs:
    """What the sites of two files need together."""
    axis = one.axis_name if one.axis_name == other.axis_name else "optional"
    flags = {f: getattr(one, f) or getattr(other, f) for f in Needs.__slots__ if f != "axis_name"}
    return Needs(axis_name=axis, **flags)


def default_axis(texts: Sequence[str]) -> str:
    """A name for axes without one that no file says, where some code may ask whether it is bound."""
    for name in DEFAULT_AXES:
        if not any(f'"{name}"' in text or f"'{name}'" in text for text in texts):
            return name
    return f"_{DEFAULT_AXIS}"


def is_bound_at_once(reference: Reference, module: Module) -> bool:
    """Whether a `partial(pmap, ...)` is applied where it stands: as a decorator, or called."""
    call = reference.call
    if reference.use != "partial" or call is None:
        return False
    parent = module.table.parents.get(call)
    return is_decorator(call, module) or (isinstance(parent, ast.Call) and parent.func is call)
