"""Notes how the host made the arrays that mapped functions are given, in the original program.

A mark around an expression hands its value on as it is, and remembers which arrays came from there. When a mapped
function is called, the log is told which marks its arguments came from. Nothing here computes on a device, keeps an
array alive for longer than the call that it is given to, or raises.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import weakref
from contextlib import suppress
from typing import Any

from . import log
from .digest import NARROW
from .values import is_array

_BETWEEN = "\t"
NO_CALL, GIVEN = "~", "+"  # what the marks begin with of what calls are given, of names and the like or of calls
MAPPED = "@"
_MOST_LEAVES = 4096
_FORGET_AT = 1 << 16
_MOST_CUT = 4096
_local = threading.local()
_sources: dict[int, tuple[Any, list[str]]] = {}
_said: dict[str, str] = {}
_given: set[tuple[Any, ...]] = set()
_cut: dict[tuple[Any, ...], None] = {}  # the latest last


def host(mark: str, value: Any) -> Any:
    """The value of a marked expression; `mark` names it, then what it may have been made of."""
    with suppress(Exception):  # what cannot be looked at is not observed, and must not stop the program
        _note(*mark.split(_BETWEEN), value=value)
    return value


def _note(name: str, *operands: str, value: Any) -> None:
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "tree_util") or not log.CONFIG.get("observe"):
        return
    leaves = jax.tree_util.tree_leaves(value)
    seen = _seen()
    given = [seen.pop(one, None) for one in operands]
    if not leaves or len(leaves) > _MOST_LEAVES or not all(map(_is_value, leaves)):
        return
    if name.startswith((NO_CALL, GIVEN)):  # what a call is given next
        seen[name] = leaves
    if name.startswith(NO_CALL):
        return
    name = name.lstrip(GIVEN)
    arrays = [leaf for leaf in leaves if _is_array(leaf)]
    fresh = [leaf for leaf in arrays if _add_source(leaf, name)]
    if fresh:
        does = _does(leaves, operands, given) if len(fresh) == len(leaves) else ""
        _say(name, does)
        _remember([leaf for leaf in fresh if does.startswith("splits") or _is_cut(leaf)])


def _seen() -> dict[str, list[Any]]:
    if not hasattr(_local, "seen"):
        _local.seen = {}
    seen: dict[str, list[Any]] = _local.seen
    return seen


def _say(name: str, does: str) -> None:
    """Log what an expression does to the arrays that it is given, when that is not what was said of it."""
    if _said.get(name) != does:
        _said[name] = "" if name in _said else does
        log.current().write({"k": "host", "at": name, "does": _said[name]})


def _does(leaves: list[Any], operands: tuple[str, ...], given: list[Any]) -> str:
    """How an expression made its arrays: of which operand, or else whether every device has the same slice."""
    count = log.CONFIG["devices"]
    if count < 2 or any(not _is_array(leaf) or not leaf.shape or leaf.shape[0] != count for leaf in leaves):
        return ""
    for mark, operand in zip(operands, given):  # noqa: B905 - Python 3.9 has no strict
        if operand is not None and len(operand) == len(leaves):
            pairs = list(zip(leaves, operand))  # noqa: B905 - Python 3.9 has no strict
            if all(_is_replicated(made, of) for made, of in pairs):
                return f"replicates{_BETWEEN}{mark}"
            if all(_is_split(made, of) for made, of in pairs):
                return f"splits{_BETWEEN}{mark}"
    return "equal" if all(_has_equal_slices(leaf) for leaf in leaves) else "rows"


def _is_replicated(made: Any, of: Any) -> bool:
    import numpy as np

    if made.shape[1:] != np.shape(of) or not _is_kept(made, of):
        return False
    one = _plain(of)
    return all(_is_same(row, one) for row in _plain(made))


def _is_split(made: Any, of: Any) -> bool:
    import numpy as np

    if (
        len(made.shape) < 2
        or (made.shape[0] * made.shape[1], *made.shape[2:]) != np.shape(of)
        or not _is_kept(made, of)
    ):
        return False
    return _is_same(_plain(made).reshape(np.shape(of)), _plain(of))


def _is_kept(made: Any, of: Any) -> bool:
    """Whether an array has the dtype of another, as devices hold it; a number of Python's has none."""
    before, after = str(getattr(of, "dtype", "")), str(made.dtype)
    return before in ("", after) or NARROW.get(before) == after


