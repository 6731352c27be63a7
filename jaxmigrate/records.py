"""Classes of plain data, like dataclasses with slots, that cost a fifth of those to define and a third to make.

The linter starts anew for each commit, and making dataclasses was a fifth of its start. Which of them are frozen, the
type checker sees to; nothing is checked while the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
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
def record(*, eq: bool = True, frozen: bool = True) -> Callable[[type[_T]], type[_T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(made,))
def record(cls: type[_T] | None = None, /, *, eq: bool = True, frozen: bool = True) -> Any:
    """Gives a class a constructor, slots for its fields and, with `eq`, equality, and a hash if it is `frozen`."""
    if cls is None:
        return lambda one: _made(one, eq, frozen)
    return _made(cls, eq, frozen)


def _made(cls: type[_T], eq: bool, frozen: bool) -> type[_T]:
    names = tuple(cls.__annotations__)
    content = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    defaults = {name: content.pop(name) for name in names if name in content}
    content |= {"__slots__": names, "__match_args__": names, "__repr__": _repr}
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
    text = f"def __init__(self, {', '.join(parameters)}):\n{''.join(lines)}    return None\n"
    if eq:
        mine, other = (f"({''.join(f'{one}.{name}, ' for name in names)})" for one in ("self", "other"))
        text += "def __eq__(self, other):\n    if self.__class__ is not other.__class__: return NotImplemented\n"
        text += f"    return {mine} == {other}\n"
        text += f"def __hash__(self):\n    return hash({mine})\n" if frozen else "__hash__ = None\n"
    functions: dict[str, Any] = {}
    exec(text, known, functions)
    for function in filter(callable, functions.values()):
        function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
    kind: Any = type(cls)
    rebuilt: type[_T] = kind(cls.__name__, cls.__bases__, content | functions)
    return rebuilt


def replace(one: _T, **changes: object) -> _T:
    """A record with some of its fields changed."""
    names: tuple[str, ...] = type(one).__match_args__  # type: ignore[attr-defined]
    return type(one)(**{name: getattr(one, name) for name in names} | changes)


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({fields})"
