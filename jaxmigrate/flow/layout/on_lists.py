"""Arrays that cannot lie on a list of devices that the program makes: none is in sight for them, or there are two."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from jaxmigrate.flow.layout.causes import Reason, Stacked
from jaxmigrate.flow.layout.device_idents import Ident
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.model import OBSERVED, PRESUMED, Op
from jaxmigrate.flow.layout.values import Blocker, Group

UNLISTED = Stacked.MAP_STAYS.reason("is made where no list of the devices is in sight")
ON_TWO = Stacked.MAP_STAYS.reason("is passed to maps over other devices than it is put on")
OF_OTHERS = Stacked.READ_ON_HOST.reason("has its size read, while other lists of devices may be made in its place")
TOLD = ("averaged", "checkpoint", "replicate", "rows", "size", "split")  # what is written with the mesh, or its size


def kept_off(
    it: Interpreter, lists: ListedDevices, of_site: Mapping[object, Sequence[Group]], blocked: Collection[ast.expr]
) -> Iterator[tuple[Group, Reason | Blocker]]:
    """The groups that stay stacked for it, each with why; `of_site` are those of each site that is not `blocked`."""
    used: dict[Group, set[Ident]] = {}
    for op in it.operations.ops.values():
        if op.kind not in TOLD:
            continue
        ident = lists.of(op.node, op.module)
        if op.kind == "size" and not lists.is_certain:
            yield op.group, Blocker(OF_OTHERS, op.module, op.node)
        elif ident is None or not _can_be_said(op, lists, ident):
            yield op.group, Blocker(UNLISTED, op.module, op.node)
        else:
            used.setdefault(op.group.find(), set()).add(ident)
    for node, groups in of_site.items():
        assert isinstance(node, ast.expr)
        ident = lists.of_site(it.sites[node]) if node not in blocked else None
        for group in groups if ident is not None else ():
            assert ident is not None
            used.setdefault(group.find(), set()).add(ident)
    yield from ((root, ON_TWO) for root, idents in used.items() if len(idents) > 1)


def _can_be_said(op: Op, lists: ListedDevices, ident: Ident) -> bool:
    """Whether the list can be said where an operation stands, or a map lays out what that makes."""
    to_map = op.kind == "split" and op.form not in (OBSERVED, PRESUMED) and lists.leaves_to_maps
    return to_map or lists.expression(op.node, op.module, ident) is not None