def _has_equal_slices(made: Any) -> bool:
    first, *others = _plain(made)
    return all(_is_same(one, first) for one in others)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two arrays hold the same bytes, the second as the devices hold it: in the dtype of the first."""
    import numpy as np

    one, other = np.asarray(one), np.asarray(other)
    return bool(one.shape == other.shape and one.tobytes() == other.astype(one.dtype).tobytes())


def _plain(value: Any) -> Any:
    """An array as numpy's; a key as its numbers."""
    import jax
    import numpy as np

    is_key = _is_array(value) and str(getattr(value, "dtype", "")).startswith("key<")
    return np.asarray(jax.random.key_data(value) if is_key else value)


def _is_value(leaf: Any) -> bool:
    return _is_array(leaf) or isinstance(leaf, (bool, int, float, complex)) or type(leaf).__module__ == "numpy"


def _is_array(leaf: Any) -> bool:
    """Whether something is an array with values: tracers have none, and deleted arrays none any more."""
    import numpy as np

    if isinstance(leaf, np.ndarray):
        return not leaf.dtype.hasobject
    return is_array(type(leaf)) and not leaf.is_deleted() and leaf.is_fully_addressable


def _sources_of(leaf: Any) -> list[str]:
    """What an array came from, the innermost call first, while it lives."""
    known = _sources.get(id(leaf))
    return known[1] if known is not None and known[0]() is leaf else []


def _add_source(leaf: Any, name: str) -> bool:
    """Note where an array came from; whether that is new."""
    known = _sources_of(leaf)
    if name in known:
        return False
    _sources[id(leaf)] = (weakref.ref(leaf), [*known, name])
    if len(_sources) > _FORGET_AT:
        _forget()
    return True


def _forget() -> None:
    for number, (ref, _) in [*_sources.items()]:
        if ref() is None:
            _sources.pop(number, None)


def given(site: str, args: tuple[Any, ...]) -> None:
    """Log which marks the arguments of a mapped call came from, and whether the host cut them out of a batch."""
    if not log.CONFIG.get("observe"):
        return
    try:
        for number, argument in enumerate(args):
            _say_given(site, number, argument)
    except Exception:  # noqa: BLE001 - what cannot be looked at is not observed, and must not stop the program
        log.current().write({"k": "given", "site": site, "argument": -1, "from": [], "cut": False})


def gave(site: str, result: Any) -> None:
    """Note that a mapped function gave some arrays."""
    if not log.CONFIG.get("observe"):
        return
    with suppress(Exception):
        import jax

        for leaf in filter(_is_array, jax.tree_util.tree_leaves(result)):
            _add_source(leaf, f"{MAPPED}{site}")


def _say_given(site: str, number: int, argument: Any) -> None:
    import jax

    leaves = [leaf for leaf in jax.tree_util.tree_leaves(argument) if _is_array(leaf)]
    sources = sorted({tuple(_sources_of(leaf)) for leaf in leaves})
    cut = bool(leaves) and all(_is_cut(leaf) or _was_cut(leaf) for leaf in leaves)
    key = (site, number, tuple(sources), cut)
    if key not in _given:
        _given.add(key)
        log.current().write({"k": "given", "site": site, "argument": number, "from": sources, "cut": cut})


def _remember(cut: list[Any]) -> None:
    """Keep what parts of batches look like: whoever copies them to the devices makes other arrays."""
    for leaf in cut:
        _cut[_look(leaf)] = None
    while len(_cut) > _MOST_CUT:
        _cut.pop(next(iter(_cut)))


def _was_cut(leaf: Any) -> bool:
    return bool(_cut) and len(leaf.shape) >= 2 and _look(leaf) in _cut


def _look(leaf: Any) -> tuple[Any, ...]:
    """What arrays with the same numbers have in common, wherever they lie."""
    array = _plain(leaf)
    array = array.astype(NARROW.get(str(array.dtype), array.dtype))
    return array.shape, str(array.dtype), hashlib.blake2b(array.tobytes(), digest_size=16).digest()


def _is_cut(leaf: Any) -> bool:
    """Whether an array is a view of a batch that was reshaped: rows of it, with one axis for the devices in front."""
    import numpy as np

    base = getattr(leaf, "base", None)
    if not isinstance(leaf, np.ndarray) or not isinstance(base, np.ndarray) or not leaf.flags.c_contiguous:
        return False
    return (
        leaf.ndim >= 2
        and leaf.shape[0] == log.CONFIG["devices"]
        and base.ndim == leaf.ndim - 1
        and base.shape[1:] == leaf.shape[2:]
    )
