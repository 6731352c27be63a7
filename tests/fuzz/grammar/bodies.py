"""Functions to be mapped: what a body computes of its arguments, with collectives, control flow and transformations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fuzz.grammar.choices import Choices
from tests.fuzz.grammar.trees import Shape

DEVICES = 8
GROUPS = ("[[0, 1, 2, 3], [4, 5, 6, 7]]", "[[0, 2, 4, 6], [1, 3, 5, 7]]")


@dataclass(frozen=True)
class Value:
    """An array within a body; `varies` is False only where it is certain to be the same on all devices."""

    code: str
    shape: Shape
    kind: str = "f"
    varies: bool = True


@dataclass
class Scope:
    """A body that is being written.

    Attributes:
        choices: What decides.
        axis: The expression of the mapped axis.
        lines: The statements so far.
        values: Arrays in sight.
        above: Blocks that the body needs at the level of its module.
        elsewhere: Blocks that it needs in the module `layers`.
        smooth: Whether all has to be differentiable.
        mute: Whether no collective may stand here, since not every device is sure to come by.
    """

    choices: Choices
    axis: str
    lines: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    above: list[list[str]] = field(default_factory=list)
    elsewhere: list[list[str]] = field(default_factory=list)
    smooth: bool = False
    mute: bool = False
    made: list[int] = field(default_factory=lambda: [0])

    def name(self, prefix: str = "v") -> str:
        """A name that nothing has yet."""
        self.made[0] += 1
        return f"{prefix}{self.made[0]}"

    def let(self, code: str, shape: Shape, kind: str = "f", varies: bool = True, prefix: str = "v") -> Value:
        """Binds an expression to a new name."""
        value = Value(self.name(prefix), shape, kind, varies)
        self.lines.append(f"{value.code} = {code}")
        self.values.append(value)
        return value

    def floats(self, least: int = 0) -> list[Value]:
        """The real arrays in sight of at least so many axes, the newest first."""
        return [v for v in reversed(self.values) if v.kind == "f" and len(v.shape) >= least and _size(v.shape) < 600]


def _size(shape: Shape) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def scalar(scope: Scope, value: Value) -> Value:
    """A number of an array."""
    if not value.shape:
        return value
    how = scope.choices.pick(("jnp.mean({})", "{}.sum()", "jnp.sum({} ** 2)", "jnp.max({})"), (4, 2, 2, 1))
    return dataclasses.replace(value, code=how.format(value.code), shape=())


def fitted(scope: Scope, value: Value, shape: Shape) -> Value:
    """A value in the shape that another one has."""
    code = value.code
    while len(value.shape) > len(shape):
        code = f"{code}.mean(0)" if not scope.smooth or scope.choices.chance(80) else f"{code}.sum(0)"
        value = dataclasses.replace(value, code=code, shape=value.shape[1:])
    if value.shape not in ((), shape):
        value = dataclasses.replace(value, code=f"jnp.sum({code})", shape=())
    return value


def elementwise(scope: Scope) -> None:
    """One array after another."""
    value = scope.choices.pick(scope.floats())
    how = scope.choices.pick(
        (
            *(
                "jnp.sin({})",
                "jnp.tanh({}) * 0.5",
                "{} * 0.5",
                "{} + 1.0",
                "jax.nn.relu({})",
                "jax.lax.stop_gradient({})",
            ),
            *("jnp.asarray({})", "jnp.where({0} > 0, {0}, 0.1 * {0})", "jax.tree.map(lambda q: q * 2.0, {})"),
        )
    )
    scope.let(how.format(value.code), value.shape, varies=value.varies)


def binary(scope: Scope) -> None:
    """Two arrays into one."""
    one, other = scope.choices.pick(scope.floats()), scope.choices.pick(scope.floats())
    other = fitted(scope, other, one.shape)
    how = scope.choices.pick(("{} + {}", "{} - {}", "jnp.tanh({} * {})", "jnp.maximum({}, {})", "0.9 * {} + 0.1 * {}"))
    scope.let(how.format(one.code, other.code), one.shape, varies=one.varies or other.varies)


def reduce(scope: Scope) -> None:
    """The first axis of the block away, or the last one."""
    found = scope.floats(1)
    if not found:
        return elementwise(scope)
    value = scope.choices.pick(found)
    how, shape = scope.choices.pick(
        (
            *(("{}.mean(0)", value.shape[1:]), ("{}.sum(axis=0)", value.shape[1:]), ("jnp.mean({})", ())),
            *(("{}.sum(-1)", value.shape[:-1]), ("{}[0]", value.shape[1:]), ("{}[-1]", value.shape[1:])),
            *(("jnp.max({}, axis=0)", value.shape[1:]), ("{}[:1]", (1, *value.shape[1:]))),
            *(("{}.reshape(-1)", (_size(value.shape),)), ("jnp.flip({}, 0)", value.shape)),
            *(("jnp.linalg.norm({})" if not scope.smooth else "jnp.sum({})", ()), ("{0} / {0}.shape[0]", value.shape)),
            *(("{0} * len({0})", value.shape), ("{0} / {0}.size", value.shape), ("{0} * {0}.ndim", value.shape)),
            ("jnp.cumsum({}, axis=0)", value.shape),
        )
    )
    scope.let(how.format(value.code), shape, varies=value.varies)
    return None


def collective(scope: Scope) -> None:
    """A reduction or an exchange over the mapped axis."""
    if scope.mute:
        return elementwise(scope)
    value = scope.choices.pick(scope.floats())
    code, axis = value.code, scope.axis
    if scope.choices.chance(10):
        axis = f"({axis},)"
    kind = scope.choices.pick(
        ("pmean", "psum", "pmax", "all_gather", "ppermute", "groups", "scatter", "all_to_all", "index", "tree"),
        (40, 16, 8, 10, 5, 4, 4, 3, 8, 8),
    )
    if kind == "pmax" and scope.smooth:
        kind = "pmean"
    if kind == "pmean":
        scope.let(
            f"jax.lax.pmean({code}, {scope.choices.pick((axis, 'axis_name=' + axis))})", value.shape, varies=False
        )
    elif kind == "psum":
        count = scope.choices.pick(("{n}", "jax.lax.psum(1, {axis})", "1", "jax.lax.axis_size({axis})"), (3, 3, 1, 2))
        count = count.format(n=DEVICES, axis=scope.axis)
        scope.let(f"jax.lax.psum({code}, {axis}) / {count}", value.shape, varies=False)
    elif kind == "pmax":
        scope.let(f"jax.lax.{scope.choices.pick(('pmax', 'pmin'))}({code}, {axis})", value.shape, varies=False)
    elif kind == "tree":
        tree_collective(scope, value)
    elif kind == "index":
        scope.let(f"jax.lax.axis_index({scope.axis}) * 0.25 + {code}", value.shape)
    else:
        exchange(scope, value, kind)
    return None


def tree_collective(scope: Scope, value: Value) -> None:
    """A reduction of several arrays at once."""
    other = scope.choices.pick(scope.floats())
    how = scope.choices.pick(
        (
            "jax.lax.pmean(({a}, {b}), {axis})",
            'jax.lax.pmean({{"p": {a}, "q": {b}}}, {axis}).values()',
            "jax.tree.map(lambda q: jax.lax.pmean(q, {axis}), [{a}, {b}])",
            "(jax.lax.pmean(q, {axis}) for q in ({a}, {b}))",
        )
    ).format(a=value.code, b=other.code, axis=scope.axis)
    one, two = scope.name(), scope.name()
    scope.lines.append(f"{one}, {two} = {how}")
    scope.values += [Value(one, value.shape, varies=False), Value(two, other.shape, varies=False)]


def exchange(scope: Scope, value: Value, kind: str) -> None:
    """Collectives after which devices still differ, or which have options."""
    code, axis, shape = value.code, scope.axis, value.shape
    if kind == "all_gather":
        ways: list[tuple[str, Shape]] = [("jax.lax.all_gather({}, {})", (DEVICES, *shape))]
        if shape:
            ways.append(("jax.lax.all_gather({}, {}, tiled=True)", (DEVICES * shape[0], *shape[1:])))
            ways.append(("jax.lax.all_gather({}, {}, axis=1)", (shape[0], DEVICES, *shape[1:])))
        how, shape = scope.choices.pick(ways)
        scope.let(how.format(code, axis), shape, varies=False)
    elif kind == "ppermute":
        perm = f"[(i, (i + {scope.choices.pick((1, 3))}) % {DEVICES}) for i in range({DEVICES})]"
        ways_ = (f"jax.lax.ppermute({{}}, {{}}, {perm})", "jax.lax.pshuffle({}, {}, [1, 0, 3, 2, 5, 4, 7, 6])")
        scope.let(scope.choices.pick(ways_).format(code, axis), shape)
    elif kind == "groups":
        names = ("psum", "pmean") if scope.smooth else ("psum", "pmean", "pmax")
        options = f"axis_index_groups={scope.choices.pick(GROUPS)}"
        scope.let(f"jax.lax.{scope.choices.pick(names)}({code}, {axis}, {options})", shape)
    elif kind == "scatter":
        gathered = f"jnp.stack([{code} * (i + 1) for i in range({DEVICES})])"
        scope.let(f"jax.lax.psum_scatter({gathered}, {axis})", shape)
    else:
        gathered = f"jnp.stack([{code} + i for i in range({DEVICES})])"
        scope.let(f"jax.lax.all_to_all({gathered}, {axis}, 0, 0)", (DEVICES, *shape))


def inner(
    scope: Scope, values: list[Value], mute: bool, smooth: bool = False, steps: int = 2
) -> tuple[Scope, list[str]]:
    """A scope within a body, for a function of its own, and its statements."""
    within = dataclasses.replace(scope, lines=[], values=values, mute=scope.mute or mute, smooth=scope.smooth or smooth)
    for _ in scope.choices.times(50, steps):
        scope.choices.pick(SIMPLE, SIMPLE_WEIGHTS)(within)
    return within, within.lines


def function(
    scope: Scope, parameters: list[Value], mute: bool = False, smooth: bool = False, result: Shape = ()
) -> str:
    """Defines a function in the body, and returns its name; it gives back one array of a shape."""
    name = scope.name("f")
    closed = [v for v in scope.floats() if len(v.shape) < 2][:3]
    within, lines = inner(scope, [*closed, *parameters], mute, smooth)
    floats = within.floats()
    found = fitted(within, within.choices.pick(floats) if floats else parameters[0], result)
    first = next((p for p in parameters if p.kind == "f"), None)
    code = found.code if found.shape == result else f"jnp.broadcast_to({found.code}, {result})"
    if first is not None and first.code not in code:
        code = f"{code} + jnp.mean({first.code})"
    scope.lines.append(f"def {name}({', '.join(p.code for p in parameters)}):")
    scope.lines.extend(f"    {line}" for line in (*lines, f"return {code}"))
    return name


def condition(scope: Scope) -> None:
    """One of two branches, by a number that may differ between devices."""
    value = scope.choices.pick(scope.floats())
    test, varies = scope.choices.pick(
        (
            (f"jnp.sum({value.code}) > 0.0", value.varies),
            (f"jax.lax.axis_index({scope.axis}) % 2 == 0" if not scope.mute else "True", True),
            (f"jax.lax.pmean(jnp.sum({value.code}), {scope.axis}) > 0.3" if not scope.mute else "True", False),
        )
    )
    parameter = Value(scope.name("a"), value.shape, varies=value.varies)
    branches = [function(scope, [parameter], mute=varies, result=value.shape) for _ in range(2)]
    operand = value.code
    if scope.choices.chance(20):
        index = f"({test}).astype(jnp.int32)" if test != "True" else "1"
        scope.let(f"jax.lax.switch({index}, [{branches[0]}, {branches[1]}], {operand})", value.shape)
        return
    scope.let(f"jax.lax.cond({test}, {branches[0]}, {branches[1]}, {operand})", value.shape)


def loop(scope: Scope) -> None:
    """A scan, a while loop or a counted loop."""
    value = scope.choices.pick(scope.floats())
    carry = Value(scope.name("c"), value.shape)
    kind = scope.choices.pick(("fori", "scan", "while", "python", "rows"))
    if kind == "while":
        step = function(scope, [carry], mute=True, result=value.shape)
        bound = scope.choices.pick(("3", f"jax.lax.axis_index({scope.axis}) % 3 + 1"))
        if scope.smooth or (scope.mute and "axis" in bound):
            bound = "3"
        code = f"(lambda c: c[0] < {bound}, lambda c: (c[0] + 1, {step}(c[1]) * 0.5), (0, {value.code}))[1]"
        if scope.smooth:
            scope.let(f"{step}({value.code})", value.shape)
        else:
            scope.let(f"jax.lax.while_loop{code}", value.shape)
        return
    step = function(scope, [carry], result=value.shape)
    if kind == "fori":
        scope.let(f"jax.lax.fori_loop(0, 3, lambda i, c: {step}(c) * 0.5, {value.code})", value.shape)
    elif kind == "scan":
        scope.let(f"jax.lax.scan(lambda c, _: ({step}(c) * 0.5, None), {value.code}, None, length=2)[0]", value.shape)
    elif kind == "python":
        name = scope.let(value.code, value.shape).code
        scope.lines += ["for _ in range(2):", f"    {name} = {step}({name}) * 0.5"]
    else:
        rows(scope)


def rows(scope: Scope) -> None:
    """A scan or a map over the rows of a block."""
    found = scope.floats(1)
    if not found:
        return elementwise(scope)
    value = scope.choices.pick(found)
    row = Value(scope.name("r"), value.shape[1:])
    kind = scope.choices.pick(("vmap", "scan", "map", "comprehension"))
    if kind == "vmap":
        step = function(scope, [row], mute=scope.choices.chance(50), result=row.shape)
        scope.let(f"jax.vmap({step})({value.code})", value.shape)
        return None
    step = function(scope, [row], mute=kind == "map", result=row.shape)
    if kind == "scan":
        name, ys = scope.name(), scope.name()
        code = f"jax.lax.scan(lambda c, r: (0.5 * c + {step}(r), c), jnp.zeros({row.shape}), {value.code})"
        scope.lines.append(f"{name}, {ys} = {code}")
        scope.values += [Value(name, row.shape), Value(ys, value.shape)]
    elif kind == "map":
        scope.let(f"jax.lax.map({step}, {value.code})", value.shape)
    else:
        scope.let(f"sum({step}(r) for r in {value.code})", row.shape)
    return None


def transformation(scope: Scope) -> None:
    """A gradient, remat, jit or a derivative of one's own."""
    value = scope.choices.pick(scope.floats())
    parameter = Value(scope.name("q"), value.shape)
    kinds = ("grad", "value_and_grad", "remat", "jit", "custom", "jvp", "aux", "scaled", "stored")
    kind = scope.choices.pick(kinds, (5, 4, 2, 2, 2, 1, 2, 2, 1))
    if kind in ("remat", "jit"):
        step = function(scope, [parameter], result=value.shape)
        scope.let(f"jax.{'checkpoint' if kind == 'remat' else 'jit'}({step})({value.code})", value.shape)
    elif kind == "custom":
        name = scope.name("custom")
        scope.above.append(CUSTOM.format(name=name).strip().splitlines())
        scope.let(f"{name}({value.code})", value.shape, varies=value.varies)
    elif kind == "jvp":
        step = function(scope, [parameter], smooth=True, result=())
        scope.let(f"jax.jvp({step}, ({value.code},), (jnp.ones_like({value.code}),))[1]", ())
    else:
        step = function(scope, [parameter], smooth=True, result=())
        gradient(scope, kind, step, value)


