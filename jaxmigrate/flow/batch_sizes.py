"""Batch sizes of all processes, of one and of one device, taken for one another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.enclosing import text_around
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.process_counts import ALL, BATCH, LOCAL, OF_DEVICE, OF_PROCESS, Miscounted
from jaxmigrate.flow.processes import is_of_several
from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.flow.variance.suspicion import words
from jaxmigrate.program.collectives import PMAPS, SHARD_MAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

PROCESSES = External("jax.process_count")
OF_ALL = re.compile(r"(^|_)(total|global|effective|world|overall)(_|$)")
OWN_BATCH = re.compile(
    r"per_(host|process)|(local|hosts?|process)_(batch|bs)|batch\w*_(local|host|process)|(^|_)bs_(local|host)"
)
RATE = re.compile(r"(^|_)(lr|learning_rate|learningrate)(_|$)")
JOINS = "make_array_from_single_device_arrays"
SUMS = frozenset({"psum"})
COUNTS = ("device_count", "process_count", "host_count")


def mistaken_batches(facts: Facts) -> Iterator[Miscounted]:
    """Batch sizes of the wrong ones, in programs that run as several processes."""
    for module in facts.modules:
        text = module.text
        if module.is_test or not any(word in text for word in COUNTS):
            continue
        if JOINS in text:  # which is for several processes
            yield from _global_shapes(module, facts)
        if is_of_several(module, facts.resolver):
            yield from _reshaped(module, facts)
        if "batch" in text and is_of_several(module, facts.resolver):
            yield from _divided_twice(module, facts)
            yield from _rates(module, facts)
            yield from _of_processes(module, facts)
    yield from _sums(facts)


def _counts(node: ast.expr, module: Module, facts: Facts) -> External | None:
    """Which devices or processes a number counts, by its call or the one assignment of its name."""
    held = facts.resolver.assigned(node, module) if isinstance(node, ast.Name) else node
    if not isinstance(held, ast.Call) or held.args or held.keywords:
        return None
    if last_name(held.func) not in ("device_count", "local_device_count", "process_count", "host_count"):
        return None
    value = facts.resolver.value(held.func, module)
    if value == External("jax.host_count"):
        return PROCESSES
    return value if isinstance(value, External) else None


def _products(module: Module) -> Iterator[ast.BinOp]:
    kinds = ast.Mult | ast.Div | ast.FloorDiv | ast.Mod
    return (one for one in module.nodes if isinstance(one, ast.BinOp) and isinstance(one.op, kinds))


def _divided_twice(module: Module, facts: Facts) -> Iterator[Miscounted]:
    """`batch // local_device_count()` where the same is the batch of all: it is divided by all processes or devices."""
    others: dict[tuple[object, ...], ast.BinOp] = {}
    mistaken: list[tuple[tuple[object, ...], ast.BinOp]] = []
    for node in _products(module):
        if isinstance(node.op, ast.Mult) or not any(BATCH.search(word.lower()) for word in words(node.left)):
            continue
        if any(OF_PROCESS.search(word.lower()) for word in words(node.left)):
            continue
        by = _counts(node.right, module, facts)
        if by in (PROCESSES, ALL, LOCAL) and (what := _identity(node.left, module)) is not None:
            if by != LOCAL:
                others.setdefault(what, node)
            elif not isinstance(node.op, ast.Mod):
                mistaken.append((what, node))
    for what, node in mistaken:
        if (other := others.get(what)) is not None:
            share = (
                "the batch of all processes, which is divided by all of their devices"
                if (_counts(other.right, module, facts) == ALL)
                else "the batch of all processes, of which each has its part"
            )
            message = (
                f"{ast.unparse(node.left)} is {share} in line {other.lineno}: divided by the devices of a process, it "
                f"is not that of a device; write jax.device_count()"
            )
            yield Miscounted(module, node, message)


def _identity(node: ast.expr, module: Module) -> tuple[object, ...] | None:
    """What tells two expressions to be the same number: the bindings of a name that are read, or a setting's path."""
    function = module.table.function_of(node)
    if isinstance(node, ast.Name):
        holder = module.table.scope_of[node].lookup(node.id)
        bindings = reaching(holder.bindings[node.id], node, module) if holder is not None else []
        return (node.id, *sorted(id(one) for one in bindings)) if bindings else None
    if isinstance(node, ast.Attribute):
        return (ast.unparse(node), function)
    return None


