"""The plan of one mapped site, with the layout of each of its arguments and outputs."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass, replace
from typing import Literal

from jaxmigrate.flow.layout.causes import Reason
from jaxmigrate.flow.layout.choices import Choice, SiteChoice
from jaxmigrate.migrate.decide import Decision, Refusal
from jaxmigrate.migrate.one_array import SAME
from jaxmigrate.migrate.plan import ArrayLayout, Assumed, Layout, SitePlan
from jaxmigrate.migrate.positions import column_of
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, Reference, axis_of, literal_of, mapped_values
from jaxmigrate.program.trust import Grade
from jaxmigrate.program.values import Application, Constant, External, Function, Partial, Value

ELSEWHERE = Refusal(
    "JM406",
    "reaches pmap through an alias that fix cannot follow, or a file that it was not given; "
    "run fix on the whole project, or call jax.pmap by name",
)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A site (or a lone reference), the decision it stands under, and the expression that a verification marks."""

    site: MappedSite | None
    reference: Reference | None
    decision: Decision | None
    marked: ast.expr
    form: str

    @property
    def refusal(self) -> Refusal | None:
        """Why it is left, None where it is rewritten."""
        return self.decision.refusal if self.decision is not None else ELSEWHERE


def site_plan(
    outcome: Outcome, path: str, module: Module, resolver: Resolver, decided: SiteChoice | Reason | None = None
) -> SitePlan:
    """What `fix` reports of a site; `decided`: its layouts where global arrays were asked for, or why it has none."""
    choice = decided if isinstance(decided, SiteChoice) else None
    node = outcome.site.node if outcome.site is not None else outcome.marked
    column = column_of(node, module)
    refusal = outcome.refusal
    status: Literal["rewritten", "left"] = "rewritten" if refusal is None else "left"
    return SitePlan(
        id=f"{path}:{node.lineno}:{column}",
        path=path,
        line=node.lineno,
        column=column,
        form=outcome.form,
        axis=_axis(outcome.site, resolver) if outcome.site is not None else None,
        mapped=_mapped(outcome.site) if outcome.site is not None else "",
        status=status,
        code=refusal.code if refusal is not None else "",
        reason=refusal.reason if refusal is not None else "",
        arguments=_chosen_arguments(outcome.site, resolver, decided) if outcome.site is not None else (),
        outputs=_chosen_outputs(outcome.site, resolver, decided) if outcome.site is not None else (),
        assumed=_assumed(choice) if choice is not None and choice.is_global and refusal is None else (),
    )


def _assumed(choice: SiteChoice) -> tuple[Assumed, ...]:
    """What a site leans on beside proof, the same once."""
    each = (
        Assumed(one.grade, one.kind, one.name, one.says, one.module.path, one.line, one.fact) for one in choice.leans
    )
    return tuple(dict.fromkeys(each))


def _chosen_arguments(
    site: MappedSite, resolver: Resolver, decided: SiteChoice | Reason | None
) -> tuple[ArrayLayout, ...]:
    """Layouts of the arguments; what stays stacked says why."""
    plain = _arguments(site, resolver)
    if not isinstance(decided, SiteChoice):
        return tuple(_with_reason(a, None, decided) for a in plain)
    if not decided.is_global:
        pairs = itertools.zip_longest(plain, decided.arguments)
        return tuple(_with_reason(a, c, decided.blocked) for a, c in pairs if a is not None)
    first = len(decided.arguments) - len(decided.keywords)
    names = {i: a.name for i, a in enumerate(plain[:first]) if a.name != "*"}
    names |= {first + i: name for i, name in enumerate(decided.keywords)}
    return tuple(a for i, c in enumerate(decided.arguments) for a in _with_fields(names.get(i, str(i)), c))


def _chosen_outputs(
    site: MappedSite, resolver: Resolver, decided: SiteChoice | Reason | None
) -> tuple[ArrayLayout, ...]:
    if not isinstance(decided, SiteChoice):
        return tuple(_because(o, decided) for o in _outputs(site, resolver))
    if decided.blocked or (site.keyword("out_axes") is not None and not decided.is_global):
        found = (_because(o, decided.blocked) for o in _outputs(site, resolver))
        return tuple(replace(o, advice=decided.advice) for o in found)
    names = [".".join(map(str, place)) or "*" for place in decided.tree.places]
    return tuple(a for n, c in zip(names, decided.outputs, strict=True) for a in _with_fields(n, c))


