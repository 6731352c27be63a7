"""What becomes of the sites and operations of a program: the layout of each argument and output, and why."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from jaxmigrate.flow.layout.causes import Reason
from jaxmigrate.flow.layout.model import Keys, Op, Place, SiteCall
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.trust import Assumption, Grade
from jaxmigrate.program.values import Function

Name = Literal["replicated", "split", "stacked", "broadcast", "static", "mixed"]
GLOBAL = ("replicated", "split")


@dataclass(frozen=True, slots=True)
class NamedTuple:
    """A named tuple: what its class is called where a site stands, and its fields in order."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The layout of one argument or output; `reason` says why where it stays stacked.

    `aligned`: a stacked array that lies over all processes, where there may be several: see `flow.layout.aligned`.
    `fields` are those of a replicated object that stay stacked, by name with the reason, and `aligned_fields` those of
    them that lie over all processes; `method` copies such an object with other fields, and `like` is the argument whose
    fields such an output has. `of` is the object's class where its specs can be an object of that class as well.
    `grade` is that of the evidence for a global layout, and `leans` is what it rests on beside proof;
    `ops` are the operations on its arrays, with their kinds. Of a stacked one `advice` is what to do about that, and
    `story` all else that is known of it. `parts` are those of a tuple, of which one is mixed whose
    parts have several layouts.
    """

    layout: Name
    reason: Reason | None = None
    aligned: bool = False
    fields: tuple[tuple[str, Reason], ...] = ()
    method: str = ""
    like: int = 0
    of: NamedTuple | None = None
    aligned_fields: frozenset[str] = frozenset()
    grade: Grade = "proven"
    leans: tuple[Assumption, ...] = ()
    ops: frozenset[tuple[ast.expr, str]] = frozenset()
    advice: str = ""
    story: tuple[str, ...] = ()
    parts: tuple[Choice, ...] = ()

    @property
    def leaves(self) -> tuple[Choice, ...]:
        """Itself, or its parts."""
        return self.parts or (self,)


def of_parts(parts: Sequence[Choice]) -> Choice:
    """A tuple of arrays: what holds of all its parts, with the reason and advice of the first that has one."""
    arrays = [one for one in parts if one.layout != "broadcast"] or [*parts]  # None has any layout
    alike = len({(one.layout, one.aligned) for one in arrays}) == 1
    told = next((one for one in arrays if one.reason is not None), arrays[0])
    leans = dict.fromkeys(why for one in parts for why in one.leans)
    ops = frozenset(op for one in parts for op in one.ops)
    layout: Name = arrays[0].layout if alike else "mixed"
    return replace(told, layout=layout, leans=tuple(leans), ops=ops, parts=tuple(parts))


@dataclass(frozen=True, slots=True)
class Squeeze:
    """A parameter of a mapped function that is one array, stacked, and that no other map gives to that function."""

    index: int
    function: Function
    name: str


@dataclass(frozen=True, slots=True)
class Outputs:
    """The places of outputs in what a function returns, and the named tuples and dictionaries that these are in."""

    places: tuple[Place, ...] = ()
    named: Mapping[Place, NamedTuple | Keys] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SiteChoice:
    """What becomes of a mapped site.

    `outputs` has one entry for each element of the tuple that is returned, or one in all where `whole`. `blocked` says
    why the site cannot be a shard_map over global arrays at all. `squeezes` are the stacked arguments whose first axis
    the mapped function can drop itself. `keywords` are the names of the last arguments where they are given by keyword.
    `by_rows`: its arguments may hold slices for fewer devices than there are, which show only when it is called.
    `at_calls`: what its calls give and take is laid out there, although all of it is stacked.
    `tree` says where its outputs stand in what it returns, `leans` what its global arrays rest on beside proof,
    `advice` what to do about `blocked`.
    """

    site: MappedSite
    arguments: tuple[Choice, ...]
    outputs: tuple[Choice, ...]
    whole: bool
    axis: str
    blocked: Reason | None = None
    squeezes: tuple[Squeeze, ...] = ()
    keywords: tuple[str, ...] = ()
    by_rows: bool = False
    tree: Outputs = field(default_factory=Outputs)
    leans: tuple[Assumption, ...] = ()
    advice: str = ""
    at_calls: bool = False

    def is_at_least(self, other: SiteChoice) -> bool:
        """Whether all its arrays have a global layout that have one in another choice for the same site."""
        outputs = dict(zip(self.tree.places, self.outputs, strict=False))
        pairs = [pair for both in zip(other.arguments, self.arguments, strict=False) for pair in _side_by_side(*both)]
        pairs += [(one, outputs[p]) for p, one in zip(other.tree.places, other.outputs, strict=False) if p in outputs]
        return other.blocked is not None or not any(
            one.layout in GLOBAL and (self.blocked or now.layout not in GLOBAL) for one, now in pairs
        )

    @property
    def is_global(self) -> bool:
        """Whether some argument or output is a global array, or a stacked one over all processes."""
        return not self.blocked and any(c.aligned or c.layout in GLOBAL for c in self.every)

    @property
    def every(self) -> tuple[Choice, ...]:
        """All arguments and outputs, or their parts."""
        return (*(part for one in self.arguments for part in one.leaves), *self.outputs)


def _side_by_side(one: Choice, other: Choice) -> list[tuple[Choice, Choice]]:
    """The parts of an argument in two solutions."""
    count = max(len(one.leaves), len(other.leaves))
    return list(zip(one.parts or (one,) * count, other.parts or (other,) * count, strict=False))


@dataclass(frozen=True, slots=True)
class OpChoice:
    """An operation whose text changes: what it made or took apart is `layout` over `axis` now.

    What is stacked lies over all processes. `fields` of it stay stacked, of which `aligned` do so; `method` copies the
    object with other fields, and `rest` are these where all are known. `for_all`: a map takes it, on all devices.
    `lent`: maps alone take it, and none is donated the array before they have.
    `site`: it belongs to a call of that map. `written`: the program writes in place into what it is given.
    `of_numbers`: each device has one number of it.
    """

    op: Op
    layout: Name
    axis: str
    donated: bool
    fields: tuple[str, ...] = ()
    method: str = ""
    rest: tuple[str, ...] = ()
    aligned: frozenset[str] = frozenset()
    for_all: bool = False
    lent: bool = False
    site: ast.expr | None = None
    written: bool = False
    of_numbers: bool = False


@dataclass
class Layouts:
    """The layouts of a project's arrays; `calls` give something by keyword that goes by position from now on.

    `together` are modules that make, map and take apart the same arrays: the rewrite of one needs that of the others.
    `untaken` are the first statements of branches that no call in sight takes, and that take arrays apart as before.
    `parted`: host code takes arrays apart that stay stacked because there may be several processes.
    """

    sites: dict[ast.expr, SiteChoice] = field(default_factory=dict)
    calls: list[SiteCall] = field(default_factory=list)
    ops: list[OpChoice] = field(default_factory=list)
    together: list[frozenset[Module]] = field(default_factory=list)
    untaken: dict[ast.stmt, Module] = field(default_factory=dict)
    parted: bool = False

    def is_at_least(self, other: Layouts) -> bool:
        """Whether all arrays have a global layout here that have one in other layouts of the same program."""
        return all(self.sites[node].is_at_least(choice) for node, choice in other.sites.items())

    def is_more(self, other: Layouts) -> bool:
        """Whether this has a global layout for all arrays that have one in other layouts, and for some more."""
        return self.is_at_least(other) and not other.is_at_least(self)

    def add(self, other: Layouts) -> None:
        """Takes in those of another program of the project."""
        self.sites |= other.sites
        self.calls += other.calls
        self.ops += other.ops
        self.together += other.together
        self.untaken |= other.untaken
        self.parted |= other.parted

    @cached_property
    def replaced(self) -> frozenset[ast.expr]:
        """The nodes of the operations on arrays that are all global now; to be asked when `ops` is complete."""
        return frozenset(c.op.node for c in self.ops if not c.fields and (c.layout != "stacked" or c.op.kind == "rows"))


def all_stacked(sites: Mapping[ast.expr, MappedSite], reason: Reason) -> Layouts:
    """No global array anywhere, for one reason."""
    return Layouts({node: SiteChoice(site, (), (), True, "", reason) for node, site in sites.items()})
