"""A function beside a map, around one that cannot be changed itself: it drops the mapped axis, and puts it back."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from jaxmigrate.migrate.bodies import FEW, Words, expanded, squeezed
from jaxmigrate.migrate.maps import Array, MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.migrate.one_array import Around
from jaxmigrate.program.operations import Part

MANY = 5  # names for which one does as well
OUT, REST, STAR, STARS = "out", "outs", "args", "kwargs"
Parts = dict[str, str | Part]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of what is mapped: what it takes and gives, and names for the parts of what it returns."""

    around: Around
    results: Sequence[str] = ()


def wrapper(plan: MapPlan, mapped: str | ast.expr, words: Words, room: int, known: Known) -> tuple[str, Parts] | None:
    """The source of the function, called `$name`, with its parts; None where it would have to take trees apart.

    `room` is how long a line of its body may be.
    """
    axes = [array.mapped for array in plan.outputs]
    names = _parameters(plan, mapped)
    outputs = _results(axes, mapped, names, words, known.results) if len({*axes}) > 1 else []
    if (
        any(a.fields for a in plan.everything)
        or plan.has_parts
        or (outputs and not plan.is_tuple)
        or names is None
        or _hides(mapped, names, words, [] if _are_named(outputs) else outputs)
    ):
        return None
    if _is_starred(plan, mapped, names, words, room):
        names = ()
    inputs = plan.inputs * len(names) if plan.whole_in else plan.inputs
    single = _single(plan, mapped, names, inputs, known.around)
    value, shown, parts = _value(plan, mapped, names, words, single)
    read = {n.id for n in names_in([mapped])} if isinstance(mapped, ast.Lambda) else {*names}
    read.difference_update(single)
    seen = [a if n in read else Array(split=False) for n, a in zip(names, inputs if names else (), strict=True)]
    lines = _squeezes(seen, names, words)
    traced = [i for i, one in enumerate(inputs) if not one.static] if names else []
    if outputs:
        arrays = [known.around.gives(traced, i) for i in range(len(outputs))]
        if _are_named(outputs):
            lines += [f"{', '.join(outputs)} = {value}", *_by_name(outputs, axes, arrays, words)]
        else:
            made, given = _one_by_one(outputs, axes, arrays, words)
            lines += [f"{', '.join(made)} = {value}", f"return {', '.join(given)}"]
    else:
        lines += _returns(value, shown, axes[0], words, room, is_array=known.around.gives(traced))
    signature = ", ".join(names) or f"*{STAR}"
    return "\n".join([f"def $name({signature}):", *(f"    {line}" for line in lines)]), parts


def _results(
    axes: Sequence[int | None],
    mapped: str | ast.expr,
    names: Sequence[str] | None,
    words: Words,
    known: Sequence[str],
) -> list[str]:
    """Names for the parts of what is returned: those that are known, or numbered ones where these would hide others."""
    needed = {mapped} if isinstance(mapped, str) else {one.id for one in names_in([mapped])}
    needed |= {words.jax.partition(".")[0], words.numpy.partition(".")[0]}
    if len(known) == len(axes) and needed.isdisjoint(known) and names and not _are_numbered(known):
        return [*known]
    return [f"{OUT}{i}" for i in range(len(axes))]


def _are_numbered(names: Sequence[str]) -> bool:
    return any(name.startswith(OUT) and name.removeprefix(OUT).isdigit() for name in names)


def _are_named(outputs: Sequence[str]) -> bool:
    """Whether parts have names that say what they are."""
    return bool(outputs) and not _are_numbered(outputs)


def _by_name(outputs: Sequence[str], axes: Sequence[int | None], arrays: Sequence[bool], words: Words) -> list[str]:
    """The statements that return parts by their names; several trees get an axis by one statement above."""
    several: dict[int, list[str]] = {}
    for name, axis, one in zip(outputs, axes, arrays, strict=True):
        if axis is not None and not (one and axis == 0):
            several.setdefault(axis, []).append(name)
    several = {axis: names for axis, names in several.items() if len(names) > 1}
    every = {axis: ", ".join(names) for axis, names in several.items()}
    above = [f"{one} = {expanded(f'({one})', axis, words, is_array=False)}" for axis, one in every.items()]
    done = {name for names in several.values() for name in names}
    given = [
        name if axis is None or name in done else expanded(name, axis, words, is_array=one)
        for name, axis, one in zip(outputs, axes, arrays, strict=True)
    ]
    return [*above, f"return {', '.join(given)}"]