def _with_fields(name: str, choice: Choice) -> list[ArrayLayout]:
    """An argument or output, its parts where they differ, and those of its fields that are laid out in another way."""
    if choice.layout == "mixed":
        return [one for i, part in enumerate(choice.parts) for one in _with_fields(f"{name}[{i}]", part)]
    fields = [_because(ArrayLayout(f"{name}.{field}", "stacked"), reason) for field, reason in choice.fields]
    grade: Grade | Literal[""] = choice.grade if choice.layout in ("replicated", "split") else ""
    facts = frozenset(one.fact for one in choice.leans if one.fact)
    array = ArrayLayout(name, choice.layout, "", grade, choice.advice, choice.story, facts)
    return [_because(array, choice.reason), *fields]


def _with_reason(array: ArrayLayout, choice: Choice | None, blocked: Reason | None) -> ArrayLayout:
    if array.layout != "stacked":
        return array
    if choice is None:
        return _because(array, blocked)
    return replace(_because(array, choice.reason), advice=choice.advice, story=choice.story)


def _because(array: ArrayLayout, reason: Reason | None) -> ArrayLayout:
    """The array with the reason why it stays stacked, if there is one."""
    return array if reason is None else replace(array, reason=reason.text, cause=reason.cause, topic=reason.topic)


def _axis(site: MappedSite, resolver: Resolver) -> str | None:
    axis = axis_of(site, resolver)
    if axis is None:
        return None
    if isinstance(axis, Constant):
        return str(axis.value)
    argument = site.keyword("axis_name")
    if argument is None or argument.expression is None:
        return None
    return argument.module.segment(argument.expression)


def _mapped(site: MappedSite) -> str:
    if site.mapped is None:
        return ""
    if site.mapped.expression is not None:
        source = " ".join(site.mapped.module.segment(site.mapped.expression).split())
        return source if len(source) <= 80 else source[:77] + "..."
    value = site.mapped.value
    return getattr(value.node, "name", "") if isinstance(value, Function) else ""


def _arguments(site: MappedSite, resolver: Resolver) -> tuple[ArrayLayout, ...]:
    """A layout for each positional parameter in sight; one under the name `*` where none is."""
    axes = literal_of(site, "in_axes", 0, resolver)
    static = literal_of(site, "static_broadcasted_argnums", (), resolver)
    names = _parameters(site, resolver)
    if not names:
        count = len(axes) if isinstance(axes, tuple) else 0
        names = tuple(str(i) for i in range(count))
    if not names:
        return (ArrayLayout("*", _layout(axes)),)
    return tuple(ArrayLayout(name, _argument_layout(i, axes, static)) for i, name in enumerate(names))


def _argument_layout(index: int, axes: object, static: object) -> Layout:
    statics = (static,) if isinstance(static, int) else static
    if isinstance(statics, tuple) and index in statics:
        return "static"
    if isinstance(axes, tuple):
        return _layout(axes[index]) if index < len(axes) else "stacked"
    return _layout(axes)


def _layout(axis: object) -> Layout:
    return "broadcast" if axis is None else "unknown" if axis is ... else "stacked"


def _outputs(site: MappedSite, resolver: Resolver) -> tuple[ArrayLayout, ...]:
    axes = literal_of(site, "out_axes", 0, resolver)
    if isinstance(axes, tuple):
        return tuple(ArrayLayout(str(i), _layout(axis)) for i, axis in enumerate(axes))
    return (ArrayLayout("*", _layout(axes)),)


def _parameters(site: MappedSite, resolver: Resolver) -> tuple[str, ...]:
    """The names of the parameters that a call gives by position, as far as they can be seen."""
    found = mapped_values(site, resolver)
    return _names(found[0], resolver) if len(found) == 1 else ()


def _names(value: Value, resolver: Resolver, depth: int = 4) -> tuple[str, ...]:
    """The names of what a function takes by position, through partials, compilers and functions that make it."""
    match value:
        case Function():
            return tuple(value.passed_names())
        case _ if depth == 0:
            return ()
        case Partial(callee=callee, arguments=arguments):
            bound = {one.keyword for one in arguments}
            if not bound.isdisjoint(("*", "**")):
                return ()
            left = _names(callee, resolver, depth - 1)[sum(one.keyword is None for one in arguments) :]
            return tuple(itertools.takewhile(lambda name: name not in bound, left))
        case Application(callee=External(name=name), arguments=[first, *_]) if name in SAME:
            inner = resolver.argument_values(first)
        case Application(callee=Function(module=module, node=node)):
            returned = returned_by(node)
            inner = resolver.values(returned[0], module) if len(returned) == 1 and returned[0] is not None else ()
        case _:
            return ()
    return _names(inner[0], resolver, depth - 1) if len(inner) == 1 else ()
