"""What a value does when it is called, as far as reading a body has seen it come about."""

from __future__ import annotations

from jaxmigrate.flow.variance.frames import Frame
from jaxmigrate.flow.variance.lattice import AbstractValue, Callee, Level
from jaxmigrate.program.values import Function
from jaxmigrate.records import record


@record
class Closure(Callee):
    """A function of the project with the frame that it was made in, None where that was outside of what is read.

    `defaults` are the values of its parameters' defaults at the time it was made; `receiver` is what it is bound to.
    """

    function: Function
    frame: Frame | None = None
    defaults: tuple[tuple[str, AbstractValue], ...] | None = None
    receiver: AbstractValue | None = None


@record
class Bound(Callee):
    """A partial: `callee` with some arguments given."""

    callee: AbstractValue
    given: tuple[AbstractValue, ...]
    named: tuple[tuple[str, AbstractValue], ...]


@record
class Transformed(Callee):
    """`callee` under a transformation of JAX, with the options given to that."""

    name: str
    callee: AbstractValue
    options: tuple[tuple[str, AbstractValue], ...]
    given: tuple[AbstractValue, ...] = ()


@record
class Method(Callee):
    """An attribute of a value whose class is not known."""

    receiver: AbstractValue
    name: str


@record
class Pure(Callee):
    """A function of its arguments and of what it holds, which is at `level`.

    `hidden`: it may call the project's. `reduces`: it may reduce what it is given.
    """

    level: Level
    hidden: bool = False
    reduces: bool = False
