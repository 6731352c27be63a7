"""Functions whose code is not in sight, for rules: which of them cannot reduce what they are given.

Whatever reduces over a mapped axis has to know its name: by an argument, by what it was made with, or by a function
that it is given. What has none of these, and no name that speaks of devices or of a step of training, computes on its
own device.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from jaxmigrate.flow.variance.callees import Bound, Closure, Method, Transformed
from jaxmigrate.flow.variance.frames import Arguments, fresh
from jaxmigrate.flow.variance.lattice import (
    DATA,
    EQUAL,
    OPAQUE,
    PASSING,
    AbstractValue,
    Choice,
    Level,
    replace,
    union,
    unsure,
    whole,
)
from jaxmigrate.flow.variance.library import may_tell_devices
from jaxmigrate.flow.variance.run import REDUCING, Run
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import (
    Application,
    Argument,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Parameter,
    Partial,
    Value,
)

LOSSES = re.compile(
    r"loss|objective|criterion|energy|nll|elbo|cross_entropy|log_prob|likelihood|error|penalty", re.IGNORECASE
)
COMPUTING = re.compile(
    LOSSES.pattern
    + "|metric|accura|model|net(work)?$|apply|forward|predict|encode|decode|logits|schedule|score|classif",
    re.IGNORECASE,
)
ACTING = re.compile(
    "step|train|update|optim|distribut|parallel|device|shard|mesh|axis|axes|pmap|host|all_|cross_|global|world|sgd|learn",
    re.IGNORECASE,
)
FOLLOWED = starting("followed")
ANY_NAME = named("any-name")
DEEPEST = 4  # calls that an object was made by


def is_loss(run: Run, function: AbstractValue) -> bool:
    """Whether a function that is differentiated computes a loss on its own device, by its name."""
    name = _name(function)
    return run.mode.lenient and LOSSES.search(name) is not None and cannot_reduce(run, name, function, Arguments())


def cannot_reduce(run: Run, name: str, function: AbstractValue, arguments: Arguments) -> bool:
    """Whether what is called has nothing by which it could know an axis that is mapped."""
    if REDUCING.search(name) or ACTING.search(name) or run.reduces(name):
        return False
    values = [function, *arguments.all()]
    return not any(knows_axis(run, one) for one in values)


def is_plain(run: Run, name: str, arguments: Arguments) -> bool:
    """Whether a function of a library of which nothing is known computes on its own device, as most do."""
    if not run.mode.lenient or may_tell_devices(name) or name.startswith(FOLLOWED) or name in ANY_NAME:
        return False
    parts = name.split(".")
    if any(REDUCING.search(part) or ACTING.search(part) for part in parts) or parts[0] in own_names(run.resolver):
        return False
    functions = (Closure, Bound, Transformed, Choice)
    given = any(isinstance(run.known_callee(one), functions) for one in arguments.all())
    return not given and cannot_reduce(run, name.rpartition(".")[2], EQUAL, arguments)


@once
def own_names(resolver: Resolver) -> frozenset[str]:
    """The folders and files of a program, of which an import that is not followed may be one."""
    return frozenset(part.removesuffix(".py") for module in resolver.project.program for part in module.path.parts)


def may_be_any(run: Run, function: AbstractValue, arguments: Arguments) -> bool:
    """Whether what is called came as an argument, and may be any function, one that reduces among them."""
    static = function.static
    if static is None and OPAQUE in function.marks:
        return True  # what a function of a library made
    if not isinstance(static, Parameter):
        return False
    return COMPUTING.search(static.name) is None or not cannot_reduce(run, static.name, function, arguments)


def _name(function: AbstractValue) -> str:
    match function.callee, function.static:
        case Method(name=name), _:
            return name
        case _, (Parameter(name=name) | Member(name=name)):
            return name
        case _, External(name=name):
            return name.rpartition(".")[2] if not may_tell_devices(name) else ""
    return ""


def knows_axis(run: Run, value: AbstractValue) -> bool:
    """Whether a value is, or was made with, the name of a mapped axis, or a function that may know one."""
    if isinstance(value.callee, Bound | Transformed) or isinstance(value.static, Function | Partial):
        return True
    if value.static is not None and any(_names_axis(run, one) for one in _made_of(run, value.static, DEEPEST)):
        return True
    return any(knows_axis(run, one) for one in value.parts or ()) or any(
        knows_axis(run, one) for one in (value.fields or {}).values()
    )


def computed(run: Run, arguments: Arguments, node: ast.Call | None) -> AbstractValue:
    """What such a function of a library gives; one whose result nobody takes changes what it is given."""
    result = union(arguments.all())
    above = run.modules[-1].table.parents.get(node) if node is not None and run.modules else None
    for one in arguments.all() if isinstance(above, ast.Expr) else ():
        if one.places:
            run.change(one, unsure(result))
    return fresh(replace(result, marks=(result.marks - PASSING) | {OPAQUE}), node, arguments)


def perhaps_reduced(value: AbstractValue) -> AbstractValue:
    """A value as something may make of it that knows an axis."""
    return replace(whole(value), level=min(value.level, Level.MAY), gradient=False, marks=value.marks - {DATA})


def _names_axis(run: Run, value: Value) -> bool:
    match value:
        case Constant(value=str() as text):
            return text in run.axes
        case Constant(value=tuple() as texts):
            return any(text in run.axes for text in texts)
        case External(name=name):
            return REDUCING.search(name.rpartition(".")[2]) is not None
        case Function():
            return run.reduces(getattr(value.node, "name", ""))
    return False


def _made_of(run: Run, value: Value, depth: int) -> Iterator[Value]:
    """A value, and what it was made with."""
    yield value
    match value:
        case Application() | Partial():
            yield from _of_call(run, value.callee, value.arguments, depth)
        case Instance(call=Application() as call):
            yield from _of_call(run, call.callee, call.arguments, depth)
        case Member(owner=owner):
            yield from _made_of(run, owner, depth - 1) if depth else ()


def _of_call(run: Run, callee: Value, arguments: Iterable[Argument], depth: int) -> Iterator[Value]:
    for inner in (callee, *(one for given in arguments for one in run.resolver.argument_values(given))):
        yield from _made_of(run, inner, depth - 1) if depth else ()
