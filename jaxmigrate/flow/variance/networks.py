"""Networks of flax that are applied, for rules: what they reduce is reduced in the map that applies them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.receivers import methods
from jaxmigrate.flow.variance.callees import Closure
from jaxmigrate.flow.variance.frames import Arguments, Frame
from jaxmigrate.flow.variance.lattice import AbstractValue, Fields, Level
from jaxmigrate.flow.variance.run import DEEPEST, Run
from jaxmigrate.program.collectives import COMMUNICATING
from jaxmigrate.program.library import the
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Constant, External, Function, Instance

NETWORK = the("network")
WORDS = frozenset(name.rpartition(".")[2] for name in COMMUNICATING)
OF_APPLY = frozenset({"method", "rngs", "mutable", "capture_intermediates"})  # what `apply` takes for itself
STORED = "apply_fn"  # where training states keep the `apply` of their network


def applied(
    run: Run, receiver: AbstractValue, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> AbstractValue | None:
    """What a method of a network gives that is applied, if it has reduced all of it; its reductions are noted.

    Layers give what differs as much as the variables do, which are the first argument.
    """
    if not run.mode.lenient or name not in ("apply", STORED) or not arguments.given or arguments.rest is not None:
        return None
    found = [one for one in _networks(run, receiver, name) if _communicates(one, run.resolver)]
    if len(found) != 1 or len(run.active) > DEEPEST:
        return None
    called = _method(arguments)
    closures = list(methods(found[0], called, run.resolver)) if called else []
    if len(closures) != 1:
        return None
    variables = arguments.given[0]
    inner = Arguments(
        arguments.given[1:], Fields({key: one for key, one in arguments.named.items() if key not in OF_APPLY})
    )
    network = AbstractValue(variables.level, static=found[0], marks=variables.marks)
    before, count = run.variables, run.reductions - run.in_networks
    run.variables = max(run.variables, variables.level)
    if not run.applying:
        run.before_networks += run.work - run.after_networks
    run.applying += 1
    try:
        result = run.apply(AbstractValue(callee=Closure(closures[0], receiver=network)), inner, node, frame)
    finally:
        run.variables = before
        run.applying -= 1
        run.after_networks = run.work
        run.in_networks = run.reductions - count
    return result if result.reduced and result.level == Level.NO and not result.host else None


def _networks(run: Run, receiver: AbstractValue, name: str) -> Iterator[Instance]:
    """The networks that an object may be, or that the program stores the `apply` of in training states."""
    static = receiver.static
    if name == STORED:
        yield from stored(STORED, run.resolver)
    elif isinstance(static, Instance) and _is_network(static, run.resolver):
        yield static


def _is_network(made: Instance, resolver: Resolver) -> bool:
    return any(isinstance(base, External) and base.name == NETWORK for base in resolver.bases(made.cls))


def _communicates(network: Instance, resolver: Resolver) -> bool:
    """Whether a network may run collectives, by the text of its classes' modules."""
    return any(word in cls.module.text for cls in resolver.lineage(network.cls) for word in WORDS)


def _method(arguments: Arguments) -> str:
    """The name of the method that `apply` is told to run."""
    given = arguments.named.get("method")
    match given.static if given is not None else Constant("__call__"):
        case Constant(value=str() as name):
            return name
        case Function(node=ast.FunctionDef(name=name)):
            return name
    return ""


@once_each
def stored(keyword: str, resolver: Resolver) -> tuple[Instance, ...]:
    """The networks whose `apply` the calls of a program give under a keyword."""
    found: dict[Instance, None] = {}
    for module in resolver.project.program:
        for call in module.table.calls if f"{keyword}=" in module.text else ():
            for one in call.keywords:
                match one.value:
                    case ast.Attribute(value=owner, attr="apply") if one.arg == keyword:
                        made = resolver.value(owner, module)
                        if isinstance(made, Instance) and _is_network(made, resolver):
                            found[made] = None
    return tuple(found)
