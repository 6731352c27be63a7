"""Which stacked arrays can be arrays over all processes: those that only mapped functions take and give.

What makes them on the host lays each process's rows out over all devices, and what takes device 0's slice takes that of
the process's first device: nothing is left to convert around a map.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from jaxmigrate.flow.layout.choices import Choice, SiteChoice, of_parts
from jaxmigrate.flow.layout.groups import Groups
from jaxmigrate.flow.layout.model import Op
from jaxmigrate.flow.layout.values import Group

ALIGNED = frozenset({"rows", "replicate", "first", "argument", "output", "identity"})


def aligned(
    groups: Groups, choices: Mapping[ast.expr, SiteChoice], stacked: Collection[Group], guarded: bool
) -> set[Group]:
    """The groups among `stacked` that lie over all processes; of objects with fields all of them, or single fields.

    Sites that have global arrays anyway take and give them, and those others of which all arrays do so. `guarded`: the
    program asks which process it is, so that all slices that the host takes lie on its first device.
    """
    arrays: dict[ast.expr, set[Group | None]] = {}  # with a device axis, of the sites that run on all devices
    whole: set[Group] = set()  # what maps take or give without one
    for node, choice in choices.items():
        pairs = [(one.layout in ("broadcast", "static"), group) for one, group in groups.with_groups(choice)]
        whole.update(group for is_whole, group in pairs if is_whole and group is not None)
        if not (choice.blocked or choice.by_rows):
            arrays[node] = {group for is_whole, group in pairs if not is_whole}
    over_all = {node for node in arrays if choices[node].is_global}
    sites = {root: {cast("ast.expr", key[1]) for key in groups.keys_of(root)} for root in stacked}
    ops: dict[Group, list[Op]] = {}
    for op in groups.it.operations.ops.values():
        ops.setdefault(op.group.find(), []).append(op)
    fitting = {root for root in stacked if sites[root] <= {*arrays} and _fits(groups, root, ops, guarded)}
    fitting = {root for root in fitting if whole.isdisjoint(groups.family_of(root))}
    while True:
        joining = {site for site, found in arrays.items() if site in over_all or fitting.issuperset(found)}
        kept = {root for root in fitting if sites[root] <= joining and _is_whole(groups, root, stacked, fitting)}
        if kept == fitting:
            return _reached(sites, fitting, over_all)
        fitting = kept


def marked(groups: Groups, choice: SiteChoice, over_all: Collection[Group]) -> SiteChoice:
    """A site with those of its arrays that lie over all processes."""
    leaves = iter([_marked(one, group, over_all) for one, group in groups.with_groups(choice)])
    arguments = [of_parts([next(leaves) for _ in one.parts]) if one.parts else next(leaves) for one in choice.arguments]
    return replace(choice, arguments=tuple(arguments), outputs=tuple(leaves))


def _marked(choice: Choice, root: Group | None, over_all: Collection[Group]) -> Choice:
    if root is None:
        return choice
    own = frozenset(name for name, _ in choice.fields if root.fields[name].find() in over_all)
    return replace(choice, aligned=choice.layout == "stacked" and root in over_all, aligned_fields=own)


def _fits(groups: Groups, root: Group, ops: Mapping[Group, Sequence[Op]], guarded: bool) -> bool:
    """Whether nothing but mapped functions looks at a group, but for what makes it and takes one slice of it."""
    family = groups.family_of(root)
    given = [key for key in groups.keys_of(root) if key[0] == "argument"]
    if any(one.blockers for one in family) or not groups.on_host.isdisjoint(family):
        return False
    if any(("plain", *key[1:]) in groups.it.variables for key in given):
        return False
    firsts = (op for one in family for op in ops.get(one, ()) if op.kind == "first")
    return groups.kinds_of(root) <= ALIGNED and (guarded or all(op.fetched or op.form == "fetched" for op in firsts))


def _is_whole(groups: Groups, root: Group, stacked: Collection[Group], fitting: Collection[Group]) -> bool:
    """Whether the fields of stacked objects, and the objects that stacked fields are of, fit as well."""
    owners = [one for one in groups.owners.get(root, ()) if one in stacked]
    return all(one in fitting for one in (*owners, *(group.find() for group in root.fields.values())))


def _reached(
    sites: Mapping[Group, Collection[ast.expr]], fitting: Collection[Group], over_all: Collection[ast.expr]
) -> set[Group]:
    """The groups that share sites with global arrays, at once or by way of others."""
    found, reached = set[Group](), {*over_all}
    while more := {root for root in fitting if root not in found and not reached.isdisjoint(sites[root])}:
        found |= more
        reached = reached.union(*(sites[root] for root in more))
    return found
