"""The layouts of a program: it is followed, and solved for each way to lend arrays to code that maps them.

A helper that several trainers give their states to, and that maps them, makes one group of all of these: one state that
must stay stacked would keep every other so. The helper only reads them, so that it may be lent stacked arrays instead:
`evaluate(_stack(state))`. That costs a copy, and is done only where owners would otherwise stay stacked.
"""

from __future__ import annotations

import ast
import os
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast

from jaxmigrate.flow.layout import buffers, parted_results, read_only_copies, several_devices
from jaxmigrate.flow.layout.causes import FAILED, Stacked
from jaxmigrate.flow.layout.choices import Layouts, all_stacked
from jaxmigrate.flow.layout.drawn_rows import drawn
from jaxmigrate.flow.layout.engine import TRANSFERS, follow
from jaxmigrate.flow.layout.grades import graded
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.interpreter import HostCode, Interpreter
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.model import Devices, Loan
from jaxmigrate.flow.layout.presuming import presumed
from jaxmigrate.flow.layout.solution import Solution
from jaxmigrate.flow.layout.solve import Setup
from jaxmigrate.flow.layout.values import Group, Groups
from jaxmigrate.program.modules import Module
from jaxmigrate.program.observed import Observed
from jaxmigrate.program.trust import Trust

MOST_HALVINGS = 2  # of what is presumed where some of it does harm
LARGE = 10_000  # bodies interpreted: a program that is not followed again and again
MOST_PARTED = 4  # dictionaries of results that are told apart one by one, where all of them together do harm
MOST_ROUNDS = 3  # in each of which more is presumed of where arrays come from
TOO_LARGE = Stacked.NOT_FOLLOWED.reason(
    "the program is too large to be followed at once; run fix on one entry point and the files that it imports"
)


def layouts(code: HostCode, setup: Setup, trust: Trust) -> Layouts:
    """Follows stacked arrays through host code; what is trusted counts where a proof is missing."""

    def found(trust: Trust) -> tuple[Layouts, bool]:
        apart = setup.lists is not None and setup.lists.are_own
        alone = setup.alone and (apart or trust.likely)
        own = replace(setup, processes=False, guarded=False, several=False) if alone else setup
        lists = setup.lists if not own.several and (trust.likely or setup.certain) else None
        own = replace(own, own=True, some=lists) if lists is not None else own
        decided, interpreter = followed(code, own, trust)
        if interpreter is not None and interpreter.left_out:
            whole, every = followed(replace(code, every_branch=True), own, trust)
            if whole.is_at_least(decided):  # what branches that no call takes do with the arrays is changed as well
                decided, interpreter = whole, every
            elif every is not None:
                decided.untaken = _taking_apart(interpreter.left_out, every)
        assumed = (alone and not apart) or (lists is not None and not lists.is_certain)
        return decided, assumed or (interpreter is not None and interpreter.leans)

    def followed(code: HostCode, setup: Setup, trust: Trust) -> tuple[Layouts, Interpreter | None]:
        decided, interpreter, trust = _with_draws(code, setup, trust)
        if interpreter is None:
            return decided, None
        known = _Known(decided, interpreter, trust)
        if trust.likely:
            for _ in range(MOST_ROUNDS):
                before = known
                known = _presuming(code, setup, known, presumed(known.interpreter, known.layouts), MOST_HALVINGS)
                if known is before:
                    break
            more = presumed(known.interpreter, known.layouts, flowing=True)
            known = _presuming(code, setup, known, more, 0)
        known = _parting(code, setup, known)
        return known.layouts, known.interpreter

    try:
        return graded(found, trust)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not keep the rest of a project from its rewrite
        if os.environ.get("JAXMIGRATE_DEBUG"):
            traceback.print_exc()
        what = " ".join(f"{type(error).__name__}: {error}".split())
        return all_stacked(
            code.sites,
            Stacked.NOT_FOLLOWED.reason(f"{FAILED} ({what}); please report it", f"{FAILED}; please report it"),
        )


def _taking_apart(branches: Mapping[ast.stmt, Module], every: Interpreter) -> dict[ast.stmt, Module]:
    """Those of some branches that take arrays apart, or make them, as the interpreter found that follows them."""
    nodes = [op.node for op in every.operations.ops.values()]
    found = {}
    for first, module in branches.items():
        parent = module.table.parents[first]
        assert isinstance(parent, ast.If)
        inside = {n for s in (parent.body if first in parent.body else parent.orelse) for n in ast.walk(s)}
        if not inside.isdisjoint(nodes):
            found[first] = module
    return found


class _Known(NamedTuple):
    """The layouts of a program, what followed it, and what it was trusted with."""

    layouts: Layouts
    interpreter: Interpreter
    trust: Trust


def _presuming(code: HostCode, setup: Setup, known: _Known, more: Observed, halvings: int) -> _Known:
    """The same with more presumed, where that costs no array its layout; else with what of it costs none."""
    wider = known.trust.presuming(more)
    if wider.presumed == known.trust.presumed:
        return known
    layouts, interpreter = _followed(code, setup, wider)
    if interpreter is not None and layouts.is_at_least(known.layouts):
        return _Known(layouts, interpreter, wider)
    if interpreter is None or not halvings or interpreter.bodies.runs > LARGE:
        return known
    for half in more.halves():
        known = _presuming(code, setup, known, half, halvings - 1)
    return known


