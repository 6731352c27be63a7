"""Runs programs on simulated devices; prints what became of each as one line of JSON, as soon as it is known.

Reads lines `[{"name": ..., "files": {path: text}, "careless": bool, "one_value": bool}, ...]` from standard input.
Each program has a module `main` that sets `RESULT` to a tree of arrays, numbers and strings. What it prints counts as
well. A careless variant finds `sharded`, `P` and `same` in its namespace, all that a hand-made migration needs. With
`one_value` what a map calls replicated is made so.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import literals
from jax._src.interpreters import pxla
from jax._src.tree_util import broadcast_prefix
from jax.sharding import Mesh, PartitionSpec

sys.path.insert(0, str(Path(__file__).parent / "libraries"))  # in place of those that the newest JAX does not run
sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from tests.sparing import be_brief, share_contexts, share_executables

SHARD_MAP = jax.shard_map
LIBRARIES = str(Path(__file__).parent / "libraries")
PROGRAMS_A_CACHE = 600


def read_at_the_call() -> None:
    """Has maps copy their NumPy arguments.

    On a CPU a map may read an aligned NumPy array in place after its call has returned, so that a program which then
    writes into the array has a race: with `pmap` and with `shard_map` alike, as the load of the machine has it.
    """
    put = pxla.shard_arg_handlers[literals.TypedNdArray]
    pxla.shard_arg_handlers[literals.TypedNdArray] = lambda arrays, *rest: put(
        [array.copy() for array in arrays], *rest
    )


def sharded(f: Callable[..., Any], in_specs: Any, out_specs: Any, **jit: Any) -> Any:
    """A mapped function in global form, over all devices."""
    mesh = Mesh(jax.devices(), ("batch",))
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False), **jit)


def with_one_value(
    f: Callable[..., Any] | None = None,
    *,
    mesh: Mesh,
    in_specs: Any,
    out_specs: Any,
    check_vma: bool = True,
    **more: Any,
) -> Any:
    """`jax.shard_map` whose results hold the first device's value on all along each axis that their spec leaves out.

    Where `check_vma=False` lets a result vary that is said to be replicated, each device would keep its own, and NumPy
    would show the stacked rows as they were. Without a function it is a decorator, as the original.
    """
    if f is None:
        return functools.partial(
            with_one_value, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma, **more
        )

    def unified(*args: Any) -> Any:
        out = f(*args)
        specs = broadcast_prefix(out_specs, out, is_leaf=lambda spec: spec is None)
        leaves, tree = jax.tree.flatten(out)
        return jax.tree.unflatten(tree, [_first_of(x, spec, mesh) for x, spec in zip(leaves, specs, strict=True)])

    return SHARD_MAP(
        functools.wraps(f)(unified), mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma, **more
    )


def _first_of(x: Any, spec: PartitionSpec | None, mesh: Mesh) -> Any:
    named = jax.tree.leaves(tuple(spec)) if spec is not None else []
    if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(_first_of(jax.random.key_data(x), spec, mesh), impl=jax.random.key_impl(x))
    for name in mesh.axis_names:
        x = x if name in named else jax.lax.all_gather(x, name)[0]
    return x


def run(files: dict[str, str], careless: bool) -> object:
    """Imports `main` from files written to a new folder, which it runs in, and returns its `RESULT`."""
    home, before = os.getcwd(), set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sys.path.insert(0, folder)
        os.chdir(folder)
        importlib.invalidate_caches()
        try:
            return executed(Path(folder) / "main.py", careless)
        finally:
            os.chdir(home)
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith((folder, LIBRARIES)):
                    del sys.modules[name]


def executed(path: Path, careless: bool) -> object:
    """Runs a file as the module `main`."""
    spec = importlib.util.spec_from_file_location("main", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["main"] = importlib.util.module_from_spec(spec)
    if careless:
        vars(module).update(sharded=sharded, P=PartitionSpec, same=lambda tree: tree)
    spec.loader.exec_module(module)
    return described(module.RESULT)


def described(value: Any) -> object:
    """A value as JSON: key by key, and of every array its dtype, shape and bytes."""
    if isinstance(value, dict):
        return {str(key): described(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(described, value)]
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return [str(value.dtype), described(jax.random.key_data(value))]
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        array = np.asarray(value)
        data = array.tobytes()
        text = data.hex() if len(data) < 400 else hashlib.sha256(data).hexdigest()
        return {"dtype": str(array.dtype), "shape": list(array.shape), "bytes": text, "near": str(array.ravel()[:8])}
    return [type(value).__name__, repr(value)]


def outcome(program: dict[str, Any]) -> dict[str, object]:
    """What a program ended with: a result, or the exception that it raised."""
    printed = io.StringIO()
    found: dict[str, object] = {"name": program["name"], "result": None, "error": ""}
    vars(jax)["shard_map"] = with_one_value if program["one_value"] else SHARD_MAP
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            found["result"] = run(program["files"], program["careless"])
        except Exception:  # noqa: BLE001 - whatever a program raises is its outcome
            found["error"] = traceback.format_exc(limit=-3)
    return {**found, "printed": printed.getvalue()}


if __name__ == "__main__":
    be_brief()
    read_at_the_call()
    renew_context, forget_executables = share_contexts(), share_executables()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    gc.freeze()
    gc.set_threshold(50_000)
    count = 0
    for line in sys.stdin:
        programs = json.loads(line)
        for each in programs:
            print(json.dumps({"begun": each["name"]}), file=out, flush=True)
            print(json.dumps(outcome(each)), file=out, flush=True)
            count += 1
            if count % PROGRAMS_A_CACHE == 0:
                jax.clear_caches()  # type: ignore[no-untyped-call]
                forget_executables()
                renew_context()
        print(json.dumps({"done": len(programs)}), file=out, flush=True)
