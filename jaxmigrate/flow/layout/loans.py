"""Arrays that are lent to code which only reads them, and that it may be given stacked although they are not.

A training state that is replicated by all that computes with it is often handed, once, to a function that logs how
large its parameters are, or that other code calls with arrays of its own. That keeps the reader's arrays stacked, not
the state's: `log(state.params)` becomes `log(_stack(state.params))`. What nothing speaks against is no loan, but one
group with what was lent.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxmigrate.flow.layout import objects
from jaxmigrate.flow.layout.state import Op
from jaxmigrate.flow.layout.values import Abstract, Cell, Nothing, Ref
from jaxmigrate.program.modules import Module

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.interpreter import Frame, Interpreter


@dataclass(frozen=True, slots=True, eq=False)
class Loan:
    """What the expression `place` lends: the arrays of `owner`, to a reader for which they are those of `lent`."""

    place: ast.expr
    module: Module
    owner: Cell
    lent: Cell

    @property
    def is_open(self) -> bool:
        """Whether owner and reader may differ."""
        return self.owner.find() is not self.lent.find()


def lend(it: Interpreter, value: Abstract, place: ast.expr | None, frame: Frame) -> Abstract:
    """The value of an expression as a reader gets it; itself where the expression's text cannot change."""
    on_device = frame.function is not None and frame.function.node in it.device
    if not isinstance(value, Ref) or place is None or not _is_name(place):
        return value
    if on_device or not it.editable(frame.module):
        return value
    cell = it.cell("lent", place)
    known = it.loans.get(place)
    if known is None:
        it.loans[place] = Loan(place, frame.module, value.cell, cell)
    else:
        it.changed |= known.owner.unify(value.cell)
    return Ref(cell, value.shape, value.leaf)


def note(it: Interpreter, place: ast.expr, value: Abstract) -> None:
    """Takes back a loan of an expression that now and then is something else than stacked arrays."""
    if place in it.loans and not isinstance(value, Ref | Nothing):
        it.unlent.add(place)


def _is_name(node: ast.expr) -> bool:
    """Whether an expression is a name, or fields of one: it means the same twice."""
    while isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        node = node.value
    return isinstance(node, ast.Name)


def settle(it: Interpreter) -> None:
    """Decides, when all is known, which readers get stacked arrays of their own; the others share their owner's."""
    loans = it.loans.values()
    while any(_close(loan) for loan in loans if loan.owner.find().pins or loan.place in it.unlent):
        pass
    on_host = {cell.find() for cell in (*it.on_host, *(op.cell for op in it.ops.values() if op.is_numpys))}
    used = {cell.find() for key, cell in it.cells.items() if key[0] in ("argument", "output")}
    given = {cell.find() for key, cell in it.cells.items() if key[0] == "argument"}
    owners = {field.find(): root for root in given for field in root.fields.values()}
    for loan in [one for one in loans if one.is_open]:
        owner, lent = loan.owner.find(), loan.lent.find()
        stacked = bool(lent.pins) or any(field.find().pins for field in lent.fields.values())
        whole = owners.get(owner, owner)
        fits = lent not in used and whole in given and on_host.isdisjoint({owner, whole})
        if stacked and fits and not _is_in_each_round(loan) and not _may_be_static(it, loan.place):
            it.ops[loan.place] = Op("stack", loan.module, loan.place, loan.place, loan.owner)
        else:
            _close(loan)


def _may_be_static(it: Interpreter, place: ast.expr) -> bool:
    """Whether an expression may be a field that is a part of its object's type, and no array."""
    return isinstance(place, ast.Attribute) and objects.may_be_static(it, place.attr)


def _is_in_each_round(loan: Loan) -> bool:
    """Whether a loop makes a loan each time that it comes round, which would cost more than it saves."""
    parents = loan.module.table.parents
    above = parents.get(loan.place)
    while above is not None and not isinstance(above, ast.FunctionDef | ast.Lambda | ast.If | ast.IfExp):
        if isinstance(above, ast.For | ast.AsyncFor | ast.While | ast.comprehension):
            return True
        above = parents.get(above)
    return False


def _close(loan: Loan) -> bool:
    return loan.owner.unify(loan.lent)
