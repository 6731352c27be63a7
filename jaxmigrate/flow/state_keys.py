"""Random keys that are fields of a state which is replicated: all devices draw the same masks and noise by them.

For states that are replicated in one method and stepped in another, of which the calls of the map tell nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.drawn_streams import is_drawn_from
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.fixed_keys import trains
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.repeated_keys import TELLS_APART
from jaxmigrate.flow.stale_keys import field_of, key_of
from jaxmigrate.flow.variance import Draw, Level, Reading
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.library import last_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import External

APPLYING = frozenset({"apply_gradients", "apply_updates"})
LAST = last_names("replicates")
OWN = r"shard|stack|pmap|vmap|device|process"  # what a line says that gives each device a key


class StateKey(NamedTuple):
    """A draw by the key of a replicated state, the key's name there, and where the state is replicated."""

    draw: Draw
    name: str
    module: Module
    call: ast.Call


def keys_of_states(facts: Facts) -> Iterator[StateKey]:
    """Draws of networks in pmaps that train by keys of a state, which nothing makes a device's own."""
    replicating: list[tuple[Module, ast.Call, str]] | None = None
    for found, reading in facts.readings:
        if found.name not in PMAPS or found.within is not None or not reading.draws:
            continue
        if not trains(reading) and not any(last_name(one.func) in APPLYING for one in calls_of(found.function.node)):
            continue
        field = _field(found, reading, facts)
        if field is None:
            continue
        draw, key, owner = field
        if replicating is None:
            replicating = [*_replicating(facts)]
        texts = texts_beside(found.application.module, facts.resolver)
        there = [one for one in replicating if one[2] == owner and one[0].text in texts]
        if there and is_drawn_from(draw.name, texts) and not _is_own(key, texts) and not _is_set(key, reading, facts):
            yield StateKey(draw, f"{owner}.{key}", there[0][0], there[0][1])


def _field(found: DeviceMap, reading: Reading, facts: Facts) -> tuple[Draw, str, str] | None:
    """The first draw by a field of a parameter of the map, with the names of both."""
    names = found.parameters()
    for draw in reading.draws:
        key = key_of(draw) if draw.name.startswith("rngs") and draw.key.level == Level.MAY and not draw.common else None
        field = field_of(key, draw.module, facts) if key is not None else None
        if field is None or draw.module is not found.function.module or not isinstance(field.value, ast.Name):
            continue
        holder = draw.module.table.scope_of[field.value].lookup(field.value.id)
        if field.value.id in names and holder is not None and holder.node is found.function.node:
            return draw, field.attr, field.value.id
    return None


def _replicating(facts: Facts) -> Iterator[tuple[Module, ast.Call, str]]:
    """The calls that replicate something, with its name."""
    for module, call in facts.calls(*LAST):
        callee = facts.resolver.value(call.func, module)
        if isinstance(callee, External) and callee.name in REPLICATES and call.args and not module.is_test:
            yield module, call, last_name(call.args[0])


def _is_own(key: str, texts: list[str]) -> bool:
    """Whether a program tells devices apart, or a line that has a key may give each device one of its own."""
    said = re.compile(rf"^.*\b{key}\b.*({OWN}).*$|^.*({OWN}).*\b{key}\b.*$", re.MULTILINE)
    return any(TELLS_APART.search(text) or said.search(text) for text in texts)


def _is_set(key: str, reading: Reading, facts: Facts) -> bool:
    """Whether the host gives a state another key: not the map itself, nor a method of the state."""
    for module in facts.resolver.project.program:
        for call in module.table.calls if key in module.text else ():
            if not any(one.arg == key for one in call.keywords) or last_name(call.func) not in ("replace", "_replace"):
                continue
            of_itself = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self"
            if module.table.function_of(call) not in reading.entered and not of_itself:
                return True
    return False