def _parting(code: HostCode, setup: Setup, known: _Known) -> _Known:
    """The same with some dictionaries of results told apart, where that costs no array its layout."""
    unlike = parted_results.unlike(known.interpreter, known.layouts)
    ways = [unlike] if len(unlike) < 2 else [unlike, *([one] for one in unlike[:MOST_PARTED])]
    for way in ways if unlike and known.interpreter.bodies.runs <= LARGE else ():
        code = replace(code, parted=code.parted.union(way))
        layouts, interpreter = _followed(code, setup, known.trust)
        if interpreter is not None and layouts.is_at_least(known.layouts) and parted_results.gain(layouts, way):
            known = _Known(layouts, interpreter, known.trust)
            if way is unlike:
                break
        else:
            code = replace(code, parted=code.parted.difference(way))
    return known


def _followed(code: HostCode, setup: Setup, trust: Trust) -> tuple[Layouts, Interpreter | None]:
    """The layouts of a program, and what followed it; none where it is too large."""
    interpreter = _interpreted(code, setup, trust, Devices())
    if interpreter is None:
        return all_stacked(code.sites, TOO_LARGE), None
    ways = several_devices.fewer(interpreter, processes=setup.processes)
    others = [_on_fewer(code, setup, trust, way) for way in ways]
    for other in others:
        if other is not None:
            several_devices.keep_what_both_run(interpreter, other[0])
    found = _solved(interpreter, setup)
    for other in others:
        if other is None or not several_devices.agree(interpreter, found, *other):
            plain = _interpreted(code, setup, trust, None)
            return (_solved(plain, setup), plain) if plain is not None else (all_stacked(code.sites, TOO_LARGE), None)
    return found, interpreter


def _on_fewer(code: HostCode, setup: Setup, trust: Trust, way: Devices) -> tuple[Interpreter, Layouts] | None:
    """What followed a program as it runs on fewer devices, and the layouts there, without what is presumed: once."""
    leans = trust.likely, id(trust.declarations), id(trust.observed)
    key = (leans, code.every_branch, code.parted, setup.processes, id(setup.some), way.local, way.every, way.roots)
    if key not in code.on_fewer:
        interpreter = _interpreted(code, setup, trust.presuming_nothing(), way)
        code.on_fewer[key] = (interpreter, _solved(interpreter, setup)) if interpreter is not None else None
    return cast("tuple[Interpreter, Layouts] | None", code.on_fewer[key])


def _solved(interpreter: Interpreter, setup: Setup) -> Layouts:
    return _decided(interpreter, partial(Solution, interpreter, setup))


def _interpreted(code: HostCode, setup: Setup, trust: Trust, devices: Devices | None) -> Interpreter | None:
    """What followed a program as it runs on some devices, or, for None, on any; None where it is too large."""
    interpreter = Interpreter(TRANSFERS, code, Idioms(code.resolver, trust, some=setup.some))
    interpreter.devices = devices
    interpreter.lending.several = setup.processes or isinstance(setup.some, ListedDevices)
    return interpreter if follow(interpreter) else None


def _with_draws(code: HostCode, setup: Setup, trust: Trust) -> tuple[Layouts, Interpreter | None, Trust]:
    """The same with what is drawn for all devices, where no array loses its layout for it."""
    decided, interpreter = _followed(code, setup, trust)
    rows = drawn(interpreter, decided) if interpreter is not None else None
    if rows:
        wider = trust.presuming(rows)
        again, other = _followed(code, setup, wider)
        if other is not None and again.is_at_least(decided):
            return again, other, wider
    return decided, interpreter, trust


def _decided(it: Interpreter, solve: Callable[[], Solution]) -> Layouts:
    """The layouts with as few readers apart from their owners as the owners need."""
    undecided = read_only_copies.settle(it)
    buffers.block_views(it)
    before, ops = Groups(_groups(it)), dict(it.operations.ops)
    readers = {loan: loan.lent.find() for loan in undecided}

    def solved(apart: Collection[Group]) -> Solution:
        before.restore()
        it.operations.ops.clear()
        it.operations.ops.update(ops)
        for loan in undecided:
            if readers[loan] in apart:
                read_only_copies.part(it, loan)
            else:
                read_only_copies.close(loan)
        return solve()

    def freed(apart: Collection[Group]) -> set[Loan]:
        """The loans whose arrays are global where some readers are apart."""
        solver = solved(apart)
        return {loan for loan in undecided if solver.is_global(loan.owner)}

    lost = freed(set(readers.values())) - freed(()) if undecided else set[Loan]()
    apart = dict.fromkeys(readers[loan] for loan in undecided if loan in lost)
    for reader in list(apart):  # some of these do no harm to those that they share an owner with
        del apart[reader]
        if not lost <= freed(apart):
            apart[reader] = None
    return solved(apart).solution()


def _groups(it: Interpreter) -> list[Group]:
    return [
        *it.groups.values(),
        *(op.group for op in it.operations.ops.values()),
        *(loan.owner for loan in it.lending.loans.values()),
    ]