def gradient(scope: Scope, kind: str, step: str, value: Value) -> None:
    """The gradient of a function of the body, with what belongs to it."""
    if kind == "grad":
        scope.let(f"jax.grad({step})({value.code})", value.shape, prefix="g")
        return
    name, loss = scope.name("g"), scope.name("loss")
    if kind == "aux":
        code = f"jax.value_and_grad(lambda q: ({step}(q), q * 2.0), has_aux=True)({value.code})"
        aux = scope.name("aux")
        scope.lines.append(f"({loss}, {aux}), {name} = {code}")
        scope.values.append(Value(aux, value.shape))
    elif kind == "scaled":
        axis = "" if scope.mute else scope.choices.pick((f", axis_name={scope.axis}", ""))
        code = f"DynamicScale(scale=4.0).value_and_grad({step}{axis})({value.code})"
        scope.lines.append(f"_, _, {loss}, {name} = {code}")
    elif kind == "stored":
        search = f"optax.scale_by_backtracking_linesearch(2, store_grad=True).init({value.code})"
        code = f"optax.value_and_grad_from_state({step})({value.code}, state={search})"
        scope.lines.append(f"{loss}, {name} = {code}")
    else:
        scope.lines.append(f"{loss}, {name} = jax.value_and_grad({step})({value.code})")
    scope.values += [Value(loss, ()), Value(name, value.shape)]


