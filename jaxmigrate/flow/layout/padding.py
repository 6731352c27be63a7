"""flax's `pad_shard_unpad`: a function that is given batches of any size, in slices for all devices.

It stays in the program as it is. What it calls gets the arguments that are not to be padded as they were given, and of
the others an array with one slice for each device, the same in both programs; of what that gives back it puts the
slices together, unless it is told that it is no batch. Source: flax/jax_utils.py, read and run with flax 0.12.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import made_arrays
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given, given_of
from jaxmigrate.flow.layout.values import (
    NOTHING,
    PLAIN,
    Abstract,
    Blocker,
    Func,
    Nothing,
    Padded,
    Ref,
    func,
    same,
)
from jaxmigrate.program.library import the

PADS = the("pads")
OPTIONS = frozenset({"static_argnums", "static_argnames", "static_return"})
OWN = "min_device_batch"  # which it takes itself
_STORED = Stacked.PASSED_ON.reason(
    "is passed to pad_shard_unpad, whose result is stored or passed on, so that fix cannot see its calls"
)
WHY = Stacked.PADDING.reason("is padded and sharded by flax's pad_shard_unpad")
WHY_NOT = Stacked.PADDING.reason("is gathered and unpadded by flax's pad_shard_unpad")


def wrap(it: Interpreter, given: Given, node: ast.Call, frame: Frame) -> Abstract | None:
    """`pad_shard_unpad(function, ...)`; None where only a run tells what it does."""
    if len(given.positional) != 1 or given.open or _options(node) is None:
        return None
    function = given.positional[0]
    if isinstance(function, Nothing):
        return NOTHING
    if not isinstance(function, Func):
        return None
    before = it.wrappers.padded.get(node, NOTHING)
    after = it.join(before, function, node, frame.module)
    if not same(before, after):
        it.wrappers.padded[node] = after
        it.touch(("padded", node))
        if Padded(node) in it.blockers.gone:
            it.block_all([after], _STORED, node, frame.module)
    return func(Padded(node))


def call(it: Interpreter, made: ast.Call, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """A call of what `pad_shard_unpad` made."""
    it.reads.add(("padded", made))
    inner, options = it.wrappers.padded[made], _options(made)
    assert options is not None
    static, is_static_return = options
    named = {name: value for name, value in given.named.items() if name != OWN}
    if named or given.open or not isinstance(node, ast.Call):
        it.block_all(
            [inner, *given.everything()],
            Stacked.PASSED_ON.reason("is passed to pad_shard_unpad by keyword or with a star"),
            node,
            frame.module,
        )
        return PLAIN
    it.wrappers.padded_calls.add(node)
    values = [
        value if index in static else _sliced(it, value, made, index, node, frame)
        for index, value in enumerate(given.positional)
    ]
    result = it.call_value(inner, given_of(values), node, frame)
    if is_static_return:
        return result
    it.block_all([result], WHY_NOT, node, frame.module)
    return NOTHING if isinstance(result, Nothing) else PLAIN


def _sliced(it: Interpreter, value: Abstract, made: ast.Call, index: int, node: ast.Call, frame: Frame) -> Abstract:
    """An argument cut up: arrays with a slice for each device, which stay so."""
    if isinstance(value, Nothing):
        return value
    it.block_all([value], WHY, node, frame.module)
    group = it.joined_group("padded", made, index)
    it.changed |= group.block(Blocker(WHY, frame.module, node))
    return Ref(group, leaf=made_arrays.is_array(node.args[index], frame.module))


def _options(node: ast.Call) -> tuple[frozenset[int], bool] | None:
    """The positions of what is not padded, and whether what comes back is no batch; None where that is not known."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if not given.keys() <= OPTIONS:
        return None
    try:
        numbers = ast.literal_eval(given["static_argnums"]) if "static_argnums" in given else (0,)
        names = ast.literal_eval(given["static_argnames"]) if "static_argnames" in given else ()
        whole = ast.literal_eval(given["static_return"]) if "static_return" in given else False
    except ValueError:
        return None
    if names or not isinstance(numbers, tuple | list) or not isinstance(whole, bool):
        return None
    return (frozenset(numbers), whole) if all(type(number) is int for number in numbers) else None
