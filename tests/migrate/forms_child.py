"""Runs programs and their rewritten forms on simulated devices and compares their results; prints JSON.

Reads `{name: {"before": {path: text}, "after": {path: text}}}` from standard input. Each program has a module `main`
with a function `main()` that returns a pytree of arrays. The rewritten program runs with a `jax.pmap` that raises.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import traceback
from pathlib import Path

import jax
import numpy as np


def run(files: dict[str, str]) -> object:
    """Imports `main` from files written to a new folder and returns what its `main()` returns."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        before = set(sys.modules)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            return jax.device_get(importlib.import_module("main").main())
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                    del sys.modules[name]


def described(tree: object) -> list[tuple[str, str, str, str]]:
    """Key path, dtype, shape and bytes of every leaf."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [
        (jax.tree_util.keystr(path), str(np.asarray(x).dtype), str(np.shape(x)), np.asarray(x).tobytes().hex())
        for path, x in leaves
    ]


def refuse(*_: object, **__: object) -> object:
    """What jax.pmap is while the rewritten program runs."""
    raise AssertionError("the rewritten program called jax.pmap")


def compare(case: dict[str, dict[str, str]]) -> str:
    """An empty string where both agree bitwise, else what differs."""
    real = jax.pmap
    try:
        expected = described(run(case["before"]))
        jax.pmap = refuse
        try:
            found = described(run(case["after"]))
        finally:
            jax.pmap = real
    except Exception:  # noqa: BLE001 - whatever a program raises is this case's verdict
        return traceback.format_exc(limit=-4)
    return "" if found == expected else f"differs: {expected} became {found}"[:2000]


if __name__ == "__main__":
    print(json.dumps({name: compare(case) for name, case in json.load(sys.stdin).items()}))