CUSTOM = """
@jax.custom_vjp
def {name}(a):
    return jnp.sin(a) * 2.0
def {name}_fwd(a):
    return {name}(a), a
def {name}_bwd(a, g):
    return (jnp.clip(g, -1.0, 1.0) * a,)
{name}.defvjp({name}_fwd, {name}_bwd)
"""


def noise(scope: Scope) -> None:
    """Random numbers of a key in sight."""
    keys = [v for v in scope.values if v.kind == "key"]
    if not keys:
        return elementwise(scope)
    key = scope.choices.pick(keys)
    value = scope.choices.pick(scope.floats())
    code = key.code
    if not scope.mute and scope.choices.chance(40):
        code = f"jax.random.fold_in({code}, jax.lax.axis_index({scope.axis}))"
    draw = scope.choices.pick(("normal({}, {})", "bernoulli({}, 0.5, {}).astype(jnp.float32)", "uniform({}, {})"))
    scope.let(f"{value.code} + 0.1 * jax.random.{draw.format(code, value.shape)}", value.shape)
    return None


def helper(scope: Scope) -> None:
    """A function of one's own, beside the body or in another module."""
    value = scope.choices.pick(scope.floats())
    name = scope.name("helper")
    kind = scope.choices.pick(("mean", "scale", "both"))
    reduced = {
        "mean": "jax.lax.pmean(v, axis)",
        "scale": "v / (1.0 + jnp.sum(v * v))",
        "both": "jax.lax.pmean(v, axis) + v",
    }[kind if not scope.mute else "scale"]
    lines = [f"def {name}(v, axis={scope.choices.pick(('None', '0'))}):", f"    return {reduced}"]
    target, prefix = (scope.elsewhere, "layers.") if scope.choices.chance(40) else (scope.above, "")
    target.append(lines)
    argument = scope.choices.pick((scope.axis, f"axis={scope.axis}"))
    scope.let(f"{prefix}{name}({value.code}, {argument})", value.shape, varies=kind != "mean" or value.varies)


