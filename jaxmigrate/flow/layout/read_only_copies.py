"""Arrays that are lent to code which only reads them, and that it may be given stacked although they are not.

A training state that is replicated by all that computes with it is often handed, once, to a function that logs how
large its parameters are, or that other code calls with arrays of its own. That keeps the reader's arrays stacked, not
the state's: `log(state.params)` becomes `log(_stack(state.params))`. What nothing speaks against is no loan, but one
group with what was lent.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.flow.layout import objects
from jaxmigrate.flow.layout.causes import Reason, Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import OF_ARRAY, Kind
from jaxmigrate.flow.layout.model import Frame, Loan, Op, Reading
from jaxmigrate.flow.layout.values import Abstract, Blocker, Group, Nothing, Numpys, Obj, Ref
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import is_repeatable
from jaxmigrate.program.trust import Assumption


def lend_to(it: Interpreter, value: Abstract, place: ast.expr | None, when: Reading, frame: Frame) -> Abstract:
    """The value of an expression as a function of the project gets it that may do more than read it."""
    if when is Reading.LATER and place is not None:
        it.lending.read_later.add(place)
    return value if when is Reading.KEEPS else lend(it, value, place, frame)


def lend(it: Interpreter, value: Abstract, place: ast.expr | None, frame: Frame) -> Abstract:
    """The value of an expression as a reader gets it; itself where the expression's text cannot change."""
    on_device = frame.function is not None and frame.function.node in it.bodies.device
    if not isinstance(value, Ref) or place is None or not is_repeatable(place):
        return value
    if on_device or not it.editable(frame.module):
        return value
    if isinstance(place, ast.Attribute) and not isinstance(it.evaluate(place.value, frame), Nothing | Obj):
        it.lending.of_trees.add(place)
    group = it.joined_group("lent", place)
    known = it.lending.loans.get(place)
    if known is None:
        it.lending.loans[place] = Loan(place, frame.module, value.group, group)
    else:
        it.changed |= known.owner.unify(value.group)
    return value.part(value.shape, group=group, leaf=value.leaf)


def looked_at(
    it: Interpreter, value: Abstract, place: ast.AST | None, frame: Frame, *, exact: bool = False
) -> Abstract:
    """The value of an expression whose device axis code reads; it may be a stacked copy.

    Of a container nobody knows whether what is read of it is changed later, so that it is likely only; what is read of
    NumPy's arrays may be, and may need more than 32 bits. What is `exact` is the same wherever the array lies; all else
    is likely only, as a sum over the devices rounds otherwise on one of them.
    """
    if not isinstance(place, ast.expr):
        return value
    note(it, place, value)
    if not isinstance(value, Ref) or value.numpys is not Numpys.NO or it.lending.several:
        return value
    if not ((value.is_array and exact) or it.trust.likely):
        return value
    lent = lend(it, value, place, frame)
    if lent is value:
        return value
    is_short = exact and isinstance(frame.module.table.parents.get(place), ast.Subscript | ast.Attribute)
    it.lending.looked[place] = it.lending.looked.get(place, is_short) and value.is_array
    if not value.is_array:
        text = ast.unparse(place)
        says = f"what is read of `{text}` does not change it"
        it.lean([value], Assumption("likely", "readers", "", says, frame.module, place))
    elif not exact:
        says = f"what is computed of `{ast.unparse(place)}` is rounded alike wherever it lies"
        it.lean([value], Assumption("likely", "readers", "", says, frame.module, place))
    return lent


def keep_read(
    it: Interpreter,
    read: Iterable[tuple[Abstract, ast.AST | None]],
    reason: Reason,
    node: ast.AST,
    frame: Frame,
    *,
    exact: bool = False,
) -> None:
    """Keeps arrays stacked that code reads in a way of its own, or gives it stacked copies of them."""
    lent = [looked_at(it, value, place, frame, exact=exact) for value, place in read]
    it.block_all(lent, reason, node, frame.module)


def note(it: Interpreter, place: ast.expr, value: Abstract) -> None:
    """Takes back a loan of an expression that now and then is something else than stacked arrays."""
    if place in it.lending.loans and not isinstance(value, Ref | Nothing):
        it.lending.unlent.add(place)


