"""The grade of the evidence for each layout: the strongest under which the program is found to have it.

What is global by proof alone is proven, whatever else was declared. So a program that leans on anything is solved again
with less to lean on, and each array keeps the first grade at which it gets the layout that it has in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from jaxmigrate.flow.layout.choices import Choice, Layouts, SiteChoice, of_parts
from jaxmigrate.flow.layout.model import Place
from jaxmigrate.program.trust import Assumption, Grade, Trust

Solve = Callable[[Trust], tuple[Layouts, bool]]
WEAKEST_FIRST: tuple[Grade, ...] = ("observed", "likely", "declared", "proven")


def graded(solve: Solve, trust: Trust) -> Layouts:
    """The layouts under all that is trusted, each with its grade, and each site with what it leans on."""
    found, leans = solve(trust)
    if not leans:
        return found
    weaker: list[tuple[Grade, Layouts]] = [("proven", solve(Trust())[0])]
    last: Grade = "observed" if trust.observed else "likely" if trust.likely else "declared"
    if trust.declarations and last != "declared":
        weaker.append(("declared", solve(Trust(trust.declarations))[0]))
    if trust.likely and last != "likely":
        weaker.append(("likely", solve(Trust(trust.declarations, likely=True))[0]))
    sites = {
        node: _site(choice, [(g, one.sites[node]) for g, one in weaker], last) for node, choice in found.sites.items()
    }
    every = dict.fromkeys(why for choice in sites.values() for why in choice.leans)
    found.sites = {node: _with_some(choice, tuple(every)) for node, choice in sites.items()}
    return found


def _site(choice: SiteChoice, weaker: Sequence[tuple[Grade, SiteChoice]], last: Grade) -> SiteChoice:
    """A site with the grades of its arrays, and what those that are not proven lean on."""
    arguments = [
        _array(one, [(g, _at(site.arguments, i)) for g, site in weaker if not site.blocked], last)
        for i, one in enumerate(choice.arguments)
    ]
    places = choice.tree.places
    outputs = [
        _array(
            one,
            [(g, _output(s, p)) for g, s in weaker if not s.blocked],
            last,
        )
        for p, one in zip(places, choice.outputs, strict=True)
    ]
    unproven = [one for one in (*arguments, *outputs) if one.grade != "proven"]
    leans = dict.fromkeys((*choice.leans, *(why for one in unproven for why in one.leans))) if unproven else {}
    return replace(choice, arguments=tuple(arguments), outputs=tuple(outputs), leans=tuple(leans))


def _output(site: SiteChoice, place: Place) -> Choice | None:
    """What a site gives at a place in another solution, where a dictionary there may have one layout."""
    found = dict(zip(site.tree.places, site.outputs, strict=False))
    return found.get(place, found.get(place[:-1]))


def _with_some(choice: SiteChoice, every: tuple[Assumption, ...]) -> SiteChoice:
    """A site that is not proven and names no reason of its own leans on what others do that reach it."""
    unproven = any(one.grade != "proven" for one in (*choice.arguments, *choice.outputs))
    return replace(choice, leans=every) if unproven and not choice.leans else choice


def _at(choices: Sequence[Choice], index: int) -> Choice | None:
    return choices[index] if index < len(choices) else None


def _array(choice: Choice, weaker: Sequence[tuple[Grade, Choice | None]], last: Grade) -> Choice:
    """An argument or output with its grade, that of its weakest part."""
    if choice.parts:
        each = [
            _array(part, [(g, _part(other, i)) for g, other in weaker], last) for i, part in enumerate(choice.parts)
        ]
        grades = {one.grade for one in each}
        return replace(of_parts(each), grade=next(g for g in WEAKEST_FIRST if g in grades))
    if choice.layout not in ("replicated", "split"):
        return replace(choice, leans=())
    for grade, other in weaker:
        if other is not None and _is_like(choice, other):
            return replace(choice, grade=grade, leans=choice.leans if grade != "proven" else ())
    return replace(choice, grade=last)


def _part(choice: Choice | None, index: int) -> Choice | None:
    """A part of an argument in another solution, where it may be no tuple."""
    return choice.parts[index] if choice is not None and index < len(choice.parts) else choice


def _is_like(one: Choice, other: Choice) -> bool:
    """Whether arrays have the same layout in two solutions, and all code that makes them and takes them apart."""
    fields = [[name for name, _ in choice.fields] for choice in (one, other)]
    return one.layout == other.layout and fields[0] == fields[1] and one.ops == other.ops
