"""Runs programs and their rewritten forms on simulated devices and compares their results, a JSON line for each.

Reads lines `{"name": ..., "before": {path: text}, "after": {path: text}}` from standard input and answers each with
`{"name": ..., "verdict": ..., "text": ...}`. Each program has a module `main` with a function `main()` that returns a
pytree of arrays. The rewritten program runs with a `jax.pmap` that raises. Where there is none, only the original runs,
and the text is its results in JSON.

    python forms_child.py [ADDRESS COUNT RANK]

With arguments it is one of several processes that run the same programs.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

PROGRAMS_A_CACHE = 64  # so that what JAX keeps of the programs behind does not grow with their number
PLACED = tuple(int(part) for part in jax.__version__.split(".")[:2]) >= (0, 8)  # before, pmap had shardings of its own


def run(files: dict[str, str]) -> list[tuple[str, ...]]:
    """Imports `main` from files written to a new folder and describes what its `main()` returns."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        before = set(sys.modules)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            return described(importlib.import_module("main").main())
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                    del sys.modules[name]


def described(tree: object) -> list[tuple[str, ...]]:
    """Key path, dtype, shape and bytes of every leaf, and which devices hold which part of it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path), *_described(leaf)) for path, leaf in leaves]


def _described(leaf: object) -> tuple[str, ...]:
    array = np.asarray(leaf)
    plain = (str(array.dtype), str(array.shape), array.tobytes().hex())
    if not (PLACED and isinstance(leaf, jax.Array)):
        return plain
    return *plain, str(sorted((shard.device.id, str(shard.index)) for shard in leaf.addressable_shards))


def refuse(*_: object, **__: object) -> object:
    """What jax.pmap is while the rewritten program runs."""
    raise AssertionError("the rewritten program called jax.pmap")


def compare(before: dict[str, str], after: dict[str, str] | None) -> tuple[str, str]:
    """A verdict (`agrees`, `differs`, `original raises`, `rewrite raises`) and what there is to say about it."""
    try:
        expected = run(before)
    except Exception:  # noqa: BLE001 - whatever a program raises is this case's verdict
        return "original raises", traceback.format_exc(limit=-4)
    if after is None:
        return "agrees", json.dumps(expected)
    real = jax.pmap
    jax.pmap = refuse
    try:
        found = run(after)
    except Exception:  # noqa: BLE001
        return "rewrite raises", traceback.format_exc(limit=-4)
    finally:
        jax.pmap = real
    return ("agrees", "") if found == expected else ("differs", f"{expected} became {found}"[:20000])


def main() -> None:
    """Answers line by line, so that whoever reads knows which program a crash belongs to."""
    warnings.simplefilter("ignore")  # "some donated buffers were not usable" is about the originals
    forget = spare() if PLACED else []
    for count, line in enumerate(sys.stdin):
        case = json.loads(line)
        verdict, text = compare(case["before"], case.get("after"))
        print(json.dumps({"name": case["name"], "verdict": verdict, "text": text}), flush=True)
        if count % PROGRAMS_A_CACHE == PROGRAMS_A_CACHE - 1:
            jax.clear_caches()  # type: ignore[no-untyped-call]
            for each in forget:
                each()


def spare() -> list[Callable[[], None]]:
    """Spares this JAX what the programs would have it do again and again; returns what forgets that."""
    from tests.sparing import be_brief, share_contexts, share_executables

    be_brief()
    return [share_contexts(), share_executables()]


if __name__ == "__main__":
    if sys.argv[1:]:
        jax.distributed.initialize(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    main()
