"""The functions that the generated programs map, and what their callers pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.migrate.forms.dimensions import Combination

CALLEES = {"import_jax": "jax.pmap", "import_as": "j.pmap", "from_import": "pmap", "from_as": "pm",
           "re_export": "pmap", "alias_here": "mapper", "alias_elsewhere": "tools.mapper",
           "wrapper_here": "mapper", "wrapper_elsewhere": "tools.mapper"}  # fmt: skip
RETURNED = {"none": "({b}, {b} * 2)", "nested": '{{"a": {a}, "b": ({b}, {a})}}'}


@dataclass(frozen=True, slots=True)
class Layout:
    """The arguments of a combination's function, in order, and which of them a call passes how.

    `positional` and `keyword` name what is passed; the others keep their defaults. `owner` says that the first
    parameter is the object of a method.
    """

    parameters: tuple[str, ...]
    positional: tuple[str, ...]
    keyword: tuple[str, ...]
    owner: bool

    @property
    def static(self) -> tuple[int, ...]:
        """The positions of what is static."""
        return tuple(i for i, name in enumerate(self.parameters) if name in ("self", "n", "g"))


def layout_of(combination: Combination) -> Layout:
    """What the function takes and what its callers pass."""
    owner = combination["stand"] == "method"
    arrays = {"absent": ("x", "z", "y"), "int": ("n", "x", "z", "y"), "tuple": ("n", "x", "g", "z", "y")}
    parameters = arrays[combination["static"]]
    by_keyword: tuple[str, ...] = ()
    if combination["call"] == "keyword":
        by_keyword = ("z", "y") if combination["in_axes"] == "absent" else ("y",)
    left_out = (*by_keyword, *(("y",) if combination["call"] == "defaults" else ()))
    positional = tuple(p for p in parameters if p not in left_out)
    return Layout((("self",) if owner else ()) + parameters, positional, by_keyword, owner)


def jax_of(combination: Combination) -> str:
    """What the program calls jax."""
    return "j" if combination["named"] == "import_as" else "jax"


def axis_bound(combination: Combination) -> bool:
    """Whether the mapped axis has a name."""
    return combination["axis"] not in ("absent", "none")


def is_nested(combination: Combination) -> bool:
    """Whether a map is mapped."""
    return combination["mapped"] == "nested"


def in_processes(combination: Combination) -> bool:
    """Whether the program is for two processes, each of which has four of the eight rows."""
    return "processes" in combination


def indent(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def function_lines(name: str, combination: Combination, jax: str, scale: str = "") -> list[str]:
    parameters = _parameters(combination, scale)
    a, b, steps = _values(combination, jax)
    return [f"def {name}({parameters}):", *indent([*steps, f"return {_returned(combination, a, b)}"])]


def _parameters(combination: Combination, scale: str = "") -> str:
    names = [p if p != "y" else "y=1.5" for p in layout_of(combination).parameters]
    return ", ".join([*names, *(["*", "scale=1.0"] if scale else [])])


def _values(combination: Combination, jax: str, inline: bool = False) -> tuple[str, str, list[str]]:
    """The expressions of the two results, and the statements before them, none if `inline`."""
    layout = layout_of(combination)
    x = '(x["a"] * 2 + x["b"])' if combination["in_axes"] == "nested" else "x"
    value = f"{x} * z" + (" + n" if "n" in layout.parameters else "") + (" + self.bias" if layout.owner else "")
    value = f"g({value})" if "g" in layout.parameters else f"({value})"
    steps = [] if inline else [f"v = {value}"]
    a = f"({value if inline else 'v'} + y)"
    b = "(z * y)"
    if axis_bound(combination):
        a = f"({a} + {jax}.lax.axis_index('i') * 0.25)"
        b = f"{jax}.lax.pmean({b}, 'i')"
    if is_nested(combination):
        a = f"({a} - {jax}.lax.psum(z, 'j'))"
        b = f"{jax}.lax.pmax({b}, 'j')"
    return a, b, steps


def _returned(combination: Combination, a: str, b: str) -> str:
    return RETURNED.get(combination["out_axes"], "({a}, {b})").format(a=a, b=b)


def _lambda(combination: Combination) -> str:
    a, b, _ = _values(combination, jax_of(combination), inline=True)
    return f"lambda {_parameters(combination)}: {_returned(combination, a, b)}"


def is_decorated(combination: Combination) -> bool:
    decorated = ("def", "vmap", "jit", "nested")
    stand = combination["stand"]
    return stand.startswith("decorator") or (stand == "method" and combination["mapped"] in decorated)


def definition_lines(combination: Combination) -> list[str]:
    """The statements that the mapped expression needs, where it is no decorated def."""
    if is_decorated(combination):
        return []
    jax = jax_of(combination)
    step = function_lines("step", combination, jax)
    match combination["mapped"]:
        case "def" | "vmap" | "jit" | "nested":
            return step
        case "partial":
            return _scaled(function_lines("step", combination, jax, "scale"))
        case "method":
            own = [line.replace("def step(", "def step(net, ", 1) for line in step]
            return ["class Net:", *indent(own), "net = Net()"]
        case "attribute":
            return [*step, "net = types.SimpleNamespace(apply=step)"]
        case "factory":
            return ["def make_step(scale):", *indent([*_scaled(step), "return step"])]
    return []


def _scaled(function: list[str]) -> list[str]:
    """A function that uses `scale`, which a partial or an enclosing function gives it."""
    return [line.replace("v = ", "v = scale * ") for line in function]


def mapped_source(combination: Combination) -> str:
    jax = jax_of(combination)
    match combination["mapped"]:
        case "lambda":
            return _lambda(combination)
        case "partial":
            return "functools.partial(step, scale=2.0)"
        case "nested":
            return f'{CALLEES[combination["named"]]}(step, axis_name="j")'
        case "vmap":
            return f"{jax}.vmap(step{vmap_axes(combination)})"
        case "jit":
            return f"{jax}.jit(step{jit_static(combination)})"
    return {
        "method": "net.step", "attribute": "net.apply", "factory": "make_step(2.0)", "imported": "model.step",
        "parameter": "fun",
    }.get(combination["mapped"], "step")  # fmt: skip


def vmap_axes(combination: Combination) -> str:
    layout = layout_of(combination)
    passed = (("self",) if layout.owner else ()) + layout.positional
    axes = ["None" if name in ("self", "n", "g") else "0" for name in passed]
    return f", in_axes=({', '.join(axes)},)" if "None" in axes else ""


def jit_static(combination: Combination) -> str:
    static = layout_of(combination).static
    return f", static_argnums={static}" if static else ""
