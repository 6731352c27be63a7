"""Functions of libraries that are told a mapped axis, over which they average gradients or sum up statistics.

Brax's gradient functions and running statistics, of which programs make their training steps, are such: given None
for the axis, they leave each device its own. Source: brax/training/gradients.py, acme/running_statistics.py.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.variance import collectives, means, methods, transforms
from jaxmigrate.flow.variance.callees import Transformed
from jaxmigrate.flow.variance.frames import Arguments, Frame, fresh
from jaxmigrate.flow.variance.lattice import (
    EQUAL,
    AbstractValue,
    Fields,
    certainly,
    part_at,
    replace,
    tuple_of,
    union,
    unsure,
    whole,
)
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.library import named
from jaxmigrate.program.values import Constant

GRADIENTS = named("averages-gradient")
UPDATES = named("averages-update")
TOLD = "pmap_axis_name"
STATE = "optimizer_state"
VALUE_AND_GRAD = "jax.value_and_grad"


def call(
    run: Run, made: Transformed, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue:
    """Calls what is made of a loss: it gives the loss and the gradient; or the loss, parameters and a state."""
    optimizer, axis, has_aux = _options(made)
    if axis is None or arguments.rest is not None or not arguments.given:
        return unsure(union([made.callee, *arguments.all()]))
    options = (("has_aux", has_aux),) if has_aux is not None else ()
    named_ones = arguments.named if optimizer is None else Fields({})
    value, gradient = _parts(
        transforms.call(
            run,
            Transformed(VALUE_AND_GRAD, made.callee, options),
            Arguments(arguments.given, named_ones),
            node,
            frame,
        )
    )
    gradient = _reduced(run, "jax.lax.pmean", gradient, axis)
    if optimizer is None:
        return tuple_of([value, gradient])
    params, state = arguments.given[0], arguments.named.get(STATE, EQUAL)
    update, state = _parts(methods.call(run, optimizer, "update", Arguments((gradient, state)), node, frame))
    params = certainly(means.applied(union([params, update])))
    return fresh(tuple_of([value, params, state]), node, arguments)


def statistics(run: Run, arguments: Arguments, node: ast.Call | None, _frame: Frame | None) -> AbstractValue:
    """The state of statistics after a batch, of which all devices have the same where it is summed over their axis."""
    state, axis = arguments.find(0, "state"), arguments.named.get(TOLD)
    everything = union(arguments.all())
    if state is None or axis is None or arguments.rest is not None:
        return fresh(certainly(everything), node, arguments)
    others = [*arguments.given[1:], *(one for name, one in arguments.named.items() if name not in ("state", TOLD))]
    added = _reduced(run, "jax.lax.psum", replace(whole(union(others)), kind="tree"), axis)
    return fresh(certainly(union([state, added])), node, arguments)


def _options(made: Transformed) -> tuple[AbstractValue | None, AbstractValue | None, AbstractValue | None]:
    """The optimizer, if it takes one, the name of the axis, and whether the loss gives more than a loss."""
    names = ["optimizer", TOLD, "has_aux"] if made.name in UPDATES else [TOLD, "has_aux"]
    given = {**dict(zip(names, made.given, strict=False)), **dict(made.options)}
    optimizer = given.get("optimizer", EQUAL) if made.name in UPDATES else None
    return optimizer, given.get(TOLD), given.get("has_aux")


def _parts(pair: AbstractValue) -> tuple[AbstractValue, AbstractValue]:
    return part_at(pair, 0), part_at(pair, 1)


def _reduced(run: Run, name: str, value: AbstractValue, axis: AbstractValue) -> AbstractValue:
    """A value after a reduction over the axis that a function is told, which is none where that is None."""
    if axis.static == Constant(None):
        return value
    return collectives.call(run, name, Arguments((value, axis)), None, None)