def _rates(module: Module, facts: Facts) -> Iterator[Miscounted]:
    """Learning rates that grow with the devices of one process."""
    for node in _products(module):
        if not isinstance(node.op, ast.Mult) or LOCAL not in (
            _counts(node.left, module, facts),
            _counts(node.right, module, facts),
        ):
            continue
        other = node.left if _counts(node.right, module, facts) == LOCAL else node.right
        statement = module.table.statement_of(node)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        name = last_name(target).lower()
        if not _names_processes(module) or not any(BATCH.search(word.lower()) for word in words(other)):
            continue
        if PROCESSES in _factors(statement, facts, module):
            continue
        of_rate = RATE.search(name) is not None
        scaled = OF_ALL.search(name) is not None and _scales_rate(target, module)
        if of_rate or scaled:
            whose = "this batch size" if of_rate else name
            message = (
                f"the learning rate grows with {whose}, which is that of one process: the gradients are those of all; "
                "write jax.device_count()"
            )
            yield Miscounted(module, node, message)


def _names_processes(module: Module) -> bool:
    """Whether a module has processes share the work, and does not only log on the first of them."""
    return any(word in module.text for word in ("process_count", "host_count", "distributed.initialize"))


def _factors(statement: ast.stmt, facts: Facts, module: Module) -> list[External | None]:
    return [_counts(one, module, facts) for one in walk(statement) if isinstance(one, ast.Call | ast.Name)]


def _scales_rate(target: ast.expr, module: Module) -> bool:
    """Whether a learning rate is multiplied or divided by what a name holds."""
    text = ast.unparse(target)
    for node in _products(module):
        statement = module.table.statement_of(node)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        rate = RATE.search(last_name(statement.targets[0]).lower()) is not None
        if rate and any(ast.unparse(one) == text for one in (node.left, node.right)):
            return True
    return False


def _of_processes(module: Module, facts: Facts) -> Iterator[Miscounted]:
    """`host_batch = per_device * device_count()`: what a process has by its name, and all have together here."""
    for node in _products(module):
        statement = module.table.statement_of(node)
        if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
            continue
        name = last_name(statement.targets[0]).lower()
        if not BATCH.search(name) or not OF_PROCESS.search(name) or OF_DEVICE.search(name):
            continue
        left, right = _counts(node.left, module, facts), _counts(node.right, module, facts)
        other = node.left if right == ALL else node.right
        of_device = any(OF_DEVICE.search(word.lower()) for word in words(other))
        if isinstance(node.op, ast.Mult) and ALL in (left, right) and of_device:
            message = "this is the batch of one process by its name, and here that of all; write "
            yield Miscounted(module, node, f"{message}jax.local_device_count()")


def _reshaped(module: Module, facts: Facts) -> Iterator[Miscounted]:
    """The batch of one process, reshaped to slices for all devices: by its name, or by what the function asks."""
    for call in module.table.calls:
        if last_name(call.func) != "reshape" or "device_count" not in module.text:
            continue
        shape = next((one for one in call.args if isinstance(one, ast.Tuple | ast.BinOp)), None)
        sizes = (
            _sizes(shape, module, facts)
            if shape is not None
            else call.args
            if isinstance(call.func, ast.Attribute)
            else []
        )
        if len(sizes) < 2 or _counts(sizes[0], module, facts) != ALL:
            continue
        names = [word.lower() for one in sizes[1:] for word in words(one)]
        if any(OWN_BATCH.search(name) and not OF_DEVICE.search(name) for name in names):
            message = "this is the batch of one process by its name, and gets a slice for each device of all; write "
            yield Miscounted(module, sizes[0], f"{message}jax.local_device_count()")
        elif other := _checked_against(call, module, facts):
            message = (
                f"line {other.lineno} asks whether the devices of this process divide the batch, and here it gets a "
                "slice for each device of all; write "
            )
            yield Miscounted(module, sizes[0], f"{message}jax.local_device_count()")


def _checked_against(call: ast.Call, module: Module, facts: Facts) -> ast.expr | None:
    """Where the function around asks whether a length is divided by the devices of the process."""
    function = _named_around(call, module)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _counts(node.right, module, facts) == LOCAL:
            return node
    return None


def _named_around(node: ast.AST, module: Module) -> ast.AST | None:
    function = module.table.function_of(node)
    while isinstance(function, ast.Lambda):
        function = module.table.function_of(module.table.parents[function])
    return function


