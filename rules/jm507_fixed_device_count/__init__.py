"""JM507: a mesh is for a number of devices that is written down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.eager import is_top_level
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.meshes import MeshCall, fixed_size
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Constant, Parameter

CODE = "JM507"
EXAMPLES = re.compile("examples?|tutorials?|demos?")
KNOWS = re.compile(r"device_count|AbstractMesh|num_cpu_devices|len\((?:\w+\.)?(?:local_)?devices\b")


def check(facts: Facts) -> Iterator[Finding]:
    """Meshes whose shape is all numbers, in modules that neither ask how many devices there are nor simulate some."""
    for mesh in facts.meshes:
        if mesh.module.is_test or KNOWS.search(mesh.module.text) or _is_example(mesh.module):
            continue
        size = _size(mesh, facts)
        if size is None or _is_chosen(mesh.call) or _is_of_script(mesh, facts) or _is_said(size, mesh):
            continue
        if _is_replaced(mesh.call, mesh.module, facts):
            continue
        message = f"the mesh is for {size} devices whatever the machine has; take the number from jax.device_count()"
        yield from facts.finding(mesh.module, mesh.call, CODE, message)


def _is_replaced(node: ast.AST, module: Module, facts: Facts) -> bool:
    """Whether a mesh is a parameter's default, `if mesh is None`, and all calls, which are in sight, pass another."""
    parents = module.table.parents
    function = module.table.function_of(node)
    if not isinstance(function, ast.FunctionDef):
        return False
    while node is not function:
        above = parents[node]
        match above:
            case ast.If(test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(None)])):
                if node in above.body:
                    written = callers_of(facts.resolver).written(Parameter(module, function, name))
                    values = (facts.resolver.values(one, home) for one, home in written or ())
                    return bool(written) and not any(Constant(None) in each for each in values)
        node = above
    return False


def _is_chosen(call: ast.Call) -> bool:
    """Whether a mesh is given its devices: those it does not fit raise."""
    return any(k.arg == "devices" for k in call.keywords)


def _is_of_script(mesh: MeshCall, facts: Facts) -> bool:
    """Whether a mesh is made as a script runs that nothing imports: it is for the machine of whoever wrote it."""
    module = mesh.module
    if not is_top_level(mesh.call, module):
        return False
    return not any(
        f"import {module.path.stem}" in m.text or f"{module.path.stem} import" in m.text for m in facts.modules
    )


def _is_said(size: int, mesh: MeshCall) -> bool:
    """Whether the module's documentation says for how many devices it is."""
    return re.search(rf"\b{size}\b", ast.get_docstring(mesh.module.tree) or "") is not None


def _is_example(module: Module) -> bool:
    """Whether a module is an example, which is for the machine that it tells of."""
    return any(EXAMPLES.fullmatch(part.lower()) for part in module.path.parts[:-1])


def _size(mesh: MeshCall, facts: Facts) -> int | None:
    return fixed_size(*mesh.shape, facts.resolver) if mesh.shape is not None else None
