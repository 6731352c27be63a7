"""`jax.ops.index_update(x, jax.ops.index[i], y)` and its kin as `x.at[i].set(y)`.

They took NumPy arrays and numbers too, which have no `.at`: what is not seen to be an array of JAX is made one.
"""

from __future__ import annotations

import ast

from jaxmigrate.migrate.api_updates.arrays import called
from jaxmigrate.migrate.api_updates.calls import given
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext, is_kept
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import old_names
from jaxmigrate.program.old_uses import OldReference
from jaxmigrate.program.operations import Code, DropStatement, Replace, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import denotes
from jaxmigrate.program.syntax import has_stars

INDEX = "jax.ops.index"
UPDATES = {
    "jax.ops.index_update": "set",
    "jax.ops.index_add": "add",
    "jax.ops.index_mul": "multiply",
    "jax.ops.index_min": "min",
    "jax.ops.index_max": "max",
}
OPTIONS = frozenset({"x", "idx", "y", "indices_are_sorted", "unique_indices"})
ARRAYS = ("jax.numpy.", "jax.lax.", "jax.random.", "jax.nn.", "jax.ops.")
OTHERS = frozenset(  # what gives no array, or may give none
    {
        "shape",
        "ndim",
        "size",
        "dtype",
        "result_type",
        "psum",
        "axis_size",
        "cond",
        "switch",
        "scan",
        "while_loop",
        "map",
    }
)
METHODS = frozenset({"reshape", "astype", "transpose", "sum", "mean", "copy", "set", "add", "ravel", "squeeze", "T"})


def reason(use: OldReference) -> str:
    """Why an update is left: its arguments are out of sight."""
    call = called(use)
    return "" if call is not None and _is_plain(call) else use.row.told


def _is_plain(call: ast.Call) -> bool:
    """Whether a call gives the array, the index and the new values, each in sight and in this order."""
    names = [keyword.arg or "" for keyword in call.keywords]
    if has_stars(call) or len(call.args) > len("xiy") or not OPTIONS.issuperset(names):
        return False
    order = [name for name in names if name in ("x", "idx", "y")]
    return ["x", "idx", "y"][len(call.args) :] == order == names[: len(order)]


def no_name(_desk: RewriteContext, _use: OldReference) -> str:
    """Nothing, as the whole call is replaced."""
    return ""


def update_name(desk: RewriteContext, use: OldReference) -> str | None:
    """Nothing, as the whole call is replaced; None where its array cannot be made one of JAX."""
    call = called(use)
    return None if call is None or _owner(desk, call) is None else ""


def update(desk: RewriteContext, use: OldReference) -> None:
    """Writes `x.at[index].set(y)` in the place of a call."""
    call = called(use)
    assert call is not None
    index, values, place = given(call, "idx", 1), given(call, "y", 2), ""
    assert index is not None
    assert values is not None
    desk.gone.update(ast.walk(call.func))
    parts: dict[str, ast.expr | Code] = {"values": values}
    if is_index(index, desk):
        parts["place"] = index  # whose own name becomes `x.at`
        place = "$place"
    elif (owner := _owner(desk, call)) is not None:
        parts["owner"] = owner
        place = f"$owner.at[{_inner(index, parts)}]"
    options = [one for one in call.keywords if one.arg not in ("x", "idx", "y")]
    parts |= {str(one.arg): one.value for one in options}
    more = "".join(f", {one.arg}=${one.arg}" for one in options)
    desk.operations.append(Replace(call, code(f"{place}.{UPDATES[use.row.name]}($values{more})", **parts)))


def _inner(index: ast.expr, parts: dict[str, ast.expr | Code]) -> str:
    """What stands in brackets for an index: a tuple without its own."""
    if not isinstance(index, ast.Tuple) or not index.elts or any(isinstance(one, ast.Starred) for one in index.elts):
        parts["index"] = index
        return "$index"
    parts |= {f"i{place}": one for place, one in enumerate(index.elts)}
    return ", ".join(f"$i{place}" for place in range(len(index.elts))) + ("," if len(index.elts) == 1 else "")


