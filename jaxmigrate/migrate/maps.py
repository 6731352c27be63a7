"""What a mapped site becomes as a `jax.shard_map`: its mesh, its specs, and which axes its body drops and puts back."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from jaxmigrate.flow.layout.choices import NamedTuple, SiteChoice
from jaxmigrate.flow.layout.model import Keys, Place
from jaxmigrate.program.sites import MappedSite

ALIKE = 3  # outputs of one spec that are easier to read as one


@dataclass(frozen=True, slots=True)
class Array:
    """One argument or output.

    `split`: its spec names the mesh's axis, at the place `axis`; `drops`: the body sees no such axis, and results get
    it back. `fields` of it are stacked while the rest is the same on all devices; `method` copies it with other fields.
    `aligned` and `aligned_fields`: stacked, and over all processes. `own`: each process may have one of its own.
    `parts` are those of a tuple whose parts differ, each of one spec: of the tuple itself nothing else is said.
    """

    split: bool
    drops: bool = False
    axis: int = 0
    static: bool = False
    fields: tuple[str, ...] = ()
    method: str = ""
    like: int = 0
    of: NamedTuple | None = None
    aligned: bool = False
    aligned_fields: frozenset[str] = frozenset()
    own: bool = False
    parts: tuple[Array, ...] = ()

    @property
    def leaves(self) -> tuple[Array, ...]:
        """Itself, or the parts of a tuple whose parts differ."""
        return self.parts or (self,)

    @property
    def is_open(self) -> bool:
        """Whether some fields are stacked of an object of which only the object itself can be asked for the rest."""
        return bool(self.fields) and self.of is None

    @property
    def local_fields(self) -> tuple[str, ...]:
        """The stacked fields of which each process has its own rows."""
        return tuple(name for name in self.fields if name not in self.aligned_fields)

    @property
    def mapped(self) -> int | None:
        """The axis that is dropped, as pmap's in_axes and out_axes say it."""
        return self.axis if self.drops else None


STACKED = Array(split=True, drops=True)
OF_KEYS = "dict"  # how a dictionary is copied with other entries


def folded(
    places: Sequence[Place], outputs: Sequence[Array], at: Collection[Place]
) -> tuple[tuple[Place, ...], tuple[Array, ...]]:
    """Outputs with one for each of some dictionaries, whose entries they are: what is dropped are its fields."""
    found: dict[Place, list[tuple[Place, Array]]] = {}
    for place, array in zip(places, outputs, strict=True):
        found.setdefault(place[:-1] if place[:-1] in at and isinstance(place[-1], str) else place, []).append(
            (place, array)
        )
    arrays = [_of_entries(entries) if place in at else entries[0][1] for place, entries in found.items()]
    return tuple(found), tuple(arrays)


def _of_entries(entries: Sequence[tuple[Place, Array]]) -> Array:
    """A dictionary of some arrays as one output."""
    first = entries[0][1]
    if all(array == first for _, array in entries):
        return first
    return Array(split=False, fields=tuple(str(place[-1]) for place, array in entries if array.drops), method=OF_KEYS)


@dataclass(frozen=True, slots=True, eq=False)
class MapPlan:
    """One site as a `jax.shard_map`.

    `inputs` and `outputs` hold one `Array` for each, or stand for all alike where `whole_in` and `whole_out`. `axis` is
    the source or node of the axis name, `axis_name` what it is where that is known. `devices` are those that pmap is
    given; `by_rows`: the mesh has as many devices as the arrays of a call have rows. `names` are the parameters of a
    function that is written around the map, None where a star stands for them. What is given `by_name` has to be given
    to the mapped function by keyword as well. `backend` is the one whose devices these are. `any_keywords`: calls give
    arguments by keyword, and which ones differs or does not show; `paired`: what is mapped takes the tuple of the ones
    and the dict of the others.
    """

    site: MappedSite
    axis: str | ast.expr
    axis_name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    whole_in: bool
    whole_out: bool
    donated: str | ast.expr | None = None
    static: tuple[int, ...] = ()
    devices: ast.expr | None = None
    backend: ast.expr | None = None
    by_rows: bool = False
    names: tuple[str, ...] | None = None
    by_keyword: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    named: dict[Place, NamedTuple | Keys] = field(default_factory=dict)
    choice: SiteChoice | None = None
    given_by_keyword: bool = False
    any_keywords: bool = False
    paired: bool = False
    axis_default: str = ""  # the axis name where the one that pmap is given is None
    axis_source: str = ""  # what the axis is called in the module of the alias that the site goes by
    mesh: str = ""  # what the mesh of the devices that pmap is given is called above the statement of a site
    listed: str = ""  # the mesh of a list of devices that the program makes
    said: tuple[str, ...] = ()  # what a call calls what it gives, where names are not known
    own_devices: bool = False  # each process maps its rows over devices of its own
    at_calls: bool = False  # its calls lay out these rows over all devices
    lays_out: bool = False  # the map itself brings what is the same on all devices to them
    moves: bool = False  # and all else to its mesh, since calls of the host take arrays of no other
    said_axes: tuple[ast.Constant, ...] = ()  # what says another axis in it than the one that it is mapped over now
    on_mesh: bool = False  # a function around it does that, where it can be made before there is a mesh

    @property
    def everything(self) -> tuple[Array, ...]:
        """All arguments and outputs, or the parts of those that are tuples of unlike ones."""
        return (*(part for one in self.inputs for part in one.leaves), *self.outputs)

    @property
    def has_parts(self) -> bool:
        """Whether some argument is a tuple whose parts differ."""
        return any(one.parts for one in self.inputs)

    @property
    def drops(self) -> bool:
        """Whether the body sees less axes than the blocks have, or gives less."""
        return any(array.drops or array.fields for array in self.everything)

    @property
    def has_own_mesh(self) -> bool:
        """Whether pmap is told which devices its mesh has."""
        return self.devices is not None or self.backend is not None or bool(self.listed)

    @property
    def takes_rows(self) -> bool:
        """Whether all arguments and all outputs have a row for each device."""
        return all(array.drops or array.static for array in self.everything)

    @property
    def around(self) -> MapPlan:
        """The map of a function around the mapped one, which takes all by position."""
        return replace(self, by_name=(), paired=self.any_keywords)

    def part(self, first: int, last: int) -> MapPlan:
        """The map of the arguments from one place to another, where the others are bound already."""
        names = self.names[first:last] if self.names is not None else None
        outputs = tuple(replace(one, like=one.like - first) if one.fields else one for one in self.outputs)
        return replace(self, inputs=self.inputs[first:last], outputs=outputs, names=names)

    @property
    def is_tuple(self) -> bool:
        """Whether what is mapped returns a tuple of as many parts as there are outputs, if it does not return one."""
        return not self.named and (not self.places or [*self.places] == [(i,) for i in range(len(self.outputs))])

    @property
    def plain(self) -> bool:
        """Whether all arguments and all outputs drop their first axis."""
        return self.whole_in and self.whole_out and self.inputs == self.outputs == (STACKED,)
