"""Classes of plain data, like dataclasses with slots, that cost a tenth of those to define and a third to make.

The linter starts anew for each commit, and a fifth of its start was making dataclasses, a twentieth importing what
makes them. Which of them are frozen, the type checker sees to; nothing is checked while the program runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, dataclass_transform, overload

_T = TypeVar("_T")
_ABSENT: Any = object()


class _Factory:
    """Makes the value of a field that is not given."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def made(*, factory: Callable[[], _T]) -> _T:
    """A field that is made anew for each record, where it is not given."""
    default: Any = _Factory(factory)
    return default  # type: ignore[no-any-return]  # as the type checker takes it


@overload
def record(cls: type[_T], /) -> type[_T]: ...


@overload
def record(*, eq: bool = True, order: bool = False, frozen: bool = True) -> Callable[[type[_T]], type[_T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(made,))
def record(cls: type[_T] | None = None, /, *, eq: bool = True, order: bool = False, frozen: bool = True) -> Any:
    """Gives a class a constructor, slots for its fields and, with `eq`, equality, and a hash if it is `frozen`.

    One with cached properties has no slots, but a dictionary to keep them in; `order` sorts records by their fields.
    """
    if cls is None:
        return lambda one: _made(one, eq, order, frozen)
    return _made(cls, eq, order, frozen)


def _made(cls: type[_T], eq: bool, order: bool, frozen: bool) -> type[_T]:
    names = tuple(cls.__annotations__)
    content = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    defaults = {name: content.pop(name) for name in names if name in content}
    content = {"__match_args__": names, "__repr__": _repr} | content
    functions = {"__init__": _constructor(names, defaults)}
    if eq:
        functions |= _comparisons(names, order)
        content["__hash__"] = None
        if frozen:
            functions["__hash__"] = _hash(names)
    for name, function in functions.items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
    if not any(isinstance(value, cached_property) for value in content.values()):
        content["__slots__"] = names
    kind: Any = type(cls)
    rebuilt: type[_T] = kind(cls.__name__, cls.__bases__, content | functions)
    return rebuilt


def _constructor(names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    known: dict[str, object] = {"absent": _ABSENT}
    parameters, lines = [], []
    for name in names:
        default = defaults.get(name, _ABSENT)
        if isinstance(default, _Factory):
            known[f"make_{name}"] = default.make
            lines.append(f"    self.{name} = make_{name}() if {name} is absent else {name}\n")
        else:
            known[f"default_{name}"] = default
            lines.append(f"    self.{name} = {name}\n")
        given = "absent" if isinstance(default, _Factory) else f"default_{name}"
        parameters.append(f"{name}={given}" if name in defaults else name)
    made: dict[str, Any] = {}
    exec(f"def __init__(self, {', '.join(parameters)}):\n{''.join(lines)}    return None\n", known, made)
    return made["__init__"]


def _content(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """What a record holds, to compare it by."""
    if not names:
        return lambda _: ()
    return operator.attrgetter(*(names if len(names) > 1 else names * 2))  # always a tuple, in which NaN equals itself


def _comparisons(names: tuple[str, ...], order: bool) -> dict[str, Any]:
    content = _content(names)

    def comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def compared(self: Any, other: Any) -> Any:
            if self.__class__ is not other.__class__:
                return NotImplemented
            return compare(content(self), content(other))

        return compared

    ways = ("eq", "lt", "le", "gt", "ge") if order else ("eq",)
    return {f"__{way}__": comparison(getattr(operator, way)) for way in ways}


def _hash(names: tuple[str, ...]) -> Callable[[Any], int]:
    content = _content(names)
    return lambda self: hash(content(self))


def replace(one: _T, **changes: object) -> _T:
    """A record with some of its fields changed; `dataclasses.replace` refuses records, which no type checker tells."""
    names: tuple[str, ...] = type(one).__match_args__  # type: ignore[attr-defined]
    return type(one)(**{name: getattr(one, name) for name in names} | changes)


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({fields})"
