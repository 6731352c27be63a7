"""What an expression can stand for, as far as the source says.

Values are symbolic: an `Application` is "this called with those", not its result, so that the rooms above can ask what
a `jax.pmap(f, axis_name="i")` maps without anything having been run. `UNKNOWN` among the values of an expression says
that there may be others.
"""

from __future__ import annotations

import ast
from typing import TypeAlias

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode, positional_names
from jaxmigrate.records import record


@record
class External:
    """A name outside the project, by its full dotted name: `jax.lax.psum`."""

    name: str


@record
class ModuleValue:
    """A module of the project."""

    module: Module


@record
class Function:
    """A def or lambda of the project without its decorators; `receiver` is what a bound method is bound to."""

    module: Module
    node: FunctionNode
    receiver: Value | None = None

    def passed_names(self) -> list[str]:
        """The names of the positional parameters that a call passes, without that of the receiver."""
        return positional_names(self.node.args)[self.receiver is not None :]


@record
class Class:
    """A class of the project."""

    module: Module
    node: ast.ClassDef


@record
class Instance:
    """An object of a class of the project; `call` is the constructor call where it is in sight."""

    cls: Class
    call: Application | None = None


@record
class Constant:
    """A literal: str, int, float, bool, None, bytes, or a tuple of such."""

    value: object


@record
class Parameter:
    """The value that a caller passes for a parameter."""

    module: Module
    function: FunctionNode
    name: str


@record
class Argument:
    """One argument of a call: by position (`keyword` None), by keyword, or starred (`keyword` "*" or "**").

    Either `expression` with the module that holds it, or a `value` already known (a decorated function).
    """

    keyword: str | None
    expression: ast.expr | None
    module: Module
    value: Value | None = None


@record
class Application:
    """`callee` called with `arguments`; `node` is the call, or the decorator that makes it."""

    callee: Value
    arguments: tuple[Argument, ...]
    node: ast.expr
    module: Module


@record
class Partial:
    """`functools.partial(callee, *arguments)`."""

    callee: Value
    arguments: tuple[Argument, ...]
    node: ast.expr
    module: Module

    @property
    def is_by_name(self) -> bool:
        """Whether it binds by keyword alone, so that the positions of arguments are those of the callee."""
        return all(argument.keyword not in (None, "*", "**") for argument in self.arguments)


@record
class Member:
    """An attribute of something whose class is not in sight: `model.apply`."""

    owner: Value
    name: str


@record
class Unknown:
    """Anything."""


UNKNOWN = Unknown()

Value: TypeAlias = (
    External
    | ModuleValue
    | Function
    | Class
    | Instance
    | Constant
    | Parameter
    | Application
    | Partial
    | Member
    | Unknown
)
Values: TypeAlias = tuple[Value, ...]