def python_if(scope: Scope) -> None:
    """A statement that Python decides while the body is traced."""
    value = scope.choices.pick(scope.floats())
    test = scope.choices.pick((f"{value.code}.ndim == {len(value.shape)}", f"len({value.code}.shape) > 1"))
    name = scope.let(value.code, value.shape, varies=value.varies).code
    other = scope.choices.pick((f"{name} * 3.0", f"{name} + 1.0"))
    scope.lines += [f"if {test}:", f"    {name} = {other}"]


def bookkeeping(scope: Scope) -> None:
    """Python's own ways of keeping values: lists, dictionaries, objects, closures, loops that take turns."""
    one, other = scope.choices.pick(scope.floats()), scope.choices.pick(scope.floats())
    other = fitted(scope, other, one.shape)
    if other.shape != one.shape:
        other = dataclasses.replace(other, code=f"jnp.broadcast_to({other.code}, {one.shape})", shape=one.shape)
    lines, result = scope.choices.pick(BOOKKEEPING)
    name = scope.name("k")
    scope.lines += [line.format(n=name, a=one.code, b=other.code) for line in lines]
    scope.let(result.format(n=name, a=one.code, b=other.code), one.shape, varies=one.varies or other.varies)


BOOKKEEPING: tuple[tuple[tuple[str, ...], str], ...] = (
    (("{n} = [{a}]", "{n}.append({b})"), "{n}[-1] * {n}[0]"),
    (('{n} = {{"p": {a}}}', '{n}["q"] = {b}', '{n}.update(p={n}["q"])'), '{n}["p"]'),
    (("{n} = SimpleNamespace(p={a})", "{n}.p = {n}.p + {b}"), "{n}.p"),
    (("{n} = ({a}, {b})", "{n}p, {n}q = {n}[::-1]"), "{n}p - 0.5 * {n}q"),
    (("def {n}(q={b}):", "    return q + {a}"), "{n}()"),
    (("{n} = {a}", "for {n}q in ({a}, {b}):", "    {n} = {n} + {n}q"), "{n}"),
    (("{n}p, {n} = {a}, {b}", "for _ in range(3):", "    {n}p, {n} = {n}, {n}p"), "{n}"),
    (("{n} = [{n}q * 0.5 for {n}q in ({a}, {b})]", "{n}.reverse()"), "{n}[0]"),
    (("{n} = {a}", "{n} += {b}"), "{n}"),
    (("try:", "    {n} = {a} + {b}", "finally:", "    {n}q = 1"), "{n} * {n}q"),
    (("*{n}p, {n} = ({a}, {a}, {b})",), "{n} + {n}p[0]"),
    (("{n} = functools.reduce(lambda p, q: p * 0.5 + q, [{a}, {b}])",), "{n}"),
    (("{n} = {{**dict(p={a}), **dict(q={b})}}",), "{n}.pop('q') + {n}['p']"),
    (("{n} = lambda *arrays: sum(arrays)",), "{n}(*[{a}, {b}])"),
    (("{n} = list(map(jnp.sin, ({a}, {b})))", "{n}p = {n}", "{n}p[0] = {b}"), "{n}[0]"),
    (("{n} = {a} if {b}.ndim > 5 else {b}",), "{n}"),
    (("{n} = []", "def {n}f(q):", "    {n}.append(q)", "{n}f({a})", "{n}f({b})"), "{n}.pop()"),
    (("for {n}i, {n} in enumerate([{a}, {b}]):", "    if {n}i == 1:", "        break"), "{n}"),
)