def _global_shapes(module: Module, facts: Facts) -> Iterator[Miscounted]:
    """Global shapes of arrays that are put together of each process's parts, with the devices of one process."""
    for call in module.table.calls:
        if last_name(call.func) != JOINS or not call.args or "pmap" in text_around(call, module).lower():
            continue  # an array as pmap has it is one process's
        shape = _held(call.args[0], module)
        first = next(iter(_sizes(shape, module, facts)), None) if shape is not None else None
        factors: list[ast.expr | None]
        factors = [first] if not isinstance(first, ast.BinOp) else [first.left, first.right]
        each = [_counts(one, module, facts) for one in factors if one is not None]
        if LOCAL in each and PROCESSES not in each:
            message = "this is the length of the array on one process, and here that of the whole is asked for; write "
            yield Miscounted(module, call.args[0], f"{message}jax.device_count()")
        elif ALL in each and first is not None and (part := _divided_locally(factors, call, module)) is not None:
            message = (
                f"{part} is what a process has before it is split over its devices: the whole is as many times "
                "longer as there are processes; write jax.process_count()"
            )
            yield Miscounted(module, first, message)


def _held(node: ast.expr, module: Module) -> ast.expr | None:
    """What a shape was assigned: a name in its function, or an attribute in its class."""
    if isinstance(node, ast.Name):
        binding = nearest(node, module)
        return binding.value if binding is not None and not binding.path else None
    if isinstance(node, ast.Attribute):
        stores = [one.value for one in module.table.attributes if one.attr == node.attr]
        return stores[0] if len(stores) == 1 else None
    return node


def _divided_locally(factors: list[ast.expr | None], call: ast.Call, module: Module) -> str | None:
    """The name of the array whose length is multiplied, where the function splits it over the process's own devices."""
    function = _named_around(call, module)
    names = {one.value.value.id for one in factors if _is_length(one)}  # type: ignore[union-attr]
    for inner in ast.walk(function) if function is not None else ():
        if isinstance(inner, ast.Call) and last_name(inner.func) in ("split", "array_split") and inner.args:
            given = inner.args[0]
            text = " ".join(ast.unparse(nearest_value(one, module)) for one in (*inner.args[1:2], inner))
            if isinstance(given, ast.Name) and given.id in names and "local_dev" in text:
                return given.id
    return None


def nearest_value(node: ast.expr, module: Module) -> ast.expr:
    """What the names in `n` or `len(devices)` were assigned, or the expression itself."""
    inner = node.args[0] if isinstance(node, ast.Call) and last_name(node.func) == "len" and node.args else node
    binding = nearest(inner, module) if isinstance(inner, ast.Name) else None
    return binding.value if binding is not None and binding.value is not None else node


def _is_length(node: ast.expr | None) -> bool:
    """Whether something is `x.shape[0]`."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape"), slice=ast.Constant(value=0)):
            return True
    return False


def _sizes(shape: ast.expr, module: Module, facts: Facts) -> list[ast.expr]:
    """The sizes that a shape starts with: of `(n, b) + x.shape[1:]`, too."""
    while isinstance(shape, ast.BinOp) and isinstance(shape.op, ast.Add):
        shape = shape.left
    shape = facts.resolver.assigned(shape, module) if isinstance(shape, ast.Name) else shape
    return [*shape.elts] if isinstance(shape, ast.Tuple | ast.List) else []


def _sums(facts: Facts) -> Iterator[Miscounted]:
    """`psum(...) / local_batch_size`: what all devices of all processes have, divided by the batch of one process."""
    told: set[ast.AST] = set()
    for found, reading in facts.readings:
        if found.name not in PMAPS | SHARD_MAPS:
            continue
        for one in reading.reductions:
            above = one.module.table.parents.get(one.node)
            if last_name(getattr(one.node, "func", one.node)) not in SUMS or not isinstance(above, ast.BinOp):
                continue
            if not isinstance(above.op, ast.Div) or above.left is not one.node or above in told:
                continue
            name = last_name(above.right).lower()
            if BATCH.search(name) and OF_PROCESS.search(name) and not OF_DEVICE.search(name):
                told.add(above)
                message = (
                    f"psum adds up over the devices of all processes, and {name} is the batch of one by its name: "
                    "divide by that of all"
                )
                yield Miscounted(one.module, above, message)