def settle(it: Interpreter) -> list[Loan]:
    """Decides, when all is known, which readers get stacked arrays of their own; most others share their owner's.

    Gives those of which only the layouts of all arrays decide: their readers give them to mapped functions.
    """
    loans = it.lending.loans.values()
    while any(close(loan) for loan in loans if loan.place in it.lending.unlent or _is_kept(it, loan)):
        pass
    used = _mapped(it)
    costly = (
        loan
        for loan in loans
        if loan.place not in it.lending.looked and _is_in_each_round(loan) and used.isdisjoint(_parts(loan))
    )
    unfit = [*costly, *(loan for loan in loans if _may_be_static(it, loan.place))]
    unfit += _not_given(it)
    while unfit:
        for loan in unfit:
            close(loan)
        unfit = _not_given(it)
    used = _mapped(it)
    undecided: list[Loan] = []
    for loan in [one for one in loans if one.is_open]:
        parts = _parts(loan)
        if not used.isdisjoint(parts):
            undecided.append(loan)
        elif any(part.blockers for part in parts):
            _stack(it, loan)
        else:
            close(loan)
    return undecided


def _mapped(it: Interpreter) -> set[Group]:
    """What mapped functions take and give."""
    return {group.find() for key, group in it.groups.items() if key[0] in ("argument", "output")}


def _parts(loan: Loan) -> list[Group]:
    """What is lent, and its fields."""
    lent = loan.lent.find()
    return [lent, *(field.find() for field in lent.fields.values())]


def _is_kept(it: Interpreter, loan: Loan) -> bool:
    """Whether what is lent stays stacked anyway, or may have changed when it is read."""
    owner = loan.owner.find()
    fields = owner.fields.values() if loan.place in it.lending.read_later else ()
    return bool(owner.blockers) or any(field.find().blockers for field in fields)


def part(it: Interpreter, loan: Loan) -> None:
    """Gives a reader that maps what it is lent stacked arrays of its own, which stay so."""
    _stack(it, loan)
    loan.lent.block(
        Blocker(
            Stacked.MIXED.reason("is stacked in some of the functions that read it, but not in all"),
            loan.module,
            loan.place,
        )
    )


def _stack(it: Interpreter, loan: Loan) -> None:
    place, looked = loan.place, it.lending.looked
    kind: Kind = "read" if place in looked else "stack"
    form = OF_ARRAY if looked.get(place) else ""
    it.operations.ops[place] = Op(kind, loan.module, place, place, loan.owner, form)


def _not_given(it: Interpreter) -> list[Loan]:
    """The open loans of arrays that no mapped function takes, or that lie on the host."""
    on_host = {
        group.find()
        for group in (*it.lending.on_host, *(op.group for op in it.operations.ops.values() if op.is_numpys))
    }
    given = {group.find() for key, group in it.groups.items() if key[0] == "argument"}
    owners = {field.find(): root for root in given for field in root.fields.values()}
    found: list[Loan] = []
    for loan in [one for one in it.lending.loans.values() if one.is_open]:
        owner = loan.owner.find()
        whole = owners.get(owner, owner)
        if whole not in given or not on_host.isdisjoint({owner, whole}):
            found.append(loan)
    return found


def _may_be_static(it: Interpreter, place: ast.expr) -> bool:
    """Whether an expression may be a field that is a part of its object's type, and no array.

    What an object that is no tree holds, as a trainer its state, is what was assigned there.
    """
    return isinstance(place, ast.Attribute) and place in it.lending.of_trees and objects.may_be_static(it, place.attr)


def may_copy(call: ast.Call, module: Module) -> bool:
    """Whether a call has arguments that could be given as stacked copies, once and not in each round of a loop."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    held = [inner for one in given for inner in (one.elts if isinstance(one, ast.Tuple) else [one])]
    held = [inner for one in held for inner in (one.values if isinstance(one, ast.Dict) else [one])]
    return any(map(is_repeatable, held)) and not _is_in_loop(call, module)


def _is_in_each_round(loan: Loan) -> bool:
    """Whether a loop makes a loan each time that it comes round: too much for arrays that are only looked at."""
    return _is_in_loop(loan.place, loan.module)


def _is_in_loop(node: ast.AST, module: Module) -> bool:
    parents = module.table.parents
    above = parents.get(node)
    while above is not None and not isinstance(above, ast.FunctionDef | ast.Lambda | ast.If | ast.IfExp):
        if isinstance(above, ast.For | ast.AsyncFor | ast.While | ast.comprehension):
            return True
        above = parents.get(above)
    return False


def close(loan: Loan) -> bool:
    """Makes one group of what is lent and what the reader has; says whether they were two."""
    return loan.owner.unify(loan.lent)
