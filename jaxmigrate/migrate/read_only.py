"""What the host does with the slice of the first device: of what it only reads, the global array is as good."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.operations import FETCHES, is_fetched
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import taker
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import all_parameters, defaults_of
from jaxmigrate.program.trees import TREE_MAPS
from jaxmigrate.program.values import External, Function

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
DISPLAYS = ast.Dict | ast.List | ast.Tuple
WRITES = named("as-text", "shows", "writes") | {"pickle.dump", "pickle.dumps"}  # of an array, what numpy makes of it
DEEPEST = 3  # functions of the project that hand an argument on
MANY = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def mapped_once(node: ast.expr, resolver: Resolver, module: Module) -> ast.Name | None:
    """Of `tree.map(lambda x: f(x), node)`, the x in f(x): what is done to each leaf of the node can be done there.

    None where the function is no lambda that uses its argument once.
    """
    call = _tree_map(node, resolver, module)
    function = call.args[0] if call is not None else None
    if not isinstance(function, ast.Lambda) or len(names := [*all_parameters(function.args)]) != 1:
        return None
    if not function.args.args or function.args.defaults:
        return None
    name = names[0].arg
    uses = [one for one in ast.walk(function.body) if isinstance(one, ast.Name) and one.id == name]
    nested = any(isinstance(one, MANY) for one in ast.walk(function.body))
    return uses[0] if len(uses) == 1 and not nested else None


def _tree_map(node: ast.expr, resolver: Resolver, module: Module) -> ast.Call | None:
    """The call that maps a function over a tree and nothing else."""
    call = module.table.parents.get(node)
    if not isinstance(call, ast.Call) or len(call.args) != 2 or call.args[1] is not node or call.keywords:
        return None
    value = resolver.value(call.func, module)
    return call if isinstance(value, External) and value.name in TREE_MAPS else None


def is_only_read(node: ast.expr, resolver: Resolver, module: Module) -> bool:
    """Whether all that becomes of an expression of a function is that its arrays are copied to the host.

    It may have a name until then, `metrics = unreplicate(metrics)`, or be taken apart, or stand in a display.
    """
    if _is_read(node, resolver, module):
        return True
    operand = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
    operand = node.value if isinstance(node, ast.Subscript) else operand  # what an earlier round left there stays it
    held = module.table.parents.get(node)
    if isinstance(held, DISPLAYS) and not (isinstance(held, ast.Dict) and node in held.keys):
        node = held
    statement = module.table.parents.get(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not node:
        return False
    target = statement.targets[0]
    function = module.table.function_of(statement)
    if not isinstance(target, ast.Name) or function is None:
        return False
    within = [*ast.walk(function)]
    if any(isinstance(one, ast.Global | ast.Nonlocal) and target.id in one.names for one in within):
        return False
    uses = [one for one in within if isinstance(one, ast.Name) and one.id == target.id]
    loads = [n for n in uses if isinstance(n.ctx, ast.Load) and n is not operand and _may_see(n, statement, module)]
    return all(isinstance(one.ctx, ast.Load | ast.Store) for one in uses) and all(
        _is_read(one, resolver, module) for one in loads
    )


def _may_see(use: ast.Name, statement: ast.Assign, module: Module) -> bool:
    """Whether a use of a name may see what a statement binds it to: no other one that always runs is in between."""
    parents, node = module.table.parents, module.table.statement_of(use)
    while node is not None and not isinstance(node, FUNCTIONS):
        if isinstance(node, ast.For | ast.AsyncFor | ast.While) and statement in ast.walk(node):
            return True  # in the next round
        beside = module.table.block_of(node)
        for other in reversed(beside[: beside.index(node)] if node in beside else []):
            if other is statement:
                return True
            if statement in ast.walk(other):
                return True
            if isinstance(other, ast.Assign) and any(_binds(target, use.id) for target in other.targets):
                return False
        above = parents.get(node)
        node = above if isinstance(above, ast.stmt) else None if above is None else module.table.statement_of(above)
    return True


def _binds(target: ast.expr, name: str) -> bool:
    """Whether an assignment to a target always binds a name."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return any(
        _binds(one, name) if isinstance(one, ast.Tuple | ast.List) else isinstance(one, ast.Name) and one.id == name
        for one in parts
    )


def is_read_at_once(node: ast.expr, resolver: Resolver, module: Module) -> bool:
    """Whether an expression is made text or bytes where it stands, so that nothing keeps an array of it."""
    parent = module.table.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return is_read_at_once(parent, resolver, module)
    return isinstance(parent, ast.FormattedValue) or _is_written(node, resolver, module)


def _is_read(node: ast.expr, resolver: Resolver, module: Module, depth: int = 0) -> bool:
    parent = module.table.parents.get(node)
    if is_fetched(resolver, node, module) or _is_written(node, resolver, module):
        return True
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _is_read(parent, resolver, module, depth)
    call = _tree_map(node, resolver, module)
    if call is None:
        return _reads_parameter(node, resolver, module, depth)
    value = resolver.value(call.args[0], module)
    use = mapped_once(node, resolver, module)
    return (isinstance(value, External) and value.name in FETCHES) or (
        use is not None and is_fetched(resolver, use, module)
    )


def _is_written(node: ast.expr, resolver: Resolver, module: Module) -> bool:
    parent = module.table.parents.get(node)
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return False
    value = resolver.value(parent.func, module)
    if not isinstance(value, External) or value.name not in WRITES:
        return False
    return parent.args[0] is node or value.name == "builtins.print"


def _reads_parameter(node: ast.expr, resolver: Resolver, module: Module, depth: int) -> bool:
    """Whether an expression is an argument of a function of the project that only reads what it is given there."""
    parent = module.table.parents.get(node)
    word = parent.arg if isinstance(parent, ast.keyword) else None
    call = module.table.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or depth == DEEPEST or (word is None and node not in call.args):
        return False
    place = word if word is not None else call.args.index(node)
    if isinstance(place, int) and any(isinstance(one, ast.Starred) for one in call.args[:place]):
        return False
    found = resolver.values(call.func, module)
    function = found[0] if len(found) == 1 else None
    if not isinstance(function, Function) or not isinstance(function.node, ast.FunctionDef):
        return False
    spec = function.node.args
    name = taker(spec, place, int(function.receiver is not None))
    if function.node.decorator_list or name is None or name in dict(defaults_of(spec)):
        return False
    within = [*ast.walk(function.node)]
    table = function.module.table
    own = table.own_scope.get(function.node)
    if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in within):
        return False
    uses = [one for one in within if isinstance(one, ast.Name) and one.id == name]
    return all(
        isinstance(one.ctx, ast.Load)
        and table.scope_of[one].lookup(name) is own
        and _is_read(one, resolver, function.module, depth + 1)
        for one in uses
    )
