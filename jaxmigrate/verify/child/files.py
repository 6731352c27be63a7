"""Compares the arrays in two files that programs have written; run as `python -m jaxmigrate_child.files A B [AGAIN]`.

It reads what NumPy saves, and pickles of numbers and arrays in containers of Python's own, and of nothing else: what
else a pickle names might run code.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

_TIMES = 16.0
_LAST_PLACES = 4.0
_LAST_PLACE = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
}
_SAFE = ("numpy", "ml_dtypes", "collections", "builtins", "_codecs", "copyreg")
_BUILTINS = ("dict", "list", "tuple", "set", "frozenset", "int", "float", "complex", "bool", "bytes", "str", "slice")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name == "_reconstruct_array" and module.startswith("jax"):
            return _of_jax
        if module.partition(".")[0] not in _SAFE or (module == "builtins" and name not in _BUILTINS):
            raise pickle.UnpicklingError(f"{module}.{name}")
        return super().find_class(module, name)


def _of_jax(function: Any, arguments: Any, state: Any, _aval: Any) -> Any:
    array = function(*arguments)
    array.__setstate__(state)
    return array


def main() -> None:
    """Print how the files differ, nothing where they do not, null where one cannot be read."""
    told: Any = None
    try:
        one, two, third = (dict(_leaves("", _load(path))) if path else None for path in sys.argv[1:4])
        assert one is not None
        assert two is not None
        told = _difference(one, two, third)
    except Exception:  # noqa: BLE001 - what cannot be read is compared in other ways
        told = None
    json.dump(told, sys.stdout)


def _load(path: str) -> Any:
    if path.endswith((".npy", ".npz")):
        found = np.load(path, allow_pickle=False)
        return found if isinstance(found, np.ndarray) else dict(found)
    with open(path, "rb") as file:
        return _Unpickler(file).load()


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}[{key!r}]", item)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _leaves(f"{path}[{number}]", item)
    else:
        yield path, value


def _difference(one: dict[str, Any], two: dict[str, Any], third: dict[str, Any] | None) -> str:
    for path in one:
        if path not in two:
            return f"{path} is only in the original's file"
    for path in two:
        if path not in one:
            return f"{path} is only in the rewritten program's file"
    for path, value in one.items():
        told = _leaf_difference(value, two[path], third.get(path) if third is not None else None)
        if told:
            return f"{path} {told}".strip()
    return ""


def _leaf_difference(one: Any, two: Any, third: Any) -> str:
    a, b = np.asarray(one), np.asarray(two)
    if a.dtype.kind not in "biufc" and "float" not in a.dtype.name:
        return "" if type(one) is type(two) and str(one) == str(two) else f"{one!r} in the original, {two!r} rewritten"
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} in the original, {b.dtype}{list(b.shape)} rewritten"
    if a.tobytes() == b.tobytes():
        return ""
    if a.dtype.kind in "biu":
        return f"{_first(a, b, a != b)}"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    apart = np.where(np.isnan(x) & np.isnan(y), 0.0, np.abs(x - y))
    last_place = _LAST_PLACE.get(a.dtype.name, 2.0**-7)
    moved = 0.0
    if third is not None and np.shape(third) == a.shape:
        moved = float(np.nan_to_num(np.abs(np.asarray(third).astype(wide) - x)).max(initial=0.0))
    over = ~(apart <= _LAST_PLACES * last_place * np.maximum(np.abs(x), np.abs(y)) + _TIMES * moved)
    return _first(a, b, over) if over.any() else ""


def _first(a: Any, b: Any, where: Any) -> str:
    at = int(np.argmax(where))
    index = [int(part) for part in np.unravel_index(at, a.shape)]
    both = f"{a.reshape(-1)[at]} in the original, {b.reshape(-1)[at]} rewritten"
    return f"{both} at {index}" if index else both


if __name__ == "__main__":
    main()
