"""Libraries' own maps: calls that hand a random key to something out of sight that is known to map over devices.

diffusers' pipelines, called with `jit=True`, are a pmap in which each device starts its images from the noise that its
own key gives.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, positional_names
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

KEY = "prng_seed"
KEY_POSITIONS = {
    "FlaxStableDiffusionPipeline": 2,
    "FlaxStableDiffusionXLPipeline": 2,
    "FlaxStableDiffusionControlNetPipeline": 3,
    "FlaxStableDiffusionImg2ImgPipeline": 3,
    "FlaxStableDiffusionInpaintPipeline": 4,
}
_NAMED = re.compile("|".join(KEY_POSITIONS))
DEEPEST = 3


def keys_given(modules: Iterable[Module], resolver: Resolver) -> Iterator[tuple[Module, ast.expr]]:
    """The keys that calls give to such pipelines, one for each device."""
    for module in modules:
        if _NAMED.search(module.text) is not None:
            for call in module.table.calls:
                if any(k.arg == "jit" and isinstance(k.value, ast.Constant) and k.value.value for k in call.keywords):
                    key = _key_of(call, module, resolver)
                    if key is not None:
                        yield module, key


def _key_of(call: ast.Call, module: Module, resolver: Resolver) -> ast.expr | None:
    kinds = _pipelines(call.func, module, resolver, 0)
    if kinds is None:
        return None
    named = [keyword.value for keyword in call.keywords if keyword.arg == KEY]
    positions = {KEY_POSITIONS[kind] for kind in kinds}
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    position = positions.pop() if len(positions) == 1 and not starred else len(call.args)
    return next(iter([*named, *call.args[position : position + 1]]), None)


def _pipelines(node: ast.expr, module: Module, resolver: Resolver, depth: int) -> set[str] | None:
    """The pipelines that something called can be, None where it may be anything else."""
    if not isinstance(node, ast.Name) or depth > DEEPEST:
        return None
    found: set[str] = set()
    bindings = resolver.bindings(node.id, module.table.scope_of[node])
    for binding in [b for b in bindings if not (isinstance(b.node, ast.Name) and isinstance(b.node.ctx, ast.Del))]:
        is_passed = binding.kind == "param"
        kinds = _passed(binding, module, resolver, depth) if is_passed else _made(binding, module, resolver)
        if not kinds:
            return None
        found |= kinds
    return found or None


def _made(binding: Binding, module: Module, resolver: Resolver) -> set[str] | None:
    """The pipeline that `Pipeline(...)`, or the first of two results of `Pipeline.from_pretrained(...)`, is."""
    value = binding.value
    if not isinstance(value, ast.Call):
        return None
    loads = isinstance(value.func, ast.Attribute) and value.func.attr == "from_pretrained"
    if binding.path != ((0,) if loads else ()):
        return None
    cls = value.func.value if loads and isinstance(value.func, ast.Attribute) else value.func
    meant = resolver.value(cls, module)
    name = meant.name if isinstance(meant, External) and meant.name.startswith("diffusers.") else ""
    kind = name.rpartition(".")[2]
    return {kind} if kind in KEY_POSITIONS else None


def _passed(binding: Binding, module: Module, resolver: Resolver, depth: int) -> set[str] | None:
    """The pipelines that the calls of a function in its own module pass for a parameter."""
    function = binding.scope.node
    if not isinstance(function, ast.FunctionDef):
        return None
    names = positional_names(function.args)
    found: set[str] = set()
    for call in module.table.calls:
        if last_name(call.func) == function.name:
            given = passed_by(call, names).get(binding.name)
            kinds = _pipelines(given, module, resolver, depth + 1) if given is not None else None
            if kinds is None:
                return None
            found |= kinds
    return found or None
