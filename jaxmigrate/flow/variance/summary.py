"""What reading a function's body under a map found: the value that it returns, and the events that rules ask about."""

from __future__ import annotations

import ast

from jaxmigrate.flow.operations import Operation
from jaxmigrate.flow.variance.lattice import EQUAL, AbstractValue
from jaxmigrate.program.modules import Module
from jaxmigrate.records import made, record


@record
class Divergence:
    """A branch on a varying predicate whose ways differ in their collectives."""

    module: Module
    call: ast.Call
    operation: Operation


@record
class Reduction:
    """A reduction over the whole mapped axis: psum, pmean, pmax or pmin by its full name, and what it reduces."""

    module: Module
    node: ast.expr
    name: str
    operand: AbstractValue


@record
class Mismatch:
    """A division of what all devices have together by what one of them has: by the length of its block, or a sum."""

    module: Module
    node: ast.expr
    by_length: bool


@record
class Draw:
    """Random bits drawn by a function of `jax.random`, or by a network's `rngs`, and the key that they come from.

    `common`: they may well be the same on all devices, as one number for the batch is, or an order of rows.
    """

    module: Module
    node: ast.expr
    name: str
    key: AbstractValue
    common: bool = False


@record(frozen=False)
class Reading:
    """What reading a mapped function's body found.

    `updates` apply gradients that nothing has reduced; `statistics` are calls of networks that give back statistics
    of their batch; `carries` are values that loops start from, equal on all devices by their type, and make
    different; `changed`: an optimizer has changed a network in place by such gradients; `exchanged`: devices send
    each other such gradients, as a reduction by hand does; `applied` has the marks of sums of means that change
    parameters, `differentiated` of those that are a loss, `scaled` of those that something divides, or may, and
    `misdivided` of those that a batch's size divides; `mismatched` are divisions of what all devices have together
    by what one has, `overdivided` those of means over the devices by their number; `enlarged` has the marks of
    those that are not too small after all; `scattered` are sums that are divided among the devices; `undersized`
    are means of sums that are divided by the count of all devices; `cut` are slices by the index of the device of
    unreduced gradients; `norms` has the places of norms of unreduced gradients by their marks, `decided` what one
    device alone decides about a step that all take, `variances` those of variances of what one device has,
    `spreads` the means of these that something is divided by, `halves` the places of statistics of which another
    part is all devices', `joined` the marks of those that are reduced after all, `handed` the means that calls of
    one function are given in another; `entered` the functions that were read; `assumed`: some of it was found
    without looking at the rest of the program.
    """

    returned: AbstractValue = EQUAL
    reductions: list[Reduction] = made(factory=list)
    updates: list[tuple[Module, ast.expr]] = made(factory=list)
    divergences: list[Divergence] = made(factory=list)
    draws: list[Draw] = made(factory=list)
    statistics: list[tuple[Module, ast.expr]] = made(factory=list)
    carries: list[tuple[Module, ast.expr]] = made(factory=list)
    changed: bool = False
    exchanged: bool = False
    applied: set[str] = made(factory=set)
    scaled: set[str] = made(factory=set)
    differentiated: set[str] = made(factory=set)
    misdivided: set[str] = made(factory=set)
    mismatched: list[Mismatch] = made(factory=list)
    overdivided: list[tuple[Module, ast.expr, str]] = made(factory=list)
    enlarged: set[str] = made(factory=set)
    scattered: list[Reduction] = made(factory=list)
    undersized: list[tuple[Module, ast.expr]] = made(factory=list)
    cut: list[tuple[Module, ast.expr]] = made(factory=list)
    norms: dict[str, tuple[Module, ast.expr]] = made(factory=dict)
    decided: list[tuple[Module, ast.expr, str]] = made(factory=list)
    variances: dict[str, tuple[Module, ast.expr]] = made(factory=dict)
    spreads: set[str] = made(factory=set)
    halves: dict[str, tuple[Module, ast.expr]] = made(factory=dict)
    joined: set[str] = made(factory=set)
    handed: dict[tuple[ast.AST, str, int], list[tuple[AbstractValue, Module, ast.expr]]] = made(factory=dict)
    entered: set[ast.AST] = made(factory=set)
    assumed: bool = False
