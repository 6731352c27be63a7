"""What a user can do about an array that stays stacked, the declaration or the command, and what else is known of it.

A reason is about one place. What to do depends on what stands there: a reader can be declared, a value said to be
equal, a file given.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence

from jaxmigrate.flow.layout import read_only_copies
from jaxmigrate.flow.layout.causes import NOT_ONE, Reason
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import PUTS_SLICES, REPLICATES, SPLITS
from jaxmigrate.flow.layout.values import MADE, MIXED, Blocker, Group, describe, placed, told
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import Application, External, Function

LIKELY = "or run `fix --layout likely`"
ONE_COPY = "if one device's copy is enough there, take it first: `jax_utils.unreplicate(x)` or `x[0]`"
BY_HELPERS = (
    "if it is the same on all devices, make it by `jax_utils.replicate`; if it is a batch, by `common_utils.shard`;"
    " or record a run: `fix --observe -- COMMAND`"
)
PUTS = REPLICATES | SPLITS | {PUTS_SLICES}
MOST = 8  # reasons that a story tells
LONGEST = 48  # of what stands in a reason
OPTIONS = {
    "devices": "if these are all devices, leave `devices=` out here and where its arrays are made",
    "backend": "if it is the default backend, leave `backend=` out",
    "axis_size": "leave `axis_size=` out, which the arrays say",
    "axis_name": "write the name as a literal, or as a constant of a module",
}
DOES = {
    "replicate": "is replicated",
    "split": "is split",
    "first": "has one slice taken",
    "rows": "is made with one row per device",
    "identity": "is put on the devices",
    "stack": "is passed on with a device axis",
    "read": "has its device axis read",
    "merge": "has its first two axes joined",
    "averaged": "is reduced over the devices",
    "listed": "is joined with others",
}


def of_plain(it: Interpreter, site: ast.expr, place: Sequence[int]) -> Blocker | None:
    """Where an argument comes from that is not known to be stacked, or the part of one that is a tuple."""
    index, *parts = place
    for call in it.maps.calls.values():
        if call.site is site and index < len(call.node.args):
            given = call.node.args[index]
            for part in parts:
                given = given.elts[part] if isinstance(given, ast.Tuple) and part < len(given.elts) else given
            return Blocker(NOT_ONE, call.module, given, _origin(it, given, call.module), MADE)
    return None


def _origin(it: Interpreter, given: ast.expr, module: Module) -> str:
    """What an argument is, and the line that gave its name a value."""
    said = origin(it, given, module)
    return said if isinstance(given, ast.Name) else f"{said} is not known to be stacked"


def origin(it: Interpreter, given: ast.expr, module: Module) -> str:
    """An expression, and where it is a name, what that is and the line that gave it that value."""
    if not isinstance(given, ast.Name):
        return f": `{shortened(given)}`"
    bindings = [(getattr(b.node, "lineno", 0), b) for b in it.resolver.bindings_at(given, module)]
    above = [one for one in bindings if one[0] <= given.lineno] or bindings
    if not above:
        return f": fix cannot find where `{given.id}` is assigned"
    line, binding = max(above, key=lambda one: one[0])
    if binding.value is None:
        return f": `{given.id}` gets its value in line {line}"
    return f": `{given.id}` {'comes from' if binding.path else 'is'} `{shortened(binding.value)}` (line {line})"


def shortened(node: ast.expr) -> str:
    """An expression as a reason tells it."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def advice(it: Interpreter, blocker: Reason | Blocker | None, result: str = "", *, given: bool = True) -> str:
    """What to do about one reason; empty where its cause says all that there is.

    `result` is what to declare equal, `given` whether a mapped function is given the array.
    """
    remedy = blocker.remedy if isinstance(blocker, Blocker) else None
    if not isinstance(blocker, Blocker) or remedy is None:
        return ""
    match remedy.kind:
        case "reads":
            return _reader(it, blocker, remedy.name) if given and _may_be_lent(blocker) else ONE_COPY
        case "calls":
            return f"give `fix` the file that calls it, {LIKELY}"
        case "equal" if result:
            declare = _declare(result, "equal")
            return f"reduce it with `jax.lax.pmean`; if all devices compute the same anyway, {declare}, {LIKELY}"
        case "made":
            return _of_maker(it, blocker.node, blocker.module)
        case "mixed":
            return next((_of_maker(it, value, blocker.module) for _, _, value in _others(it, blocker)), "")
        case "replaced":
            declare = _declare(remedy.name, "never-replaced")
            return f"if nothing replaces it while your program runs, {declare}, {LIKELY}"
        case "option":
            return OPTIONS.get(remedy.name, f"write `{remedy.name}` as a literal, such as a number or a tuple of them")
        case "processes":
            return "if the program never runs as several processes, write `processes = 1` in pyproject.toml"
        case "apart":
            return f"if that file is no part of the program that you run, {_declare(remedy.name, 'apart')}, {LIKELY}"
    return ""


