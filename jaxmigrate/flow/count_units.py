"""Numbers whose names say of which devices they are: of one, of those of one process, or of all of them.

`global_batch = per_device_batch * local_device_count()` is a contradiction of names, in a program of several processes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.process_counts import ALL, LOCAL, Miscounted
from jaxmigrate.flow.processes import is_of_several
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

PROCESSES = External("jax.process_count")
CALLS = {
    "device_count": ALL,
    "local_device_count": LOCAL,
    "process_count": PROCESSES,
    "host_count": PROCESSES,
}
OF_DEVICE = re.compile(
    r"(^|_)(per_)?(device|dev|core|chip|gpu|replica)_(train_|eval_)?(batch|bs|bsz)|(_|^)per_(device|core|chip|gpu|replica)(_|$)"
)
OF_PROCESS = re.compile(
    r"(^|_)(local|per_host|per_process|host|process|proc)_(\w+_)?(batch|bs|bsz)|batch\w*_per_(host|process)|(^|_)(batch|bs)\w*_(local|host|process)(_|$)"
)
OF_ALL = re.compile(r"(^|_)(global|world|effective)_(\w+_)?(batch|bs|bsz)|batch\w*_(global|world)")
DEVICES = re.compile(r"(^|_)(devices?|n_dev|num_dev)(_count|s)?$|device_count$|num_(\w+_)?devices$|n_(\w+_)?devices$")
OTHERS = re.compile(r"(process_index|host_id)\(\) (!=|>) 0$")  # tests for all processes but the first
WORLD = re.compile(r"(^|_)(global|world|total|all)(_|$)")
STEPPED = frozenset({"arange", "range", "trange"})
OWN = re.compile(r"(^|_)(local|per_host|per_process|host|process)(_|$)")


class Unit(NamedTuple):
    """How often a number holds the devices of a process, and the processes."""

    local: int
    processes: int


ONE, PROCESS, WHOLE = Unit(0, 0), Unit(1, 0), Unit(1, 1)
COUNTED = {LOCAL: Unit(1, 0), PROCESSES: Unit(0, 1), ALL: Unit(1, 1)}
SAID = {ONE: "one device", PROCESS: "one process", WHOLE: "all processes"}
WRITTEN = {count: f"{value.name}()" for value, count in COUNTED.items()}


def mistaken_units(facts: Facts) -> Iterator[Miscounted]:
    """Numbers that are not of those devices that their names say."""
    for module in facts.modules:
        text = module.text
        if module.is_test or not any(f"{word}(" in text for word in CALLS):
            continue
        if is_of_several(module, facts.resolver):
            for name, value in _named(module):
                if _is_of_one_process(value, module):
                    continue
                yield from _counts(name, value, module, facts)
                yield from _products(name, value, module, facts)


def _is_of_one_process(node: ast.expr, module: Module) -> bool:
    """Whether other processes have left the function above: `if jax.process_index() != 0: return`."""
    function = module.table.function_of(node)
    above = [one for one in function.body if one.lineno < node.lineno] if isinstance(function, ast.FunctionDef) else []
    return any(
        isinstance(one, ast.If) and isinstance(one.body[-1], ast.Return) and OTHERS.search(ast.unparse(one.test))
        for one in above
    )


def _named(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """What is given a name: assignments, keywords, and the entries of dictionaries."""
    for node in module.nodes:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                yield last_name(target).lower(), value
            case ast.keyword(arg=str(name), value=value):
                yield name.lower(), value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value.lower(), value


def _counts(name: str, value: ast.expr, module: Module, facts: Facts) -> Iterator[Miscounted]:
    """`global_device_count=local_device_count()`, and `local_devices = device_count()`."""
    count = _count(value, module, facts)
    if count not in (LOCAL, ALL) or not DEVICES.search(name):
        return
    if count == LOCAL and (WORLD.search(name) or (not OWN.search(name) and _has_both(name, value, module))):
        whose, other = "those of one process", "jax.device_count()"
    elif count == ALL and OWN.search(name) and not WORLD.search(name):
        whose, other = "those of all processes", "jax.local_device_count()"
    else:
        return
    yield Miscounted(module, value, f"{name} counts other devices by its name, and here {whose}; write {other}")


def _has_both(name: str, value: ast.expr, module: Module) -> bool:
    """Whether the function around has another name for the devices of its process: `local_device_count` beside it."""
    function = module.table.function_of(value)
    names = {f"local_{name}", f"num_local_{name.removeprefix('num_')}", f"n_local_{name.removeprefix('n_')}"}
    scope = module.table.own_scope.get(function) if function is not None else None
    return scope is not None and not names.isdisjoint(scope.bindings)


def _is_step(name: str, value: ast.expr, module: Module) -> bool:
    """Whether a number is how far a loop goes at once, through all that there is: any will do."""
    function = module.table.function_of(value)
    ranges = (one for one in module.table.calls if last_name(one.func) in STEPPED and len(one.args) == 3)
    steps = (one.args[2] for one in ranges if module.table.function_of(one) is function)
    return any(isinstance(one, ast.Name) and one.id == name for one in steps)


def _products(name: str, value: ast.expr, module: Module, facts: Facts) -> Iterator[Miscounted]:
    """Products and quotients of a number of known devices, that get a name of others than they are of."""
    wanted = _unit(name)
    while isinstance(value, ast.Call) and last_name(value.func) == "int" and len(value.args) == 1:
        value = value.args[0]
    if wanted is None or not isinstance(value, ast.BinOp):
        return
    base: list[tuple[str, Unit]] = []
    counts: list[tuple[External, int]] = []
    for factor, sign in _factors(value, 1):
        count = _count(factor, module, facts)
        if count is not None:
            counts.append((count, sign))
        elif (unit := _unit(last_name(factor).lower())) is not None:
            base += [(last_name(factor), unit)] if sign > 0 else [("", ONE), ("", ONE)]
        elif isinstance(factor, ast.BinOp):
            return
    if len(base) != 1 or len(counts) != 1:
        return
    (of, unit), (count, sign) = base[0], counts[0]
    found = Unit(unit.local + sign * COUNTED[count].local, unit.processes + sign * COUNTED[count].processes)
    meant = Unit(sign * (wanted.local - unit.local), sign * (wanted.processes - unit.processes))
    if found == wanted or meant not in WRITTEN or _is_step(name, value, module):
        return
    message = (
        f"{name} is of {SAID[wanted]} by its name, and {of} of {SAID[unit]}: between them lies "
        f"{WRITTEN[meant]}, not {count.name}()"
    )
    yield Miscounted(module, value, message)


def _factors(node: ast.expr, sign: int) -> Iterator[tuple[ast.expr, int]]:
    """What is multiplied, and what it is divided by."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.FloorDiv() as op, right=right):
            yield from _factors(left, sign)
            yield from _factors(right, sign if isinstance(op, ast.Mult) else -sign)
        case _:
            yield node, sign


def _unit(name: str) -> Unit | None:
    """Which devices a number is of, by its name; None where it says nothing, or two things."""
    found = [unit for unit, said in ((ONE, OF_DEVICE), (PROCESS, OF_PROCESS), (WHOLE, OF_ALL)) if said.search(name)]
    return found[0] if len(found) == 1 else None


def _count(node: ast.expr, module: Module, facts: Facts) -> External | None:
    """What a number counts, by its call or the one assignment of its name."""
    held = facts.resolver.assigned(node, module) if isinstance(node, ast.Name) else node
    if not isinstance(held, ast.Call) or held.args or held.keywords or last_name(held.func) not in CALLS:
        return None
    value = facts.resolver.value(held.func, module)
    return CALLS[last_name(held.func)] if isinstance(value, External) and value.name.startswith("jax.") else None
