"""Spares JAX work that many small programs in one process would repeat; their results stay the same bits."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import jax
from jax._src import compiler
from jax._src.interpreters import mlir


def share_contexts() -> Callable[[], None]:
    """Has MLIR's dialects, which take a fifth of a compilation to load, loaded once for several programs.

    What a program is lowered to does not depend on it. Returns what has the next program load them anew.
    """
    shared = functools.cache(mlir.make_ir_context)
    mlir.make_ir_context = shared
    return shared.cache_clear


def share_executables() -> Callable[[], None]:
    """Has what XLA compiles of one text of HLO, with the same options, compiled once. Returns what forgets it."""
    compiled: dict[bytes, Any] = {}
    compile_anew = compiler.backend_compile_and_load

    def compile_once(backend: Any, module: Any, devices: Any, options: Any, callbacks: Any) -> Any:
        if callbacks:
            return compile_anew(backend, module, devices, options, callbacks)
        text: str = module.operation.get_asm(enable_debug_info=False)
        key = hashlib.sha256(text.encode() + options.SerializeAsString()).digest()
        if key not in compiled:
            compiled[key] = compile_anew(backend, module, devices, options, callbacks)
        return compiled[key]

    compiler.backend_compile_and_load = compile_once
    return compiled.clear


def be_brief() -> None:
    """Spares what only serves people and later processes: a twelfth of a program's time."""
    jax.config.update("jax_enable_compilation_cache", False)  # type: ignore[no-untyped-call]
    jax.config.update("jax_traceback_in_locations_limit", 0)  # type: ignore[no-untyped-call]
    jax.config.update("jax_include_full_tracebacks_in_locations", False)  # type: ignore[no-untyped-call]
