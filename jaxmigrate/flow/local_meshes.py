"""Meshes of the devices of all processes whose shape counts those of one: they cannot be made on several."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.process_counts import LOCAL, Miscounted
from jaxmigrate.flow.processes import is_of_several
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver


def local_meshes(facts: Facts) -> Iterator[Miscounted]:
    """Such shapes, in programs that say that they run as several processes."""
    for mesh in facts.meshes:
        if mesh.shape is None or "local_device_count" not in mesh.shape[1].text or mesh.module.is_test:
            continue
        node, module = mesh.shape
        count = _count(node, module, facts.resolver)
        if count is None or _has_devices(node, module) or _has_devices(mesh.call, mesh.module):
            continue
        if is_of_several(mesh.module, facts.resolver) and not _asks_how_many(mesh.call, mesh.module):
            message = "the mesh is made of the devices of all processes, and this counts those of one"
            yield Miscounted(module, count, f"{message}: write jax.device_count(), or give it jax.local_devices()")


def _count(shape: ast.expr, module: Module, resolver: Resolver) -> ast.expr | None:
    """The one length of a shape that is not 1, where that is the number of devices of one process."""
    held = resolver.container(shape, module)
    elements = held[0].elts if held is not None and isinstance(held[0], ast.Tuple | ast.List) else [shape]
    others = [one for one in elements if not (isinstance(one, ast.Constant) and one.value == 1)]
    made = resolver.assigned(others[0], module) if len(others) == 1 else None
    local = isinstance(made, ast.Call) and not made.args and resolver.value(made.func, module) == LOCAL
    return others[0] if local else None


def _has_devices(node: ast.expr, module: Module) -> bool:
    """Whether what a shape is given to is given devices, too: of one process, or whatever else."""
    call = node if isinstance(node, ast.Call) else module.table.parents.get(node)
    if not isinstance(call, ast.Call):
        return True
    if any(one.arg in ("devices", None) for one in call.keywords):
        return True
    return "local_devices" in ast.unparse(call) or (node in call.args and call.args.index(node) == 0 and _second(call))


def _asks_how_many(node: ast.AST, module: Module) -> bool:
    """Whether something runs under a condition on the number of processes."""
    above = module.table.parents.get(node)
    while above is not None:
        if isinstance(above, ast.If | ast.IfExp) and "process_count" in ast.unparse(above.test):
            return True
        above = module.table.parents.get(above)
    return False


def _second(call: ast.Call) -> bool:
    """Whether devices stand behind a shape: `create_device_mesh(shape, devices)`."""
    return isinstance(call.func, ast.Name | ast.Attribute) and "create" in ast.unparse(call.func) and len(call.args) > 1