def by_device(scope: Scope) -> None:
    """What another device holds, or what only one of them takes."""
    if scope.mute:
        elementwise(scope)
        return
    value, axis = scope.choices.pick(scope.floats()), scope.axis
    how = scope.choices.pick(
        (
            "jnp.where(jax.lax.axis_index({axis}) == 0, {v}, {v} * 0.5)",
            "jax.lax.all_gather({v}, {axis})[jax.lax.axis_index({axis})]",
            "jax.lax.all_gather({v}, {axis})[0]",
            "jax.lax.psum(jnp.where(jax.lax.axis_index({axis}) == 2, {v}, jnp.zeros_like({v})), {axis})",
            "jax.lax.dynamic_index_in_dim(jax.lax.all_gather({v}, {axis}), jax.lax.axis_index({axis}), 0, False)",
            "jax.lax.all_gather({v}, {axis}).mean(0)",
            "{v} * jnp.arange(8.0)[jax.lax.axis_index({axis})]",
            "jax.lax.fori_loop(0, jax.lax.axis_index({axis}), lambda i, q: q * 0.5, {v})",
            "jax.lax.pmean({v}, {axis}) - {v}",
            "jax.lax.psum({v} / jax.lax.psum(1, {axis}), {axis})",
        )
    )
    if scope.smooth and "fori" in how:
        how = "{v} * 2.0"
    scope.let(how.format(v=value.code, axis=axis), value.shape)


SIMPLE: tuple[Callable[[Scope], None], ...] = (elementwise, binary, collective, reduce, noise, helper, by_device)
SIMPLE_WEIGHTS = (4, 4, 6, 3, 1, 1, 1)
STATEMENTS = (*SIMPLE, condition, loop, rows, transformation, python_if, bookkeeping)
WEIGHTS = (5, 6, 8, 5, 4, 3, 3, 3, 3, 2, 6, 2, 4)


def statements(scope: Scope, percent: int = 60, at_most: int = 8) -> None:
    """Writes some statements into a body."""
    for _ in scope.choices.times(percent, at_most):
        scope.choices.pick(STATEMENTS, WEIGHTS)(scope)
