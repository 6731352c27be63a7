"""Whether a program may ask a map for its `.lower`, which only what stands in its place as a whole has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Constant, External, ModuleValue, Value

LOWER_CALL = re.compile(r"\.lower\(\s*[^)\s]")  # with arguments, which str.lower does not take


def may_lower(modules: Iterable[Module | None], resolver: Resolver) -> bool:
    """Whether some call of `.lower` may be one of a map's, as any may of what is not parsed, which is None."""
    return any(module is None or _lowers(module, resolver) for module in modules)


def _lowers(module: Module, resolver: Resolver) -> bool:
    called = (call for call in module.table.calls if isinstance(call.func, ast.Attribute) and call.func.attr == "lower")
    held = [call.func.value for call in called if isinstance(call.func, ast.Attribute) and (call.args or call.keywords)]
    return any(not all(map(_is_no_map, resolver.values(one, module))) for one in held)


def _is_no_map(value: Value) -> bool:
    """Whether a value is certainly none: what jit compiles, or something of a library, as `tf.strings` is."""
    if isinstance(value, Application):
        return isinstance(value.callee, External) and value.callee.name in JITS
    return isinstance(value, External | Constant | ModuleValue)
