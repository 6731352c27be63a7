"""The source of a map's specs, as the site and the functions around it say them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jaxmigrate.flow.layout.model import Keys, Place
from jaxmigrate.migrate.maps import STACKED, Array, MapPlan

LONG = 40  # characters of a spec that is named where it stands twice
LINE = 60  # characters of specs that may fit into a line
FEW, MANY = 3, 3  # runs of specs that are counted, and how many are equal in each


@dataclass(frozen=True, slots=True, eq=False)
class Specs:
    """The specs of one map; `spec` is what the file calls PartitionSpec, and `$axis` stands for the axis name.

    `own` are what the arguments are called in a function around the map.
    """

    plan: MapPlan
    spec: str
    own: Sequence[str]

    def of(self, array: Array, own: str = "") -> str:
        """The spec of an argument or output; `own` is that of an object with stacked fields."""
        if array.static:
            return "None"
        if array.parts:
            texts = [self.of(part) for part in array.parts]
            return texts[0] if len({*texts}) == 1 else display(texts)
        if array.fields and array.of is not None:
            return self._record(
                array.of.name, array.of.fields, [self._split(n in array.fields) for n in array.of.fields]
            )
        if array.fields:
            return own
        return f"{self.spec}({'None, ' * array.axis}$axis)" if array.split else f"{self.spec}()"

    def inputs(self, *, stacked: bool = False) -> str:
        """What the arguments are; with `stacked`, what is split as it is has no axis to lose, and so none to name."""
        arrays = [_stacked(a) if stacked else a for a in self.plan.inputs]
        found = [self.of(a, f"{n}_specs" if a.fields else "") for a, n in zip(arrays, self.own, strict=True)]
        alike = self.plan.whole_in or is_said_once(self.plan.inputs, found)
        return found[0] if alike else counted(found)

    def outputs(self, *, stacked: bool = False) -> str:
        """What the outputs are, as a tree of what the mapped function returns."""
        arrays = [_stacked(a) if stacked else a for a in self.plan.outputs]
        found = [self.of(a, f"{self.own[a.like]}_specs" if a.fields else "") for a in arrays]
        alike = len(found) > 1 and is_said_once(self.plan.outputs, found) and not self.plan.named
        return found[0] if self.plan.whole_out or alike else self._tree(found)

    def rows(self) -> str:
        """What a process has its own rows of among the outputs; P() for the others."""
        arrays = [Array(split=False) if a.aligned else _stacked(a) for a in self.plan.outputs]
        found = [self._local_record(a) if a.fields else self.of(a) for a in arrays]
        alike = len(set(found)) == 1 and not any(a.local_fields for a in arrays)
        return found[0] if self.plan.whole_out or alike else self._tree(found)

    @property
    def usual(self) -> str:
        """The spec of a stacked array."""
        return self.of(STACKED)

    def _split(self, split: object) -> str:
        return self.of(Array(split=bool(split)))

    def _local_record(self, array: Array) -> str:
        """What a process has its own rows of among the fields of an object."""
        if array.of is None:
            return self._split(False)
        return self._record(
            array.of.name, array.of.fields, [self._split(n in array.local_fields) for n in array.of.fields]
        )

    def _record(self, name: str, fields: Sequence[str], specs: Sequence[str]) -> str:
        """The specs of the fields of a named tuple, said once where they are one."""
        if len(set(specs)) == 1:
            return specs[0]
        return f"{name}({', '.join(f'{n}={s}' for n, s in zip(fields, specs, strict=True))})"

    @staticmethod
    def _dictionary(keys: Keys, specs: Sequence[str]) -> str:
        """The specs of the entries of a dictionary, said once where they are one."""
        if len(set(specs)) == 1:
            return specs[0]
        entries = [f'"{key}": {spec}' for key, spec in zip(keys.names, specs, strict=True)]
        return f"{{{', '.join(entries)}}}"

    def _tree(self, specs: Sequence[str]) -> str:
        """The specs of outputs, as they stand in what a function returns."""
        if not self.plan.places:
            return counted(specs)
        grouped: dict[Place, list[str]] = {}
        for place, spec in zip(self.plan.places, specs, strict=True):
            grouped.setdefault(place[:-1] if place and isinstance(place[-1], str) else place, []).append(spec)
        texts: dict[Place, str] = {}
        for place, found in grouped.items():
            made = self.plan.named.get(place)
            if isinstance(made, Keys):
                texts[place] = self._dictionary(made, found)
            else:
                texts[place] = found[0] if made is None else self._record(made.name, made.fields, found)
        return _nested(texts, ())


def _nested(texts: Mapping[Place, str], place: Place) -> str:
    """The specs of a tuple, said once for a tuple in it that has one for all its parts."""
    if place in texts:
        return texts[place]
    steps = dict.fromkeys(one[len(place)] for one in texts if one[: len(place)] == place)
    parts = [_nested(texts, (*place, step)) for step in steps]
    return parts[0] if place and len(set(parts)) == 1 and parts[0] != "None" else counted(parts)


def _stacked(array: Array) -> Array:
    """An array as the mapped function's wrapper sees it: what is split without an axis to lose stays as it is."""
    if array.parts:
        return replace(array, parts=tuple(map(_stacked, array.parts)))
    return array if array.drops or array.fields or array.static else Array(split=False)


def is_said_once(arrays: Sequence[Array], texts: Sequence[str]) -> bool:
    """Whether what is said of some arrays is the same, and can be said once: a tree has its own place, None is none."""
    return len(set(texts)) == 1 and texts[0] != "None" and not any(array.fields or array.parts for array in arrays)


def display(parts: Sequence[str]) -> str:
    """A tuple."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def counted(parts: Sequence[str]) -> str:
    """A tuple; where it is longer than a line, and few runs of equal parts say it, `(P(),) * 6 + (P("i"),) * 3`."""
    whole = display(parts)
    runs = [(part, len([*run])) for part, run in itertools.groupby(parts)]
    if len(whole) <= LINE or len(runs) > FEW or len(parts) < MANY * len(runs):
        return whole
    return " + ".join(f"({part},) * {count}" if count > 1 else f"({part},)" for part, count in runs)


def named(texts: Sequence[str], plan: MapPlan) -> tuple[list[str], dict[str, str]]:
    """Texts in which specs of a named tuple that stand there twice have a name, and what has each name."""
    names: dict[str, str] = {}
    for array in plan.everything:
        if array.of is not None:
            pattern = re.compile(rf"\b{re.escape(array.of.name)}\([^()]*(?:\([^()]*\)[^()]*)*\)")
            for text in sorted({m for one in texts for m in pattern.findall(one)}, key=len, reverse=True):
                if sum(one.count(text) for one in texts) > 1 and len(text) > LONG:
                    name = snake(array.of.name.rpartition(".")[2]) + "_specs"
                    if names.setdefault(name, text) == text:
                        texts = [one.replace(text, name) for one in texts]
    return list(texts), names


def snake(name: str) -> str:
    """A class's name as that of a variable."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
