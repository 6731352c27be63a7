"""A function beside a map, around one that cannot be changed itself: it drops the mapped axis, and puts it back."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import cast

from jaxmigrate.migrate.bodies import Words, expanded, squeezed
from jaxmigrate.migrate.maps import Array, MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.program.operations import Part

MANY = 5  # names for which one does as well
OUT, STAR, STARS = "out", "args", "kwargs"
Parts = dict[str, str | Part]


def wrapper(plan: MapPlan, mapped: str | ast.expr, words: Words, room: int) -> tuple[str, Parts] | None:
    """The source of the function, called `$name`, with its parts; None where it would have to take trees apart.

    `room` is how long a line of its body may be.
    """
    axes = [array.mapped for array in plan.outputs]
    outputs = [f"{OUT}{i}" for i in range(len(axes))] if len({*axes}) > 1 else []
    names = _parameters(plan, mapped)
    if (
        any(a.fields for a in plan.everything)
        or plan.has_parts
        or (outputs and not _is_tuple(plan))
        or names is None
        or _hides(mapped, names, words, outputs)
    ):
        return None
    if _is_starred(plan, mapped, names, words, room):
        names = ()
    value, shown, parts = _value(plan, mapped, names, words)
    inputs = plan.inputs * len(names) if plan.whole_in else plan.inputs
    read = {n.id for n in names_in([mapped])} if isinstance(mapped, ast.Lambda) else {*names}
    seen = [a if n in read else Array(split=False) for n, a in zip(names, inputs if names else (), strict=True)]
    lines = _squeezes(seen, names, words)
    if outputs:
        given = [o if a is None else expanded(o, a, words, is_array=False) for o, a in zip(outputs, axes, strict=True)]
        lines += [f"{', '.join(outputs)} = {value}", f"return {', '.join(given)}"]
    else:
        lines += _returns(value, shown, axes[0], words, room)
    signature = ", ".join(names) or f"*{STAR}"
    return "\n".join([f"def $name({signature}):", *(f"    {line}" for line in lines)]), parts


def _is_tuple(plan: MapPlan) -> bool:
    """Whether what is mapped returns a tuple of as many parts as there are outputs."""
    return not plan.named and (not plan.places or [*plan.places] == [(i,) for i in range(len(plan.outputs))])


def _is_starred(plan: MapPlan, mapped: str | ast.expr, names: Sequence[str], words: Words, room: int) -> bool:
    """Whether a star says the same as many names, of which all drop their first axis, that fill more than a line."""
    alike = all(one.drops and one.mapped == 0 and not one.static for one in plan.inputs)
    if (
        not alike
        or isinstance(mapped, ast.Lambda)
        or plan.by_name
        or plan.any_keywords
        or len(names) < MANY
        or _hides(mapped, (), words)
    ):
        return False
    return any(
        len(line) > room for line in _squeezes(plan.inputs * len(names) if plan.whole_in else plan.inputs, names, words)
    )


def _parameters(plan: MapPlan, mapped: str | ast.expr) -> tuple[str, ...] | None:
    """The names of the arguments, none where a star stands for them; None where they have to have names."""
    names = plan.names
    if plan.any_keywords:
        return None if isinstance(mapped, ast.Lambda) else (STAR, STARS)
    if isinstance(mapped, ast.Lambda):
        given = mapped.args
        plain = not (given.vararg or given.kwarg or given.kwonlyargs or given.defaults)
        names = tuple(p.arg for p in (*given.posonlyargs, *given.args)) if plain and names is None else names
        if not plain or names != tuple(p.arg for p in (*given.posonlyargs, *given.args)):
            return None
    if names is None and not plan.whole_in and len(plan.said) == len(plan.inputs):
        names = plan.said
    if names is None:
        starred = plan.whole_in and not isinstance(mapped, ast.Lambda) and not plan.by_name
        return () if starred and plan.inputs[0].axis == 0 and plan.inputs[0].drops else None
    return names if plan.whole_in or len(names) == len(plan.inputs) else None


def _hides(mapped: str | ast.expr, names: Sequence[str], words: Words, outputs: Sequence[str] = ()) -> bool:
    """Whether a parameter or a name of the function hides another one that it reads."""
    read = {mapped} if isinstance(mapped, str) else {n.id for n in names_in([mapped])}
    own = {OUT, *outputs} if names else {OUT, STAR, *outputs}
    needed = {words.jax.partition(".")[0], words.numpy.partition(".")[0]}
    hidden = own if isinstance(mapped, ast.Lambda) else {*own, *names}
    return bool(hidden & read or {*names} & {*needed, OUT, *outputs})


def _squeezes(inputs: Sequence[Array], names: Sequence[str], words: Words) -> list[str]:
    """Statements that drop the mapped axis of what has one."""
    if not names:
        return []
    by_axis: dict[int, list[str]] = {}
    for name, array in zip(names, inputs, strict=True):
        if array.drops:
            by_axis.setdefault(array.axis, []).append(name)
    found = []
    for axis, ones in by_axis.items():
        every = ones[0] if len(ones) == 1 else f"({', '.join(ones)})"
        found.append(f"{', '.join(ones)} = {squeezed(every, axis, words, is_array=False)}")
    return found


def _value(plan: MapPlan, mapped: str | ast.expr, names: Sequence[str], words: Words) -> tuple[str, str, Parts]:
    """The call of what is mapped, and how it reads: a lambda's body, the call of a partial with all that it binds."""
    if isinstance(mapped, ast.Lambda):
        return "$value", ast.unparse(mapped.body), {"value": mapped.body}
    given = [f"{name}={name}" if name in plan.by_name else name for name in names]
    if plan.any_keywords:
        given = [f"*{STAR}", f"**{STARS}"]
    if not names:
        given = [f"*{squeezed(STAR, 0, words, is_array=False)}"]
    fun, bound, named = mapped, [], []
    is_partial = isinstance(mapped, ast.Call) and ast.unparse(mapped.func) in ("functools.partial", "partial")
    if isinstance(mapped, ast.Call) and is_partial and not (plan.any_keywords and mapped.keywords):  # given again
        fun, *bound = mapped.args
        named = [("**" if one.arg is None else f"{one.arg}=", one.value) for one in mapped.keywords]
    parts: Parts = {"fun": fun, **{f"b{i}": one for i, one in enumerate(bound)}}
    parts |= {f"k{i}": one for i, (_, one) in enumerate(named)}
    given = [*(f"$b{i}" for i in range(len(bound))), *given, *(f"{name}$k{i}" for i, (name, _) in enumerate(named))]
    text = f"$fun({', '.join(given)})"
    shown = text
    for name, part in parts.items():
        shown = shown.replace(f"${name}", part if isinstance(part, str) else ast.unparse(cast("ast.AST", part)))
    return text, shown, parts


def _returns(value: str, shown: str, axis: int | None, words: Words, room: int) -> list[str]:
    """Statements that return a value with the mapped axis put back."""
    if axis is None:
        return [f"return {value}"]
    if len(f"return {expanded(shown, axis, words, is_array=False)}") <= room:
        return [f"return {expanded(value, axis, words, is_array=False)}"]
    return [f"{OUT} = {value}", f"return {expanded(OUT, axis, words, is_array=False)}"]