def _one_by_one(
    outputs: Sequence[str], axes: Sequence[int | None], arrays: Sequence[bool], words: Words
) -> tuple[list[str], list[str]]:
    """The names for parts of what is returned, and what becomes of each; a star for several that get an axis alike."""
    given = [
        o if a is None else expanded(o, a, words, is_array=one) for o, a, one in zip(outputs, axes, arrays, strict=True)
    ]
    changed = [i for i, axis in enumerate(axes) if axis is not None]
    first, last = changed[0], changed[-1] + 1
    if len(changed) < 2 or len({*axes[first:last]}) > 1 or any(arrays[first:last]):
        return [*outputs], given
    together = expanded(REST, axes[first] or 0, words, is_array=False)
    return [*outputs[:first], f"*{REST}", *outputs[last:]], [*given[:first], f"*{together}", *given[last:]]


def _single(
    plan: MapPlan, mapped: str | ast.expr, names: Sequence[str], inputs: Sequence[Array], known: Around
) -> dict[str, str]:
    """What the call of what is mapped passes of few single arrays, which lose their axis there."""
    drop = [n for n, a in zip(names, inputs, strict=False) if a.drops]
    places = {n: n if n in plan.by_name else i for i, n in enumerate(names)}
    if isinstance(mapped, ast.Lambda) or plan.any_keywords or len(drop) > FEW:
        return {}
    if not all(known.takes(places[name]) for name in drop):
        return {}
    return {n: f"{n}.squeeze({a.axis})" for n, a in zip(names, inputs, strict=False) if a.drops}


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
    if names is None and _takes_as_given(plan) and not plan.by_name:
        return ()
    if names is None:
        starred = plan.whole_in and not isinstance(mapped, ast.Lambda) and not plan.by_name
        return () if starred and plan.inputs[0].axis == 0 and plan.inputs[0].drops else None
    return names if plan.whole_in or len(names) == len(plan.inputs) else None


def _takes_as_given(plan: MapPlan) -> bool:
    """Whether no argument loses an axis."""
    return not any(one.drops or one.fields or one.parts for one in plan.inputs)


def _hides(mapped: str | ast.expr, names: Sequence[str], words: Words, outputs: Sequence[str] = ()) -> bool:
    """Whether a parameter or a name of the function hides another one that it reads."""
    read = {mapped} if isinstance(mapped, str) else {n.id for n in names_in([mapped])}
    own = {OUT, REST, *outputs} if names else {OUT, REST, STAR, *outputs}
    needed = {words.jax.partition(".")[0], words.numpy.partition(".")[0]}
    hidden = own if isinstance(mapped, ast.Lambda) else {*own, *names}
    return bool(hidden & read or {*names} & {*needed, OUT, REST, *outputs})


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


def _value(
    plan: MapPlan, mapped: str | ast.expr, names: Sequence[str], words: Words, single: Mapping[str, str]
) -> tuple[str, str, Parts]:
    """The call of what is mapped, and how it reads: a lambda's body, the call of a partial with all that it binds."""
    if isinstance(mapped, ast.Lambda):
        return "$value", ast.unparse(mapped.body), {"value": mapped.body}
    passed = [single.get(name, name) for name in names]
    given = [f"{name}={one}" if name in plan.by_name else one for name, one in zip(names, passed, strict=True)]
    if plan.any_keywords:
        given = [f"*{STAR}", f"**{STARS}"]
    if not names:
        given = [f"*{STAR}" if _takes_as_given(plan) else f"*{squeezed(STAR, 0, words, is_array=False)}"]
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


def _returns(value: str, shown: str, axis: int | None, words: Words, room: int, *, is_array: bool) -> list[str]:
    """Statements that return a value with the mapped axis put back."""
    if axis is None:
        return [f"return {value}"]
    if len(f"return {expanded(shown, axis, words, is_array=is_array)}") <= room:
        one = f"({value})" if is_array and value == "$value" else value  # a lambda's body may be `a + b`
        return [f"return {expanded(one, axis, words, is_array=is_array)}"]
    return [f"{OUT} = {value}", f"return {expanded(OUT, axis, words, is_array=is_array)}"]
