"""From a combination to a program: its files, with a module `main` whose function `main()` returns arrays.

Each row's block is three arrays of shape (2, 3): `x`, `z` and `y`. What is mapped computes from them a value that
differs from row to row and one that does not, so that every kind of in_axes and out_axes has something to map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.migrate.forms.dimensions import ALIASES, Combination

AXES = {"literal": '"i"', "constant": "AXIS", "imported": "names.AXIS", "attribute": "Config.axis",
        "parameter": "axis", "none": "None", "positional": '"i"'}  # fmt: skip
CALLEES = {"import_jax": "jax.pmap", "import_as": "j.pmap", "from_import": "pmap", "from_as": "pm",
           "re_export": "pmap", "alias_here": "mapper", "alias_elsewhere": "tools.mapper",
           "wrapper_here": "mapper", "wrapper_elsewhere": "tools.mapper"}  # fmt: skip
OUT_AXES = {"int": "1", "none": "None", "tuple": "(0, None)", "nested": '{"a": 1, "b": (None, 0)}',
            "runtime": "tuple(axes_out)"}  # fmt: skip
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


def files_of(combination: Combination) -> dict[str, str]:
    """The program's files by relative path."""
    files = {"main.py": "\n".join(_main(combination)) + "\n"}
    if combination["axis"] == "imported":
        files["names.py"] = 'AXIS = "i"\n'
    if combination["named"] == "re_export":
        files["compat.py"] = "from jax import pmap\n"
    if combination["named"].endswith("elsewhere"):
        lines = [
            "import functools",
            "import jax",
            *_axis_lines(combination),
            *_options(combination),
            *_alias(combination),
        ]
        files["tools.py"] = "\n".join(lines) + "\n"
    if combination["mapped"] == "imported":
        lines = ["import jax", *_function("step", combination, "jax")]
        files["model.py"] = "\n".join(lines) + "\n"
    return files


def _main(combination: Combination) -> list[str]:
    local = [*_options(combination), *_alias_here(combination), *_definition(combination), *_placed(combination)]
    calls = _calls(combination)
    top = [*_imports(combination), *_axis_lines(combination), *_data(combination)]
    parameters = [p for p, d in (("fun", "mapped"), ("axis", "axis")) if combination[d] == "parameter"]
    if not parameters:
        return [*top, *local, "def main():", *_indent(calls)]
    values = {"fun": "step", "axis": '"i"'}
    functions = _function("step", combination, jax_of(combination)) if "fun" in parameters else []
    run = [f"def run({', '.join(parameters)}):", *_indent([*local, *calls])]
    return [*top, *functions, *run, "def main():", f"    return run({', '.join(values[p] for p in parameters)})"]


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _imports(combination: Combination) -> list[str]:
    jax = jax_of(combination)
    named = {"from_import": ["from jax import pmap"], "from_as": ["from jax import pmap as pm"],
             "re_export": ["from compat import pmap"], "alias_elsewhere": ["import tools"],
             "wrapper_elsewhere": ["import tools"]}  # fmt: skip
    return [
        "import functools",
        "import types",
        "import jax" + (" as j" if jax == "j" else ""),
        "import numpy as np",
        *named.get(combination["named"], []),
        *(["import model"] if combination["mapped"] == "imported" else []),
    ]


def _axis_lines(combination: Combination) -> list[str]:
    """What the axis name is read from, in each module that names the axis."""
    kinds = {"constant": ['AXIS = "i"'], "imported": ["import names"], "attribute": ["class Config:", '    axis = "i"']}
    return kinds.get(combination["axis"], [])


def _data(combination: Combination) -> list[str]:
    rows = (8, 2, 3) if not is_nested(combination) else (2, 4, 2, 3)
    own = f"[rows * {jax_of(combination)}.process_index() :]" if in_processes(combination) else ""
    return [
        f"BLOCKS = np.arange({8 * 6}, dtype=np.float32).reshape({rows}) / 7",
        "DATA = {'x': BLOCKS, 'z': np.cos(BLOCKS), 'y': BLOCKS - 2.3}",
        "def stacked(name, axis, rows):",
        f"    blocks = DATA[name]{own}[:rows]",
        "    return DATA[name][0] if axis is None else np.moveaxis(blocks, 0, axis)",
        *(_placing(combination) if _is_placed(combination) else []),
    ]


