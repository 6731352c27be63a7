"""Numbers of the devices of one process where those of all are meant, or the other way round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.processes import is_of_several
from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.flow.variance.lattice import OF_EQUAL
from jaxmigrate.flow.variance.suspicion import words
from jaxmigrate.program.collectives import PMAPS, SHARD_MAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

LOCAL = External("jax.local_device_count")
ALL = External("jax.device_count")
INDEX = External("jax.process_index")
SUM = "jax.lax.psum"
OF_PROCESS = re.compile(r"(^|_)(local|hosts?|process|proc)(_|$)")
OF_DEVICE = re.compile(r"device|replica|chip|gpu|shard")
BATCH = re.compile(r"batch|(^|_)bs($|_)")
MAKING = frozenset({"arange", "ones", "zeros", "full", "broadcast_to"})
LOSS = re.compile("loss|grad|metric|energy|objective|elbo|nll")


class Miscounted(NamedTuple):
    """An expression that counts the wrong devices, and what is to be said of it."""

    module: Module
    node: ast.expr
    message: str


def miscounted(facts: Facts) -> Iterator[Miscounted]:
    """Losses divided by the devices of one process and summed over all, parts of a process of so many devices."""
    yield from _divided(facts)
    for module in facts.modules:
        if "process_index" in module.text and "device_count" in module.text and not module.is_test:
            yield from _starts(module, facts)
    yield from _reshaped(facts)
    for module in facts.modules:
        if "local_device_count" in module.text and "batch" in module.text and not module.is_test:
            yield from _batches(module, facts)


def _batches(module: Module, facts: Facts) -> Iterator[Miscounted]:
    """Batches of a process that are those of one of its devices, by their names."""
    for call in module.table.calls:
        above, statement = module.table.parents.get(call), module.table.statement_of(call)
        if last_name(call.func) != LOCAL.name.rpartition(".")[2] or not isinstance(above, ast.BinOp):
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not above or len(statement.targets) != 1:
            continue
        name = last_name(statement.targets[0]).lower()
        other = above.left if above.right is call else above.right
        of_process = any(OF_PROCESS.search(word.lower()) for word in words(other))
        divides = isinstance(above.op, ast.FloorDiv) and above.right is call
        of_one = OF_PROCESS.search(name) is not None and not OF_DEVICE.search(name)
        if not (divides and of_one and BATCH.search(name)) or of_process or not _names_both(name, module):
            continue
        if facts.resolver.value(call.func, module) == LOCAL and is_of_several(module, facts.resolver):
            message = (
                "this is the batch of one process by its name, and here that of one device of it; divide by "
                "jax.process_count()"
            )
            yield Miscounted(module, above, message)


def _names_both(name: str, module: Module) -> bool:
    """Whether a module tells the batch of a process from that of a device: `local` may mean either."""
    return "local" not in name or re.search(r"device_batch|per_device|batch_per_(device|core)", module.text) is not None


def _divided(facts: Facts) -> Iterator[Miscounted]:
    """Losses and gradients that are divided by the devices of one process, where a map sums gradients over all."""
    summing = [
        found
        for found, reading in facts.readings
        if found.name in PMAPS | SHARD_MAPS
        for one in reading.reductions
        if one.name == SUM and any(v.gradient or OF_EQUAL in v.marks for v in (one.operand, *(one.operand.parts or ())))
    ]
    bodies = {
        found.function.node: found.function.module
        for found, reading in facts.readings
        if found.name in PMAPS | SHARD_MAPS and any(one.name == SUM for one in reading.reductions)
    }
    modules = {found.function.module: None for found in summing}
    for module in {**modules, **dict.fromkeys(bodies.values())}:
        for call in module.table.calls if "local_device_count" in module.text else ():
            if module not in modules and not _is_in(call, bodies, module):
                continue
            above = module.table.parents.get(call)
            divides = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Div) and above.right is call
            if not isinstance(above, ast.BinOp) or not divides:
                continue
            within = _name_around(call, module)
            if LOSS.search(f"{ast.unparse(above.left)} {within}".lower()) is None:
                continue
            if facts.resolver.value(call.func, module) == LOCAL:
                message = "divides by the devices of one process what psum adds up over those of all; write "
                yield Miscounted(module, above, f"{message}jax.device_count()")


def _starts(module: Module, facts: Facts) -> Iterator[Miscounted]:
    """`process_index() * n` where n is a share of one of the process's devices, and not the process's own."""
    for node in (one for one in module.nodes if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult)):
        for index, size in ((node.left, node.right), (node.right, node.left)):
            if _meaning(index, module, facts) != INDEX:
                continue
            divided = _held(size, module, facts)
            by = divided.right if isinstance(divided, ast.BinOp) and isinstance(divided.op, ast.FloorDiv) else None
            if by is not None and _meaning(by, module, facts) in (LOCAL, ALL):
                message = "the part of a process starts at its index times a part of one device; divide by "
                yield Miscounted(module, node, f"{message}jax.process_count()")


def _reshaped(facts: Facts) -> Iterator[Miscounted]:
    """Arguments of a pmap that have as many slices as all processes have devices."""
    told: set[ast.expr] = set()
    for found in facts.all_maps:
        if found.name not in PMAPS:
            continue
        for given, module, _ in facts.given_to(found):
            binding = nearest(given, module) if isinstance(given, ast.Name) else None
            made = binding.value if binding is not None and not binding.path else None
            first = _leading(made or _held(given, module, facts), module, facts)
            if first is None or first in told or module.is_test or _meaning(first, module, facts) != ALL:
                continue
            if is_of_several(module, facts.resolver):
                told.add(first)
                message = "pmap takes a slice for each device of this process, and here is one for those of all; write "
                yield Miscounted(module, first, f"{message}jax.local_device_count()")


def _leading(made: ast.expr, module: Module, facts: Facts) -> ast.expr | None:
    """How long the first dimension of a new array is: of `x.reshape(n, -1)`, `split(key, n)`, `arange(n)`."""
    if not isinstance(made, ast.Call) or not made.args:
        return None
    last = last_name(made.func)
    shape: ast.expr | None = None
    if last == "reshape":
        shape = next((one for one in made.args if isinstance(one, ast.Tuple | ast.BinOp)), None)
        shape = shape if shape is not None or not isinstance(made.func, ast.Attribute) else made.args[0]
    elif last == "split" and facts.resolver.value(made.func, module) == External("jax.random.split"):
        named = (k.value for k in made.keywords if k.arg == "num")
        shape = made.args[1] if len(made.args) > 1 else next(named, None)
    elif last in MAKING:
        shape = made.args[0]
    while isinstance(shape, ast.Tuple | ast.List | ast.BinOp):
        if isinstance(shape, ast.BinOp):
            if not isinstance(shape.op, ast.Add):
                break
            shape = shape.left  # `(n, -1) + x.shape[1:]`
        else:
            shape = shape.elts[0] if shape.elts else None
    return shape


def _held(node: ast.expr, module: Module, facts: Facts) -> ast.expr:
    """What a name was assigned, where it was so once."""
    return facts.resolver.assigned(node, module) if isinstance(node, ast.Name) else node


def _meaning(node: ast.expr, module: Module, facts: Facts) -> object:
    """The function that a number comes from."""
    held = _held(node, module, facts)
    return facts.resolver.value(held.func, module) if isinstance(held, ast.Call) and not held.args else None


def _is_in(node: ast.AST, functions: Mapping[FunctionNode, Module], module: Module) -> bool:
    """Whether an expression stands in one of these functions, or in one within."""
    function = module.table.function_of(node)
    while function is not None and function not in functions:
        function = module.table.function_of(module.table.parents[function])
    return function is not None


def _name_around(node: ast.AST, module: Module) -> str:
    """The name of the innermost function around that has one."""
    function = module.table.function_of(node)
    while isinstance(function, ast.Lambda):
        function = module.table.function_of(module.table.parents[function])
    return "" if function is None else function.name
