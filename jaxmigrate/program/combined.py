"""Values made of others: partials, what a class binds, the public name of a private one, several as one."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.program.functions import is_classmethod, is_static
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    Class,
    External,
    Function,
    Instance,
    Partial,
    Value,
    Values,
)
from jaxmigrate.records import replace

BINDING = named("jit") | {"jax.checkpoint", "jax.remat"}  # of a method, they make what binds its object
PARTIALS = named("partial", "partial-method")
TRANSPARENT_DECORATORS = named("same-function", "named-call")
MOST_VALUES = 16
HOMES = (
    ("jax._src.api.", "jax."),
    ("jax.api.", "jax."),
    ("jax._src.pmap.", "jax."),
    ("jax._src.lax.parallel.", "jax.lax."),
    ("jax.lax.parallel.", "jax.lax."),
    ("jax._src.tree_util.", "jax.tree_util."),
    ("jax._src.random.", "jax.random."),
    ("typing_extensions.", "typing."),
)


def canonical(name: str) -> str:
    """The public name of what is also reachable by a private one, or by a backport."""
    for private, public in HOMES:
        if name.startswith(private):
            return public + name[len(private) :]
    return name


def partial_of(callee: Value, arguments: tuple[Argument, ...], node: ast.expr, module: Module) -> Partial:
    """A partial; one of a partial is one partial of the function behind both, as it is at run time."""
    if isinstance(callee, Partial):
        return Partial(callee.callee, (*callee.arguments, *arguments), node, module)
    return Partial(callee, arguments, node, module)


def gives_function(arguments: tuple[Argument, ...]) -> bool:
    """Whether some arguments of a transformation hold, or may hold, the function to transform."""
    return any(one.keyword in (None, "*", "fun", "f") for one in arguments)


def is_transparent(decorator: Value) -> bool:
    """Whether a decorator hands back the function it is given, as far as mapping is concerned."""
    if isinstance(decorator, Application):
        decorator = decorator.callee
    return isinstance(decorator, External) and decorator.name in TRANSPARENT_DECORATORS


def bind(value: Value, receiver: Instance | Class) -> Value:
    """A class attribute as seen through an instance, or through the class; what `jit` makes of a method binds, too."""
    if isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in BINDING:
        given = tuple(_bound(one, receiver) for one in value.arguments)
        return value if given == value.arguments else replace(value, arguments=given)
    if not isinstance(value, Function) or is_static(value.node):
        return value
    if isinstance(receiver, Class) and not is_classmethod(value.node):
        return value
    return Function(value.module, value.node, receiver)


def _bound(given: Argument, receiver: Instance | Class) -> Argument:
    """The argument of a decorator's, which is the method."""
    if given.keyword is not None or given.value is None:
        return given
    return replace(given, value=bind(given.value, receiver))


def unbound(function: Function, decorator: ast.expr) -> Function:
    """A method as its decorator was given it: the positions that `static_argnums` names count its object."""
    if function.receiver is None or isinstance(function.node, ast.Lambda):
        return function
    return Function(function.module, function.node) if decorator in function.node.decorator_list else function


def distinct(values: Iterable[Value]) -> Values:
    """Without repetition, UNKNOWN last, and cut to UNKNOWN where there are too many to be of use."""
    values = tuple(values)
    if len(values) == 1:
        return values  # as most are, and telling them apart would mean to hash them
    found = dict.fromkeys(values)
    unknown = found.pop(UNKNOWN, ...) is None
    if len(found) > MOST_VALUES:
        return (UNKNOWN,)
    return (*found, UNKNOWN) if unknown or not found else tuple(found)
