"""How the generated programs map: the names that pmap goes by, and its keywords."""

from __future__ import annotations

from tests.migrate.forms.bodies import CALLEES, in_processes, is_nested, jax_of, jit_static, layout_of, vmap_axes
from tests.migrate.forms.dimensions import ALIASES, Combination

AXES = {"literal": '"i"', "constant": "AXIS", "imported": "names.AXIS", "attribute": "Config.axis",
        "parameter": "axis", "none": "None", "positional": '"i"'}  # fmt: skip
OUT_AXES = {"int": "1", "none": "None", "tuple": "(0, None)", "nested": '{"a": 1, "b": (None, 0)}',
            "runtime": "tuple(axes_out)"}  # fmt: skip


def rows_of(combination: Combination) -> tuple[int, ...]:
    """The number of rows in each call."""
    if is_nested(combination):
        return {"fewer": (1,), "changing": (2, 1, 2)}.get(combination["call"], (2,))
    if in_processes(combination):
        return (4,)
    return {"fewer": (4,), "changing": (8, 4, 8)}.get(combination["call"], (8,))


def _keywords(combination: Combination) -> dict[str, str]:
    """Every keyword but the axis, as source."""
    layout = layout_of(combination)
    rows = rows_of(combination)[0]
    found: dict[str, str] = {}
    if combination["in_axes"] != "absent":
        found["in_axes"] = _in_axes(combination)
    if combination["out_axes"] != "absent":
        found["out_axes"] = OUT_AXES[combination["out_axes"]]
    if layout.static:
        found["static_broadcasted_argnums"] = str(layout.static if len(layout.static) > 1 else layout.static[0])
    if combination["donate"] != "absent":
        first = layout.parameters.index("x")
        found["donate_argnums"] = str(first) if combination["donate"] == "int" else str((first, first + 1))
    if combination["donate"] == "tuple" and combination["static"] == "tuple":
        found["donate_argnums"] = str((layout.parameters.index("x"), layout.parameters.index("z")))
    if combination["devices"] != "absent":
        found["devices"] = f"jax.devices()[::-1][:{rows}]"
    if combination["axis_size"] != "absent":
        found["axis_size"] = "8" if in_processes(combination) else str(rows)
    if combination["backend"] != "absent":
        found["backend"] = '"cpu"'
    return found


def axes_of(combination: Combination) -> dict[str, str]:
    """The axis of each array argument, as source; what is left out is mapped over axis 0."""
    match combination["in_axes"]:
        case "int":
            return {"x": "1", "z": "1", "y": "1"}
        case "none":
            return {"x": "None", "z": "None", "y": "None"}
        case "tuple":
            return {"x": "0", "z": "None", "y": "1"}
        case "list":
            return {"x": "2", "z": "0", "y": "None"}
        case "nested":
            return {"x": '{"a": 1, "b": None}', "z": "0", "y": "0"}
        case "runtime":
            return {"x": "1", "z": "0", "y": "None"}
    return {"x": "0", "z": "0", "y": "0"}


def _in_axes(combination: Combination) -> str:
    if combination["in_axes"] in ("int", "none"):
        return {"int": "1", "none": "None"}[combination["in_axes"]]
    axes = axes_of(combination)
    layout = layout_of(combination)
    passed = (("self",) if layout.owner else ()) + layout.positional
    entries = [axes.get(name, "None") for name in passed]
    if combination["in_axes"] == "runtime":
        return f"tuple(a for a in axes_in[:{len(entries)}])"
    return f"[{', '.join(entries)}]" if combination["in_axes"] == "list" else f"({', '.join(entries)},)"


def option_lines(combination: Combination) -> list[str]:
    """What the keywords lean on: axes known at run time only, and a dictionary that `**` passes."""
    jax = jax_of(combination)
    layout = layout_of(combination)
    lines: list[str] = []
    if combination["in_axes"] == "runtime":
        axes = axes_of(combination)
        lines.append(f"axes_in = [{', '.join(axes.get(name, 'None') for name in layout.parameters)}]")
    if combination["out_axes"] == "runtime":
        lines.append("axes_out = [1, None]")
    if combination["kwargs"] != "absent":
        items = ", ".join(f"{k!r}: {v}" for k, v in _keywords(combination).items()).replace(
            "jax.devices", f"{jax}.devices"
        )
        lines.append(f"OPTIONS = {{{items}}}")
    return lines


def _passed(combination: Combination, axis: bool = True) -> list[str]:
    """The arguments after the function, as source."""
    found: list[str] = []
    if axis and combination["axis"] == "positional":
        found.append(AXES["positional"])
    elif axis and combination["axis"] != "absent":
        found.append(f"axis_name={AXES[combination['axis']]}")
    if combination["kwargs"] != "absent":
        return [*found, "**OPTIONS"]
    jax = jax_of(combination)
    return [*found, *(f"{k}={v}".replace("jax.devices", f"{jax}.devices") for k, v in _keywords(combination).items())]


def _binds_all(combination: Combination) -> bool:
    """Whether the alias has to hold every keyword, since a bare decorator passes none."""
    return combination["stand"] == "decorator"


def _binds_axis(combination: Combination) -> bool:
    named = combination["named"].startswith("alias") and combination["axis"] not in ("absent", "none", "positional")
    return named and not (combination["axis"] == "parameter" and combination["named"] == "alias_elsewhere")


def alias_here(combination: Combination) -> list[str]:
    return alias_lines(combination) if combination["named"].endswith("_here") else []


def alias_lines(combination: Combination) -> list[str]:
    """The project's own name for pmap."""
    everything = _passed(combination)
    if combination["named"].startswith("wrapper"):
        if _binds_all(combination):
            return ["def mapper(fun):", f"    return jax.pmap({', '.join(['fun', *everything])})"]
        return ["def mapper(fun, axis_name=None, **options):", "    return jax.pmap(fun, axis_name, **options)"]
    bound = everything if _binds_all(combination) else everything[:1] if _binds_axis(combination) else []
    return [f"mapper = functools.partial(jax.pmap, {', '.join(bound)})" if bound else "mapper = jax.pmap"]


def map_call(combination: Combination, function: str) -> str:
    """The call that maps a function."""
    axis = not (combination["named"] in ALIASES and _binds_axis(combination))
    return f"{CALLEES[combination['named']]}({', '.join([function, *_passed(combination, axis)])})"


def decorator_lines(combination: Combination) -> list[str]:
    callee = CALLEES[combination["named"]]
    jax = jax_of(combination)
    axis = not (combination["named"] in ALIASES and _binds_axis(combination))
    passed = _passed(combination, axis)
    bare = combination["stand"] == "decorator"
    below = {"vmap": (f"{jax}.vmap", vmap_axes(combination)), "jit": (f"{jax}.jit", jit_static(combination))}
    name, options = below.get(combination["mapped"], ("", ""))
    lower = [f"@functools.partial({name}{options})" if options else f"@{name}"] if name else []
    if is_nested(combination):
        lower = [f'@functools.partial({callee}, axis_name="j")']
    return [f"@{callee}" if bare else f"@functools.partial({', '.join([callee, *passed])})", *lower]