def _is_placed(combination: Combination) -> bool:
    return combination["donate"] != "absent" and not is_nested(combination) and not in_processes(combination)


def _placing(combination: Combination) -> list[str]:
    """Donated arrays lie where the map wants them, as a former step leaves them."""
    jax = jax_of(combination)
    order = "[::-1]" if combination["devices"] != "absent" else ""
    return [
        "def placed(name, axis, rows):",
        f"    mesh = {jax}.sharding.Mesh({jax}.devices(){order}[:rows], ('placed',))",
        f"    spec = {jax}.sharding.PartitionSpec(*([] if axis is None else [None] * axis + ['placed']))",
        f"    sharding = {jax}.sharding.NamedSharding(mesh, spec)",
        f"    return {jax}.device_put(stacked(name, axis, rows), sharding)",
    ]


# What is mapped


def _function(name: str, combination: Combination, jax: str, scale: str = "") -> list[str]:
    parameters = _parameters(combination, scale)
    a, b, steps = _values(combination, jax)
    return [f"def {name}({parameters}):", *_indent([*steps, f"return {_returned(combination, a, b)}"])]


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


def _is_decorated(combination: Combination) -> bool:
    decorated = ("def", "vmap", "jit", "nested")
    stand = combination["stand"]
    return stand.startswith("decorator") or (stand == "method" and combination["mapped"] in decorated)


def _definition(combination: Combination) -> list[str]:
    """The statements that the mapped expression needs, where it is no decorated def."""
    if _is_decorated(combination):
        return []
    jax = jax_of(combination)
    step = _function("step", combination, jax)
    match combination["mapped"]:
        case "def" | "vmap" | "jit" | "nested":
            return step
        case "partial":
            return _scaled(_function("step", combination, jax, "scale"))
        case "method":
            own = [line.replace("def step(", "def step(net, ", 1) for line in step]
            return ["class Net:", *_indent(own), "net = Net()"]
        case "attribute":
            return [*step, "net = types.SimpleNamespace(apply=step)"]
        case "factory":
            return ["def make_step(scale):", *_indent([*_scaled(step), "return step"])]
    return []


def _scaled(function: list[str]) -> list[str]:
    """A function that uses `scale`, which a partial or an enclosing function gives it."""
    return [line.replace("v = ", "v = scale * ") for line in function]


def _mapped(combination: Combination) -> str:
    jax = jax_of(combination)
    match combination["mapped"]:
        case "lambda":
            return _lambda(combination)
        case "partial":
            return "functools.partial(step, scale=2.0)"
        case "nested":
            return f'{CALLEES[combination["named"]]}(step, axis_name="j")'
        case "vmap":
            return f"{jax}.vmap(step{_vmap_axes(combination)})"
        case "jit":
            return f"{jax}.jit(step{_jit_static(combination)})"
    return {
        "method": "net.step", "attribute": "net.apply", "factory": "make_step(2.0)", "imported": "model.step",
        "parameter": "fun",
    }.get(combination["mapped"], "step")  # fmt: skip


def _vmap_axes(combination: Combination) -> str:
    layout = layout_of(combination)
    passed = (("self",) if layout.owner else ()) + layout.positional
    axes = ["None" if name in ("self", "n", "g") else "0" for name in passed]
    return f", in_axes=({', '.join(axes)},)" if "None" in axes else ""


def _jit_static(combination: Combination) -> str:
    static = layout_of(combination).static
    return f", static_argnums={static}" if static else ""


# How it is mapped


def _keywords(combination: Combination) -> dict[str, str]:
    """Every keyword but the axis, as source."""
    layout = layout_of(combination)
    rows = _rows(combination)[0]
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