def _declare(name: str, *keys: str) -> str:
    """What to write where."""
    lines = " or ".join(f'`{key} = ["{name}"]`' for key in keys)
    return f"declare {lines} in pyproject.toml"


def _reader(it: Interpreter, blocker: Blocker, name: str) -> str:
    """What to declare of a function that is given arrays: of a library's, or of one that is not known, by its text."""
    if name:
        return f"if `{name}` only reads its arguments, {_declare(name, 'readers')}, {LIKELY}"
    if not isinstance(blocker.node, ast.Call):
        return ""
    called = it.trust.names_of(blocker.module, ast.unparse(blocker.node.func))[-1]
    return f"if `{called}` only reads its arguments, {_declare(called, 'readers')}"


def _may_be_lent(blocker: Blocker) -> bool:
    """Whether a function that only reads could be given stacked copies: of what has a name, and not in each round."""
    call = blocker.node
    return not isinstance(call, ast.Call) or read_only_copies.may_copy(call, blocker.module)


def _others(it: Interpreter, blocker: Blocker) -> Iterator[tuple[str, Binding, ast.expr]]:
    """What else the names hold that a call is given, but for maps' results: by name, with where and what."""
    calls = {call.node for call in it.maps.calls.values()}
    for given in blocker.node.args if isinstance(blocker.node, ast.Call) else ():
        if not isinstance(given, ast.Name):
            continue
        for binding in it.resolver.bindings_at(given, blocker.module):
            value = binding.value
            if value is not None and not binding.path and value not in it.operations.ops and value not in calls:
                yield given.id, binding, value


def _of_maker(it: Interpreter, node: ast.AST, module: Module) -> str:
    """What to do about a function that made an argument: declare it, if it may be one that replicates or splits."""
    values = it.resolver.values(node, module) if isinstance(node, ast.expr) else ()
    for value in values:
        callee = value.callee if isinstance(value, Application) else None
        if isinstance(value, Application) and isinstance(callee, External) and callee.name in PUTS:
            return _on_those_devices(it, callee.name, value)
        name = it.trust.names_of(callee)[0] if isinstance(callee, Function) else getattr(callee, "name", "")
        if isinstance(callee, Function) or (isinstance(callee, External) and not _is_of_arrays(name)):
            return f"if `{name}` replicates or shards it, {_declare(name, 'replicates', 'splits')}"
    return BY_HELPERS


def _on_those_devices(it: Interpreter, name: str, made: Application) -> str:
    """What to do about one of flax's functions, or of JAX's, that puts an array on other devices than maps use."""
    listed = [*(one.expression for one in made.arguments[1:] if one.expression is not None)]
    if any(it.idioms.is_devices(one, made.module) for one in listed):
        return BY_HELPERS  # what is wrong is what lies on them
    some, function = it.idioms.some, name.rpartition(".")[2]
    if some is not None and name in SPLITS:
        return f"cut it up for the devices of the maps: `x.reshape(n, -1, *x.shape[1:])` with `n = {some.count('jax')}`"
    if some is not None:
        return f"put it on the devices of the maps: give `{function}` the list `{some.text('jax')}`"
    if listed:
        return f"if these are all devices, leave `{shortened(listed[0])}` out of `{function}`"
    return BY_HELPERS


def _is_of_arrays(name: str) -> bool:
    """Whether a function is one of JAX's, of NumPy's or of Python's, none of which replicates or splits by itself."""
    library = name.partition(".")[0]
    return library in ("jax", "numpy", "builtins") or library in sys.stdlib_module_names


def story(
    it: Interpreter, group: Group | None, why: Reason | Blocker | None, family: Sequence[Group], module: Module
) -> Iterator[str]:
    """What else is known of an array that stays stacked: what keeps it so, too, what makes it and what uses it."""
    blockers = [blocker for one in family for blocker in one.blockers.values()]
    first = str(told(why, module)) if why is not None else ""
    more = [one for one in dict.fromkeys(describe(blocker, module) for blocker in blockers) if one != first]
    yield from (f"also: {one}" for one in more[:MOST])
    if more[MOST:]:
        yield f"and {len(more) - MOST} more"
    mixed = ((one, blocker) for blocker in blockers[:MOST] if blocker.remedy == MIXED for one in _others(it, blocker))
    yield from dict.fromkeys(
        placed(f"`{name}` is `{shortened(value)}` too", binding.node, blocker.module, module)
        for (name, binding, value), blocker in mixed
    )
    if group is not None:
        ops = [op for op in it.operations.ops.values() if op.group.find() in family]
        for op in sorted(ops, key=lambda op: (op.module.path, op.node.lineno)):
            if op.kind in DOES:
                yield placed(DOES[op.kind], op.node, op.module, module)
