"""How a function is mapped and called: the forms of pmap with their keywords, and what each call has to be given."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fuzz.grammar.choices import Choices
from tests.fuzz.grammar.steps import Step

FORMS = ("call", "decorator", "partial", "lambda", "factory", "module", "applied", "alias", "value")
FORM_WEIGHTS = (8, 5, 3, 2, 3, 4, 3, 2, 1)


@dataclass
class Mapped:
    """A mapped function: under which name it is called, and along which axis it takes and gives what.

    Attributes:
        takes: For each parameter 0, 1, None (broadcast) or "static".
        gives: For each result 0, 1 or None.
        donated: The positions of what a call uses up.
    """

    step: Step
    name: str
    form: str
    takes: list[int | str | None]
    gives: list[int | None]
    donated: tuple[int, ...] = ()
    keywords: list[str] = field(default_factory=list)


def plan_map(choices: Choices, step: Step, name: str, axis: str, forms: tuple[str, ...], may_donate: bool) -> Mapped:
    """Decides the keywords of a map."""
    takes: list[int | str | None] = []
    for parameter in step.parameters:
        if parameter.role == "flag":
            takes.append("static")
        elif parameter.role == "rate":
            takes.append(choices.pick((None, 0), (7, 3)))
        elif parameter.role == "key":
            takes.append(choices.pick((0, None), (9, 1)))
        elif parameter.role == "batch":
            takes.append(choices.pick((0, 1), (19, 1)))
        else:
            takes.append(choices.pick((0, None), (50, 1)))
    gives: list[int | None] = []
    if step.together:
        gives = [0] * len(step.results)
    for role, _ in step.results if not step.together else ():
        if role == "metrics":
            gives.append(choices.pick((0, None), (9, 1)))
        elif role == "rows":
            gives.append(choices.pick((0, 1), (15, 1)))
        else:
            gives.append(choices.pick((0, None), (30, 1)))
    kind = choices.pick(forms, [dict(zip(FORMS, FORM_WEIGHTS, strict=True))[f] for f in forms])
    mapped = Mapped(step, name, kind, takes, gives)
    if may_donate and takes[0] == 0 and choices.chance(45):
        mapped.donated = (0,)
    mapped.keywords = keywords(choices, mapped, axis)
    return mapped


def keywords(choices: Choices, mapped: Mapped, axis: str) -> list[str]:
    """The keywords of a map as source."""
    found = [f"axis_name={axis}"]
    if not mapped.step.collectives and choices.chance(40):
        found = []
    axes = [None if axis == "static" else axis for axis in mapped.takes]
    dynamic = any(axis != 0 for axis in axes)
    if any(axis != 0 for axis in axes if axis is not None) or None in axes or choices.chance(15):
        if dynamic or choices.chance(50):
            found.append(f"in_axes=({', '.join(map(str, axes))}{',' if len(axes) == 1 else ''})")
        else:
            found.append("in_axes=0")
    if any(axis != 0 for axis in mapped.gives):
        inner = ", ".join(map(str, mapped.gives))
        found.append(f"out_axes={inner}" if len(mapped.gives) == 1 else f"out_axes=({inner})")
    statics = tuple(i for i, axis in enumerate(mapped.takes) if axis == "static")
    if statics:
        found.append(f"static_broadcasted_argnums={statics}")
    if mapped.donated:
        found.append(f"donate_argnums={choices.pick((str(mapped.donated), str(mapped.donated[0])))}")
    return found


def binding(choices: Choices, mapped: Mapped, target: str, owner: str = "") -> tuple[list[str], list[str]]:
    """The lines that define a step at the level of its module, and those that bind its map to a target."""
    step, options = mapped.step, ", ".join(mapped.keywords)
    comma = f", {options}" if options else ""
    function = f"{owner}{step.name}"
    if mapped.form == "decorator":
        if not options:
            return ["@jax.pmap", *step.lines], [f"{target} = {step.name}"] if target != step.name else []
        return [f"@functools.partial(jax.pmap, {options})", *step.lines], (
            [f"{target} = {step.name}"] if target != step.name else []
        )
    if mapped.form == "factory":
        made = f"make_{step.name}"
        inner = [f"    {line}" for line in step.lines]
        return [f"def {made}():", *inner, f"    return jax.pmap({step.name}{comma})"], [f"{target} = {made}()"]
    if mapped.form == "partial":
        return step.lines, [f"{target} = functools.partial(jax.pmap{comma})({function})"]
    if mapped.form == "lambda":
        names = ", ".join(p.name for p in step.parameters)
        return step.lines, [f"{target} = jax.pmap(lambda {names}: {function}({names}){comma})"]
    if mapped.form == "module":
        return [], [f"{target} = jax.pmap(steps.{step.name}{comma})"]
    if mapped.form == "applied":
        return step.lines, [f"{target} = jax.pmap(functools.partial({function}){comma})"]
    if mapped.form == "alias":
        return [*step.lines, f"pmap_{step.name} = functools.partial(jax.pmap{comma})"], [
            f"{target} = pmap_{step.name}({function})"
        ]
    if mapped.form == "value":
        return step.lines, ["mapper = jax.pmap", f"{target} = mapper({function}{comma})"]
    return step.lines, [f"{target} = jax.pmap({function}{comma})"]