def _axes(combination: Combination) -> dict[str, str]:
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
    axes = _axes(combination)
    layout = layout_of(combination)
    passed = (("self",) if layout.owner else ()) + layout.positional
    entries = [axes.get(name, "None") for name in passed]
    if combination["in_axes"] == "runtime":
        return f"tuple(a for a in axes_in[:{len(entries)}])"
    return f"[{', '.join(entries)}]" if combination["in_axes"] == "list" else f"({', '.join(entries)},)"


def _options(combination: Combination) -> list[str]:
    """What the keywords lean on: axes known at run time only, and a dictionary that `**` passes."""
    jax = jax_of(combination)
    layout = layout_of(combination)
    lines: list[str] = []
    if combination["in_axes"] == "runtime":
        axes = _axes(combination)
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


def _alias_here(combination: Combination) -> list[str]:
    return _alias(combination) if combination["named"].endswith("_here") else []


def _alias(combination: Combination) -> list[str]:
    """The project's own name for pmap."""
    everything = _passed(combination)
    if combination["named"].startswith("wrapper"):
        if _binds_all(combination):
            return ["def mapper(fun):", f"    return jax.pmap({', '.join(['fun', *everything])})"]
        return ["def mapper(fun, axis_name=None, **options):", "    return jax.pmap(fun, axis_name, **options)"]
    bound = everything if _binds_all(combination) else everything[:1] if _binds_axis(combination) else []
    return [f"mapper = functools.partial(jax.pmap, {', '.join(bound)})" if bound else "mapper = jax.pmap"]


def _map(combination: Combination, function: str) -> str:
    """The call that maps a function."""
    axis = not (combination["named"] in ALIASES and _binds_axis(combination))
    return f"{CALLEES[combination['named']]}({', '.join([function, *_passed(combination, axis)])})"


def _decorators(combination: Combination) -> list[str]:
    callee = CALLEES[combination["named"]]
    jax = jax_of(combination)
    axis = not (combination["named"] in ALIASES and _binds_axis(combination))
    passed = _passed(combination, axis)
    bare = combination["stand"] == "decorator"
    below = {"vmap": (f"{jax}.vmap", _vmap_axes(combination)), "jit": (f"{jax}.jit", _jit_static(combination))}
    name, options = below.get(combination["mapped"], ("", ""))
    lower = [f"@functools.partial({name}{options})" if options else f"@{name}"] if name else []
    if is_nested(combination):
        lower = [f'@functools.partial({callee}, axis_name="j")']
    return [f"@{callee}" if bare else f"@functools.partial({', '.join([callee, *passed])})", *lower]


# Where it stands, and how it is called


def _placed(combination: Combination) -> list[str]:
    """The statements that map."""
    made = _map(combination, _mapped(combination))
    match combination["stand"]:
        case "decorator" | "decorator_partial":
            return [*_decorators(combination), *_function("p", combination, jax_of(combination))]
        case "method":
            return _class(combination, made)
        case "attribute":
            return ["class Holder:", "    pass", "holder = Holder()", f"holder.p = {made}"]
        case "subscript":
            return ["table = {}", f'table["p"] = {made}']
        case "dictionary":
            return [f'table = {{"p": {made}}}']
        case "returned":
            return ["def make():", f"    return {made}"]
        case "argument":
            return ["def call(fun_, *args, **kwargs):", "    return fun_(*args, **kwargs)"]
        case "conditional":
            return [f"p = {made} if len(DATA) else None"]
        case "lambda_body":
            return [f"make = lambda function: {_map(combination, 'function')}"]
        case "at_once":
            return []
    return [f"p = {made}"]


def _class(combination: Combination, made: str) -> list[str]:
    body = ["bias = 0.125"]
    if _is_decorated(combination):
        body += [*_decorators(combination), *_function("p", combination, jax_of(combination))]
    else:
        body.append(f"p = {made}")
    return ["class Model:", *_indent(body), "model_ = Model()"]


