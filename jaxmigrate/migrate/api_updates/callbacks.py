"""`host_callback` by what took its place: debug callbacks for taps, `io_callback` for calls, `effects_barrier`.

A tap got the transforms around it, and under `vmap` a whole batch at once, where a debug callback is called for each
row: what a project may map by vmap keeps its taps. Arrays reached the host as NumPy arrays, which callbacks do not
give.
"""

from __future__ import annotations

import ast

from jaxmigrate.migrate.api_updates.arrays import called
from jaxmigrate.migrate.api_updates.batching import Batches
from jaxmigrate.migrate.api_updates.calls import drop_argument, ordered, rename_keyword
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.program.old_uses import OldReference
from jaxmigrate.program.syntax import has_stars

HOME = "jax.experimental.host_callback"
BARRIER = f"{HOME}.barrier_wait"
OPTIONS = {f"{HOME}.call": {"result_shape"}, f"{HOME}.id_tap": {"result"}, f"{HOME}.id_print": set[str]()}
UNORDERED = (  # where ordered callbacks raise: several devices, rows of a batch, derivatives of one's own
    *("pmap", "vmap", "xmap", "shard_map", "pjit", "Mesh", "Sharding"),
    *("checkpoint", "remat", "custom_jvp", "custom_vjp", "custom_gradient"),
)
SELDOM = {"tap_with_device", "call_with_device", "device_index", "output_stream", "threshold"}
NAMES = {f"{HOME}.call": "_call_host", f"{HOME}.id_tap": "_tap", f"{HOME}.id_print": "_print_value"}


def reason(use: OldReference, batches: Batches) -> str:
    """Why a use is left."""
    call = called(use)
    if call is None or has_stars(call):
        return f"{use.row.told}; this one is passed as a value, or called with *args or **kwargs"
    given = {keyword.arg or "" for keyword in call.keywords}
    options = OPTIONS[use.row.name]
    if given & SELDOM or (options and given - options - {"arg", "tap_func", "callback_func"}):
        return f"{use.row.told}; this one has arguments that no callback takes: {', '.join(sorted(given - options))}"
    if use.row.name == f"{HOME}.call":
        shape = next((k.value for k in call.keywords if k.arg == "result_shape"), None)
        return f"{use.row.told}, with a jax.ShapeDtypeStruct" if _is_constant_number(shape) else ""
    if batches.may_hold(use):
        return (
            f"{use.row.told}; under vmap the new callback runs once per row, where a tap ran once for the whole batch"
        )
    return ""


def _is_constant_number(shape: ast.expr | None) -> bool:
    return isinstance(shape, ast.Constant) and isinstance(shape.value, int | float)


def apply(desk: RewriteContext, use: OldReference) -> None:
    """Names the arguments as the helper that takes the place does."""
    call = called(use)
    assert call is not None
    for old in ("tap_func", "callback_func"):
        rename_keyword(desk, call, old, "function")


def name(desk: RewriteContext, use: OldReference, batches: Batches) -> str | None:
    """The helper that takes the place of a function, written out for the file."""
    jax, numpy = desk.name_of("jax", use.node), desk.imported_name("numpy", use.node)
    if jax is None or numpy is None:
        return None
    if use.row.name == f"{HOME}.call":
        io_callback = desk.imported_name("jax.experimental.io_callback", use.node)
        in_order = not any(batches.texts.mention(word) for word in UNORDERED)
        return desk.helper(NAMES[use.row.name], _call(jax, numpy, str(io_callback), in_order), use.node)
    lines = _tap(jax, numpy) if use.row.name == f"{HOME}.id_tap" else _print(jax, numpy)
    return desk.helper(NAMES[use.row.name], lines, use.node)


def _call(jax: str, numpy: str, io_callback: str, in_order: bool) -> list[str]:
    """The helper; `host_callback` ran calls in the order of the program, which one device alone can keep."""
    more = ", ordered=True" if in_order else ""
    return [
        "def _call_host(function, arg, result_shape=None):",
        '    """Calls a function on the host with NumPy arrays."""',
        f"    on_host = lambda arg: function({jax}.tree.map({numpy}.asarray, arg))",
        f"    return {io_callback}(on_host, result_shape, arg{more})",
    ]


def _tap(jax: str, numpy: str) -> list[str]:
    return [
        "def _tap(function, arg, result=None):",
        '    """Passes a value to a host function; returns it, or result if given."""',
        f"    {jax}.debug.callback(lambda arg: function({jax}.tree.map({numpy}.asarray, arg), ()), arg)",
        "    return arg if result is None else result",
    ]


def _print(jax: str, numpy: str) -> list[str]:
    return [
        "def _print_value(arg, result=None, **labels):",
        '    """Prints a value on the host; returns it, or result if given."""',
        '    lines = [" ".join(f"{label}: {labels[label]}" for label in sorted(labels))] if labels else []',
        f'    {jax}.debug.callback(lambda arg: print(*lines, {jax}.tree.map({numpy}.asarray, arg), sep="\\n"), arg)',
        "    return arg if result is None else result",
    ]


def wait(desk: RewriteContext, use: OldReference) -> None:
    """Drops the name that a barrier was logged under."""
    call = called(use)
    if call is not None:
        for argument in ordered(call):
            drop_argument(desk, call, argument)
