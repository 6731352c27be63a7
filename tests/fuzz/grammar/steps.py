"""Whole mapped functions: their arguments, their bodies and what they return."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fuzz.grammar.bodies import Scope, Value, fitted, scalar, statements
from tests.fuzz.grammar.choices import Choices
from tests.fuzz.grammar.rolled import batched, rolled
from tests.fuzz.grammar.stored import stored
from tests.fuzz.grammar.trees import Leaf, Tree, Type, access, build, replaced

INNER = {"scanned": rolled, "batched": batched}
SYNCHRONISED = 72  # percent of the updates of parameters: where all are, most arrays can be global


@dataclass(frozen=True)
class Parameter:
    """An argument: its name, its type and what it is for: `state`, `batch`, `key`, `rate` or `flag`."""

    name: str
    role: str
    type: Type


@dataclass
class Step:
    """A function to be mapped.

    Attributes:
        results: What it returns, by role: `state`, `metrics`, `rows` (an array per example) or `key`.
        above: Blocks that stand before it in its module.
        elsewhere: Blocks of the module `layers`.
    """

    name: str
    parameters: list[Parameter]
    results: list[tuple[str, Type]]
    lines: list[str]
    above: list[list[str]] = field(default_factory=list)
    elsewhere: list[list[str]] = field(default_factory=list)
    collectives: bool = True
    returns_alone: bool = False
    batched: bool = False  # its state has a second axis
    together: str = ""  # how its results are one value: "dict" or "named"


def unpacked(scope: Scope, parameter: Parameter) -> None:
    """Brings the arrays of an argument in sight, by local names or as they stand."""
    choices = scope.choices
    if isinstance(parameter.type, Leaf):
        scope.values.append(Value(parameter.name, parameter.type.shape, parameter.type.kind))
        return
    destructured = parameter.type.form in ("tuple", "named") and choices.chance(30)
    if destructured:
        names = [scope.name(name) for name, _ in parameter.type.fields]
        scope.lines.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {parameter.name}")
    for index, (name, inner) in enumerate(parameter.type.fields):
        code = names[index] if destructured else access(parameter.name, parameter.type, name)
        if not destructured and choices.chance(40):
            local = scope.name(name)
            scope.lines.append(f"{local} = {code}")
            code = local
        unpacked(scope, Parameter(code, parameter.role, inner)) if isinstance(inner, Tree) else scope.values.append(
            Value(code, inner.shape, inner.kind)
        )


def main_gradient(scope: Scope, parameter: Parameter, batch: Parameter) -> None:
    """The gradient that a trainer computes first, of the array `w` or of all that a container holds."""
    code, _tree = parameter.name, parameter.type
    rows = next(v for v in scope.values if len(v.shape) == 2)
    loss, grad, name = scope.name("loss"), scope.name("grad"), scope.name("loss_fn")
    weight = next(v for v in scope.values if (v.shape == (3,) and v.code.startswith(code)) or v.shape == (3,))
    scope.lines += [f"def {name}(w):", f"    return jnp.mean((jnp.tanh({rows.code} @ w) - 0.5) ** 2)"]
    if scope.choices.chance(60):
        scope.lines.append(f"{loss}, {grad} = jax.value_and_grad({name})({weight.code})")
        scope.values.append(Value(loss, ()))
    else:
        scope.lines.append(f"{grad} = jax.grad({name})({weight.code})")
    scope.values.append(Value(grad, weight.shape))
    if not scope.mute and scope.choices.chance(60):
        scope.let(f"jax.lax.pmean({grad}, {scope.axis})", weight.shape, varies=False)


def updated(scope: Scope, code: str, name: str, leaf: Leaf, synchronised: int) -> str:
    """The expression of a field's next value."""
    if leaf.kind == "i":
        return scope.choices.pick((f"{code} + 1", code), (9, 1))
    if leaf.kind == "key":
        return scope.choices.pick((f"jax.random.split({code})[0]", code, f"jax.random.fold_in({code}, 1)"), (6, 3, 1))
    found = scope.floats()
    value = fitted(scope, scope.choices.pick(found[:6] if len(found) > 1 else found), leaf.shape).code
    if not scope.mute and scope.choices.chance(synchronised):
        return scope.choices.pick(
            (
                f"{code} - 0.1 * jax.lax.pmean({value}, {scope.axis})",
                f"jax.lax.pmean(0.9 * {code} + 0.1 * {value}, {scope.axis})",
                f"{code} * 0.5 + jnp.tanh(jax.lax.psum({value}, axis_name={scope.axis}))",
                f"jnp.where(jax.lax.pmean(jnp.sum({value}), {scope.axis}) > 0.0, {code}, {code} * 0.5)",
            ),
            (8, 3, 2, 1),
        )
    return scope.choices.pick(
        (f"{code}", f"{code} - 0.1 * {value}", f"0.9 * {code} + 0.1 * {value}", f"jnp.tanh({value}) + 0.0 * {code}"),
        (4, 3, 3, 1),
    )