def _callee(combination: Combination) -> str:
    return {
        "attribute": "holder.p", "subscript": 'table["p"]', "dictionary": 'table["p"]', "returned": "make()",
        "lambda_body": f"make({_mapped(combination)})", "at_once": _map(combination, _mapped(combination)),
        "method": "model_.p",
    }.get(combination["stand"], "p")  # fmt: skip


def _rows(combination: Combination) -> tuple[int, ...]:
    """The number of rows in each call."""
    if is_nested(combination):
        return {"fewer": (1,), "changing": (2, 1, 2)}.get(combination["call"], (2,))
    if in_processes(combination):
        return (4,)
    return {"fewer": (4,), "changing": (8, 4, 8)}.get(combination["call"], (8,))


def _calls(combination: Combination) -> list[str]:
    lines = ["out = []"]
    for rows in _rows(combination):
        lines += _call(combination, rows)
    return [*lines, "return out"]


def _call(combination: Combination, rows: int) -> list[str]:
    layout = layout_of(combination)
    jax = jax_of(combination)
    axes = _axes(combination)
    make = "placed" if _is_placed(combination) else "stacked"
    lines = [f"{p} = {_array(p, axes[p] if p in layout.positional else '0', rows, make)}" for p in ("x", "z", "y")]
    values = {"n": "3", "g": f"{jax}.numpy.tanh", "x": "x", "z": "z", "y": "y"}
    keyword = [f"{p}={p}" for p in layout.keyword]
    arguments = [*(values[p] for p in layout.positional), *keyword]
    if combination["call"] == "star":
        lines.append(f"args = ({', '.join(arguments)},)")
        arguments = ["*args"]
    lines += _called(combination, arguments, keyword, layout)
    whole = "none" in (combination["in_axes"], combination["out_axes"])
    if make == "placed" and combination["donate"] == "int" and not whole:  # of several donors XLA takes which it likes
        fits = f"{{leaf.shape for leaf in {jax}.tree.leaves(out)}}"
        lines.append(f"gone = [leaf.is_deleted() for leaf in {jax}.tree.leaves(x) if leaf.shape in {fits}]")
        lines.append("out.append(np.array(gone))")
    return lines


def _array(name: str, axis: str, rows: int, make: str) -> str:
    if axis.startswith("{"):
        return f'{{"a": {_array(name, "1", rows, make)}, "b": {_array(name, "None", rows, make)}}}'
    return f"{make}({name!r}, {axis}, {rows})"


def _called(combination: Combination, arguments: list[str], keyword: list[str], layout: Layout) -> list[str]:
    listed = ", ".join(arguments)
    callee = _callee(combination)
    match combination["stand"]:
        case "argument":
            return [f"out.append(call({', '.join([_map(combination, _mapped(combination)), *arguments])}))"]
        case "lower":
            arrays = ", ".join([*(p for p in layout.positional if p in "xzy"), *keyword])
            return [f"out.append({callee}.lower({listed}).compile()({arrays}))"]
        case "wrapped":
            return [f"out.append({callee}({listed}))", *_unmapped(combination, callee, layout)]
    return [f"out.append({callee}({listed}))"]


def _unmapped(combination: Combination, callee: str, layout: Layout) -> list[str]:
    """The function behind `__wrapped__`, which has no axis of its own any more."""
    jax = jax_of(combination)
    static = {"n": "3", "g": f"{jax}.numpy.tanh"}
    blocks = [p for p in ("x", "z", "y") if p in (*layout.positional, *layout.keyword)]
    axis = ", axis_name='i'" if axis_bound(combination) else ""
    nested = combination["in_axes"] == "nested"
    passed = [*(static.get(p, p) for p in layout.positional), *(f"{p}={p}" for p in layout.keyword)]
    x = "{'a': BLOCKS, 'b': BLOCKS}" if nested else "BLOCKS"
    values = [x if p == "x" else f"DATA[{p!r}]" for p in blocks]
    function = f"lambda {', '.join(blocks)}: {callee}.__wrapped__({', '.join(passed)})"
    return [f"out.append({jax}.vmap({function}{axis})({', '.join(values)}))"]
