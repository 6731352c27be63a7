"""Trees of which some leaves are kept, put elsewhere or put together again, as Equinox does with its models.

Which leaves are chosen follows from types, from constants and from what a function says of them while JAX traces: on
all devices alike, where that function looks at nothing of the host's.
"""
# ruff: noqa: ARG001 - handlers of one table take the same arguments

from __future__ import annotations

import ast

from jaxmigrate.flow.variance import escaping_callbacks
from jaxmigrate.flow.variance.frames import Arguments, Frame, fresh
from jaxmigrate.flow.variance.lattice import (
    EQUAL,
    AbstractValue,
    certainly,
    leaves_of,
    mapped,
    replace,
    tuple_of,
    union,
    unsure,
    whole,
)
from jaxmigrate.flow.variance.run import Run, at_least
from jaxmigrate.program.values import External, Member, Parameter, Unknown


def kept(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`eqx.filter(tree, spec)`: a tree with None, or what is told, for the leaves that are not kept."""
    return _some(run, arguments, arguments.find(3, "replace"), node, frame)


def parted(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`eqx.partition(tree, spec)`: the tree with the leaves that are kept, and the tree with all others."""
    made = _some(run, arguments, arguments.find(2, "replace"), node, frame)
    return tuple_of([made, made])


def combined(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`eqx.combine(one, other)`: of each leaf the first that is not None."""
    escaping_callbacks.run_all(run, arguments.all())
    if arguments.rest is not None or any(one.host for one in arguments.all()):
        return unsure(union(arguments.all()))
    return fresh(certainly(union(map(whole, arguments.given))), node, arguments)


def put(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`eqx.tree_at(where, tree, new)`: the tree with others for the leaves, or whole parts, that are asked for."""
    escaping_callbacks.run_all(run, arguments.all())
    tree, change = arguments.find(1, "pytree") or EQUAL, arguments.find(3, "replace_fn")
    new = arguments.find(2, "replace")
    place = run.apply(arguments.find(0, "where") or EQUAL, Arguments((whole(tree),)), node, frame)
    if change is not None:
        new = run.apply(change, Arguments((whole(tree),)), node, frame)
    if arguments.rest is not None or any(one.host for one in (place, *arguments.all())):
        return unsure(union(arguments.all()))
    made = whole(tree) if new is None else _beside(whole(tree), new)
    return fresh(replace(made, callee=None, static=None), node, arguments)


def _some(
    run: Run, arguments: Arguments, new: AbstractValue | None, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """The leaves of a tree that are asked for, and others in the place of the rest."""
    tree, spec = arguments.find(0, "pytree") or EQUAL, arguments.find(1, "filter_spec") or EQUAL
    escaping_callbacks.run_all(run, arguments.all())
    leaf = Arguments((replace(whole(tree), kind="array", places=frozenset()),))
    said = [run.apply(one, leaf, node, frame) for one in (spec, *leaves_of(spec)) if _may_be_function(run, one)]
    if arguments.rest is not None or any(one.host for one in (*arguments.all(), *said)):
        return unsure(union([*arguments.all(), *said]))
    made = tree if new is None else _beside(tree, new)
    return fresh(replace(made, callee=None, static=None), node, arguments)


def _may_be_function(run: Run, value: AbstractValue) -> bool:
    """Whether what says which leaves are kept may be a function, rather than a tree of answers."""
    return run.known_callee(value) is not None or isinstance(value.static, External | Member | Parameter | Unknown)


def _beside(tree: AbstractValue, new: AbstractValue) -> AbstractValue:
    """A tree any leaf of which may be another value."""
    other = whole(new)

    def either(one: AbstractValue) -> AbstractValue:
        found = union([one, other])
        return replace(
            at_least(one, other.level),
            gradient=found.gradient,
            updated=found.updated,
            reduced=one.reduced and other.reduced,
            marks=found.marks,
        )

    return mapped(tree, either)