def is_index(node: ast.expr, desk: RewriteContext) -> bool:
    """Whether an expression is `jax.ops.index[...]`, which is to be replaced."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name | ast.Attribute):
        return False
    row = old_names()[INDEX]
    return denotes(node.value, desk.resolver, desk.module) == INDEX and not is_kept(
        node.value, row, desk.module, desk.wanted
    )


def index_name(desk: RewriteContext, use: OldReference) -> str | Code | None:
    """`x.at` where the index is one of an update that is replaced, else `jnp.s_`, which gives an index as it is."""
    call = _update_of(desk, use)
    if call is not None:
        owner = _owner(desk, call)
        return None if owner is None else code("$owner.at", owner=owner)
    numpy = desk.name_of("jax.numpy", use.node)
    return None if numpy is None else f"{numpy}.s_"


def _update_of(desk: RewriteContext, use: OldReference) -> ast.Call | None:
    """The update that an index is given to, where that is replaced too."""
    parents = desk.module.table.parents
    whole = parents.get(use.node)
    above = parents.get(whole) if whole is not None else None
    call = parents.get(above) if isinstance(above, ast.keyword) else above
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name | ast.Attribute) or not _is_plain(call):
        return None
    name = denotes(call.func, desk.resolver, desk.module) or ""
    if name not in UPDATES or is_kept(call.func, old_names()[name], desk.module, desk.wanted):
        return None
    return call if given(call, "idx", 1) is whole else None


def _owner(desk: RewriteContext, call: ast.Call) -> Code | None:
    """The array that is updated, as one of JAX; None where nothing can be imported that makes it one."""
    array = given(call, "x", 0)
    assert array is not None
    if _is_array(array, desk.module, desk.resolver, set()):
        return code("$array", array=array)
    numpy = desk.name_of("jax.numpy", call)
    return None if numpy is None else code(f"{numpy}.asarray($array)", array=array)


def _is_array(node: ast.expr, module: Module, resolver: Resolver, seen: set[str]) -> bool:
    """Whether an expression is seen to be an array of JAX."""
    if isinstance(node, ast.BinOp):
        return any(_is_array(one, module, resolver, seen) for one in (node.left, node.right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        name = denotes(node.func, resolver, module)
        if name is not None:
            return name.startswith(ARRAYS) and name.rpartition(".")[2] not in OTHERS
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
        return isinstance(node.func, ast.Attribute) and is_method and _is_array(node.func.value, module, resolver, seen)
    if isinstance(node, ast.Subscript | ast.Attribute):
        plain = isinstance(node, ast.Subscript) or node.attr in ("T", "at")
        return plain and _is_array(node.value, module, resolver, seen)
    return isinstance(node, ast.Name) and _holds_array(node, module, resolver, seen)


def _holds_array(node: ast.Name, module: Module, resolver: Resolver, seen: set[str]) -> bool:
    """Whether all that a variable of a function is assigned are arrays of JAX."""
    scope = module.table.scope_of[node].lookup(node.id)
    if scope is None or scope.kind != "function" or any(node.id in one.outer_names for one in scope.children):
        return False
    if node.id in seen:
        return True  # by way of itself
    seen.add(node.id)
    return all(
        one.value is not None and not one.path and _is_array(one.value, module, resolver, seen)
        for one in scope.bindings[node.id]
    )


def tie_reason(use: OldReference) -> str:
    """Why a use of `tie_in` is left: what it drops might do something."""
    call = called(use)
    first = given(call, "x", 0) if call is not None else None
    plain = call is not None and not has_stars(call) and given(call, "y", 1) is not None
    return "" if plain and isinstance(first, ast.Name | ast.Constant) else use.row.told


def untie(desk: RewriteContext, use: OldReference) -> None:
    """Puts the second argument of `tie_in` in its place; `y = tie_in(x, y)` goes where a name stays as it was."""
    call = called(use)
    value = given(call, "y", 1) if call is not None else None
    assert call is not None
    assert value is not None
    desk.gone.update(ast.walk(call.func))
    statement = desk.module.table.parents.get(call)
    if isinstance(statement, ast.Assign) and isinstance(value, ast.Name) and _does_nothing(desk, statement, value):
        desk.operations.append(DropStatement(statement, commented=True))
    else:
        desk.operations.append(Replace(call, code("$value", value=value)))


def _does_nothing(desk: RewriteContext, statement: ast.Assign, value: ast.Name) -> bool:
    """Whether an assignment gives a name the value that it has, beside others that bind it and fill the block."""
    table = desk.module.table
    targets = [one.id for one in statement.targets if isinstance(one, ast.Name)]
    scope = table.scope_of[value]
    bound = [one for one in scope.bindings.get(value.id, ()) if one.node is not statement]
    alone = len(table.block_of(statement)) == 1 or desk.module.cells
    return targets == [value.id] and len(statement.targets) == 1 and bool(bound) and not alone


def negative_infinity(desk: RewriteContext, use: OldReference) -> Code | None:
    """`-jnp.inf` for `jnp.NINF`."""
    numpy = desk.name_of("jax.numpy", use.node)
    return None if numpy is None else code(f"-{numpy}.inf")
