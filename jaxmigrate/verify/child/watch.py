"""Records every function that the program itself compiles or maps, for migrations that carry no marks.

What was pmapped in the original may have become a shard_map under jit, a jit of its own, or anything else that JAX
offers; which of them stands for which site is found out afterwards, from what they were called with. So all of them
are recorded that files of the project make, each under the place where it is made.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from . import recorder
from .imported import when_imported

_TRANSFORMS = {
    "jax": ("jit", "pmap", "shard_map", "smap"),
    "jax.experimental.shard_map": ("shard_map",),
    "jax.experimental.pjit": ("pjit",),
}


def watch(copy: str) -> None:
    """Record what files below `copy` make with JAX's transforms, from when JAX is imported on."""
    project = os.path.join(copy, "")
    when_imported(_TRANSFORMS, lambda module: _replace(module, project))


def _replace(module: ModuleType, project: str) -> None:
    for name in _TRANSFORMS[module.__name__]:
        if name in module.__dict__:
            module.__dict__[name] = _watched(module.__dict__[name], project)


def _watched(original: Callable[..., Any], project: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def transform(*args: Any, **kwargs: Any) -> Any:
        frame = inspect.currentframe()
        site = _place(frame.f_back, project) if frame is not None else ""
        return recorder.transform(site, original)(*args, **kwargs) if site else original(*args, **kwargs)

    return transform


def _place(frame: FrameType | None, project: str) -> str:
    """Where a function of the project makes something; empty for functions of anybody else."""
    place = _line(frame, project)
    outer = _line(frame.f_back, project) if frame is not None else ""
    return recorder.Place(place, f"{place}, called from {outer}" if outer else place) if place else ""


def _line(frame: FrameType | None, project: str) -> str:
    """Where a frame of the project stands, as `path:line`; empty for frames of anybody else."""
    if frame is None:
        return ""
    path = os.path.realpath(frame.f_code.co_filename)
    return f"{path[len(project) :]}:{frame.f_lineno}" if path.startswith(project) else ""
