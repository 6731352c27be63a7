"""From a combination to a program: its files, with a module `main` whose function `main()` returns arrays.

Each row's block is three arrays of shape (2, 3): `x`, `z` and `y`. What is mapped computes from them a value that
differs from row to row and one that does not, so that every kind of in_axes and out_axes has something to map.
"""

from __future__ import annotations

from tests.migrate.forms.bodies import (
    Layout,
    axis_bound,
    definition_lines,
    function_lines,
    in_processes,
    indent,
    is_decorated,
    is_nested,
    jax_of,
    layout_of,
    mapped_source,
)
from tests.migrate.forms.dimensions import Combination
from tests.migrate.forms.maps import alias_here, alias_lines, axes_of, decorator_lines, map_call, option_lines, rows_of


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
            *option_lines(combination),
            *alias_lines(combination),
        ]
        files["tools.py"] = "\n".join(lines) + "\n"
    if combination["mapped"] == "imported":
        lines = ["import jax", *function_lines("step", combination, "jax")]
        files["model.py"] = "\n".join(lines) + "\n"
    return files


def _main(combination: Combination) -> list[str]:
    local = [
        *option_lines(combination),
        *alias_here(combination),
        *definition_lines(combination),
        *_placed(combination),
    ]
    calls = _calls(combination)
    top = [*_imports(combination), *_axis_lines(combination), *_data(combination)]
    parameters = [p for p, d in (("fun", "mapped"), ("axis", "axis")) if combination[d] == "parameter"]
    if not parameters:
        return [*top, *local, "def main():", *indent(calls)]
    values = {"fun": "step", "axis": '"i"'}
    functions = function_lines("step", combination, jax_of(combination)) if "fun" in parameters else []
    run = [f"def run({', '.join(parameters)}):", *indent([*local, *calls])]
    return [*top, *functions, *run, "def main():", f"    return run({', '.join(values[p] for p in parameters)})"]


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
    order += "[:rows]" if set(rows_of(combination)) != {8} else ""
    return [
        "def placed(name, axis, rows):",
        f"    mesh = {jax}.sharding.Mesh({jax}.devices(){order}, ('placed',))",
        f"    spec = {jax}.sharding.PartitionSpec(*([] if axis is None else [None] * axis + ['placed']))",
        f"    sharding = {jax}.sharding.NamedSharding(mesh, spec)",
        f"    return {jax}.device_put(stacked(name, axis, rows), sharding)",
    ]


def _placed(combination: Combination) -> list[str]:
    """The statements that map."""
    made = map_call(combination, mapped_source(combination))
    match combination["stand"]:
        case "decorator" | "decorator_partial":
            return [*decorator_lines(combination), *function_lines("p", combination, jax_of(combination))]
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
            return [f"make = lambda function: {map_call(combination, 'function')}"]
        case "at_once":
            return []
        case "anew":
            return [f"step = {made}"]
    return [f"p = {made}"]


def _class(combination: Combination, made: str) -> list[str]:
    body = ["bias = 0.125"]
    if is_decorated(combination):
        body += [*decorator_lines(combination), *function_lines("p", combination, jax_of(combination))]
    else:
        body.append(f"p = {made}")
    return ["class Model:", *indent(body), "model_ = Model()"]


def _callee(combination: Combination) -> str:
    return {
        "attribute": "holder.p", "subscript": 'table["p"]', "dictionary": 'table["p"]', "returned": "make()",
        "lambda_body": f"make({mapped_source(combination)})",
        "at_once": map_call(combination, mapped_source(combination)),
        "method": "model_.p", "anew": "step",
    }.get(combination["stand"], "p")  # fmt: skip


def _calls(combination: Combination) -> list[str]:
    lines = ["out = []"]
    for rows in rows_of(combination):
        lines += _call(combination, rows)
    return [*lines, "return out"]


def _call(combination: Combination, rows: int) -> list[str]:
    layout = layout_of(combination)
    jax = jax_of(combination)
    axes = axes_of(combination)
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
            return [f"out.append(call({', '.join([map_call(combination, mapped_source(combination)), *arguments])}))"]
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