def next_state(scope: Scope, code: str, tree: Type, name: str = "w") -> str:
    """The expression of a whole state after the step."""
    if isinstance(tree, Leaf):
        return updated(scope, code, name, tree, SYNCHRONISED)
    values = {}
    for field_name, inner in tree.fields:
        expression = access(code, tree, field_name)
        share = 35 if field_name == "stats" else SYNCHRONISED
        new = (
            updated(scope, expression, field_name, inner, share)
            if isinstance(inner, Leaf)
            else next_state(scope, expression, inner, field_name)
        )
        if new != expression or scope.choices.chance(50):
            values[field_name] = new
    if tree.form in ("tuple", "list", "dict"):
        return build(tree, {n: values.get(n, access(code, tree, n)) for n, _ in tree.fields})
    return replaced(scope.choices, code, tree, values) if values else code


def metrics_of(scope: Scope, form: str) -> tuple[str, Type]:
    """The expression and the type of what a step tells of itself."""
    names = ["loss"] + [n for n in ("norm", "count") if scope.choices.chance(40)]
    values = {}
    for name in names:
        value = scalar(scope, scope.choices.pick(scope.floats()))
        code = value.code
        if not scope.mute and scope.choices.chance(65):
            how = scope.choices.pick(("pmean", "psum", "pmax"), (6, 2, 1))
            code = f"jax.lax.{how}({code}, {scope.axis})"
        values[name] = code
    tree = Tree(form, tuple((n, Leaf(())) for n in names), "Metrics")
    if form == "bare":
        return values["loss"], Leaf(())
    if not scope.mute and scope.choices.chance(20):
        return f"jax.lax.pmean({build(tree, values)}, {scope.axis})", tree
    return build(tree, values), tree


def rows_of(scope: Scope) -> tuple[str, Type]:
    """An array with an entry for each example of the block."""
    value = next(v for v in scope.values if len(v.shape) == 2)
    return scope.choices.pick(
        ((f"jnp.tanh({value.code}).sum(-1)", Leaf(value.shape[:1])), (f"{value.code} * 2.0", Leaf(value.shape)))
    )


def write_step(
    choices: Choices,
    name: str,
    parameters: list[Parameter],
    results: list[str],
    axis: str,
    mute: bool,
    metrics: str,
    style: str = "",
) -> Step:
    """Writes a function with the arguments given, which returns the roles given, in a style of `program.STYLES`."""
    scope = Scope(choices, axis, mute=mute)
    for parameter in parameters:
        if parameter.role != "flag":
            unpacked(scope, parameter)
    state = next((p for p in parameters if p.role == "state"), None)
    batch = next(p for p in parameters if p.role == "batch")
    if state is not None and choices.chance(75):
        main_gradient(scope, state, batch)
    statements(scope)
    stored(scope)
    flag = next((p for p in parameters if p.role == "flag"), None)
    if flag is not None and not mute:
        value = choices.pick(scope.floats())
        new = scope.let(value.code, value.shape)
        scope.lines += [f"if {flag.name}:", f"    {new.code} = jax.lax.pmean({new.code}, {axis})"]
    returned: list[tuple[str, str, Type]] = []
    for role in results:
        if role == "state":
            assert state is not None
            returned.append(("state", next_state(scope, state.name, state.type), state.type))
        elif role == "metrics":
            returned.append(("metrics", *metrics_of(scope, metrics)))
        elif role == "rows":
            returned.append(("rows", *rows_of(scope)))
        else:
            key = next(p for p in parameters if p.role == "key")
            returned.append(("key", f"jax.random.split({key.name})[1]", key.type))
    body = list(scope.lines)
    codes = []
    for role, code, _ in returned:
        if choices.chance(35):
            body.append(f"new_{role} = {code}")
            code = f"new_{role}"
        codes.append(code)
    style, lines = _written(choices, name, parameters, results, style, body, codes)
    return Step(
        name,
        parameters,
        [(role, type_) for role, _, type_ in returned],
        lines,
        scope.above + ([_outputs_class(name, results)] if style == "named" else []),
        scope.elsewhere,
        not mute,
        len(returned) == 1,
        batched=style == "batched",
        together=style if style in ("dict", "named") else "",
    )


def _written(
    choices: Choices,
    name: str,
    parameters: list[Parameter],
    roles: list[str],
    style: str,
    body: list[str],
    codes: list[str],
) -> tuple[str, list[str]]:
    """The lines of a step in a style, or without it where what it returns does not fit."""
    names = [p.name for p in parameters]
    head = f"def {name}({', '.join(names)}):"
    if style in INNER and roles[0] == "state":
        return style, INNER[style](choices, head, names, body, codes)
    style = style if style in ("dict", "named") and len(codes) > 1 else ""
    returned = _together(name, style, roles, codes)
    return style, [head, *(f"    {line}" for line in body), f"    return {returned}"]


def _together(name: str, style: str, roles: list[str], codes: list[str]) -> str:
    """The expression of all that a step returns."""
    if style == "dict":
        return "{" + ", ".join(f'"{role}": {code}' for role, code in zip(roles, codes, strict=True)) + "}"
    if style == "named":
        return f"{name.title()}({', '.join(f'{r}={c}' for r, c in zip(roles, codes, strict=True))})"
    return ", ".join(codes)


def _outputs_class(name: str, roles: list[str]) -> list[str]:
    return [f"class {name.title()}(NamedTuple):", *(f"    {role}: Any" for role in roles)]
