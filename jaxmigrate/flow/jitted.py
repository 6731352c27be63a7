"""Where a `jit` can be put around a shard_map that runs op by op, and what to write for it.

Compiled, a body runs once for each shape and not at each call. So all that it does must be to compute what it returns,
of what it is given and of what never changes; and the map must be made once, or each call would compile it anew.
"""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.eager import RUNNERS, is_top_level
from jaxmigrate.flow.fixes import Offer, replaced, spelled
from jaxmigrate.flow.variance.callbacks import Reader
from jaxmigrate.flow.variance.library import is_pure
from jaxmigrate.program.collectives import GRADIENTS, TRANSPARENT, VMAP, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import ITSELF, Code, Redecorate
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External, Function, Value

ON_DEVICE = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.random.", "jax.scipy.", "jax.tree.", "jax.tree_util.tree_map")
MAKERS = GRADIENTS | TRANSPARENT | {VMAP}
LOOPS = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
DEBUGGING = ("disable_jit", "breakpoint", "pdb")


def compiled(made: Application, resolver: Resolver) -> Offer | None:
    """What puts a jit around the shard_map that made a function, where nothing but its speed can change by it."""
    node, module = made.node, made.module
    if not isinstance(node, ast.Call) or any(word in module.text for word in DEBUGGING):
        return None
    mapped = argument(made.arguments, 0, "f")
    functions = resolver.argument_values(mapped) if mapped is not None else ()
    if len(functions) != 1 or not isinstance(functions[0], Function) or not _Body(resolver).is_function(functions[0]):
        return None
    jit, imports = spelled("jax.jit", node.func, module)
    if not jit or not _is_made_once(node, module, resolver):
        return None
    function = module.table.parents.get(node)
    if isinstance(function, ast.FunctionDef) and node in function.decorator_list:
        change = Redecorate(function, node, (Code(jit), Code(f"${ITSELF}", {ITSELF: node})))
        return Offer("put jax.jit around the shard_map", module, (change, *imports))
    if mapped is None or mapped.expression is None or not any(part is mapped.expression for part in ast.walk(node)):
        return None
    return Offer("put jax.jit around the shard_map", module, (replaced(node, f"{jit}(${ITSELF})"), *imports))


class _Body(Reader):
    """Reads what is mapped, and all that it calls, as code for the devices."""

    def is_known(self, name: str) -> bool:
        return super().is_known(name) or (name.startswith(ON_DEVICE) and is_pure(name))

    def is_function(self, value: Value) -> bool:
        if isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in MAKERS:
            first, *rest = [self.resolver.argument_values(one) for one in value.arguments]
            plain = all(isinstance(one.expression, ast.Constant | ast.Tuple) for one in value.arguments[1:])
            return plain and len(first) == 1 and self.is_function(first[0]) and all(len(one) < 2 for one in rest)
        return super().is_function(value)

    def is_still(self, name: ast.Name, module: Module) -> bool:
        """A number that is bound anew would stay, once compiled, what it was at first."""
        program = self.resolver.project.program
        again = re.compile(rf"\.{re.escape(name.id)}\s*=[^=]")
        one = len(self.resolver.values(name, module)) == 1 and not any(again.search(other.text) for other in program)
        return one and super().is_still(name, module)


def _is_made_once(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression is evaluated once: where its module is, or in a function that this calls, in one place."""
    parent = module.table.parents.get(node)
    if isinstance(parent, ast.FunctionDef) and node in parent.decorator_list:
        function = module.table.function_of(module.table.parents[parent])
    else:
        function = module.table.function_of(node)
    if _is_in_loop(node, function, module):
        return False
    if function is None:
        return parent is not None and is_top_level(node, module)
    name = getattr(function, "name", "")
    uses = module.table.named.get(name, ())
    others = (one for one in resolver.project.program if one is not module)
    if not name or len(uses) != 1 or any(name in one.table.named for one in others if name in one.text):
        return False
    call = module.table.parents.get(uses[0])
    if not isinstance(call, ast.Call) or _is_in_loop(call, None, module) or not is_top_level(call, module):
        return False
    callee = resolver.value(call.func, module)
    return call.func is uses[0] or (isinstance(callee, External) and callee.name in RUNNERS)


def _is_in_loop(node: ast.AST, function: ast.AST | None, module: Module) -> bool:
    """Whether some loop, up to a function around, evaluates an expression again and again."""
    current: ast.AST | None = node
    while current is not None and current is not function:
        if isinstance(current, LOOPS):
            return True
        current = module.table.parents.get(current)
    return False
