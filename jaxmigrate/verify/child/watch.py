"""Records functions that the program itself compiles or maps, where marks do not tell enough.

A migration made by hand has no marks: what was pmapped may have become a shard_map under jit, a jit of its own, or
anything else that JAX offers, and which of them stands for which site is found out afterwards, from what they were
called with. So all of them are recorded that files of the project make, each under the place where it is made. And a
mapped function that is only called under a jit has no values there to compare: then the calls of that jit are recorded.
Where a program has marks and shard_map, or jit with shardings, beside them, these are recorded as jits are, and told
apart from those.
"""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import Any

from . import recorder
from .imported import when_imported

_TRANSFORMS = {
    "jax": ("jit", "pmap", "shard_map", "smap"),
    "jax.experimental.shard_map": ("shard_map",),
    "jax.experimental.pjit": ("pjit",),
}


_JITS: dict[str, tuple[str, ...]] = {"jax": ("jit",), "jax.experimental.pjit": ("pjit",)}
_SHARDED = {name: tuple(one for one in names if one != "pmap") for name, names in _TRANSFORMS.items()}
_WATCHED: dict[str, dict[str, tuple[str, ...]]] = {"all": _TRANSFORMS, "jit": _JITS, "sharded": _SHARDED}
_SHARDINGS = {"in_shardings", "out_shardings"}


def watch(copy: str, what: str) -> None:
    """Record what files below `copy` make, from when JAX is imported on: `all` transforms, `jit`, or all but pmap."""
    project, transforms = os.path.join(copy, ""), _WATCHED[what]
    prefix = "" if what == "all" else recorder.ENCLOSING
    when_imported(transforms, lambda module: _replace(module, transforms[module.__name__], project, prefix))


def _replace(module: ModuleType, names: Sequence[str], project: str, prefix: str) -> None:
    for name in names:
        with warnings.catch_warnings():
            # Old names are no attributes of their modules, which give them on request and warn.
            warnings.simplefilter("ignore")
            original = getattr(module, name, None)
        if original is not None:
            module.__dict__[name] = _watched(name, original, project, prefix)


def _watched(name: str, original: Callable[..., Any], project: str, prefix: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def transform(*args: Any, **kwargs: Any) -> Any:
        frame = inspect.currentframe()
        site = _place(frame.f_back, project, prefix) if frame is not None else None
        if site is not None:
            site.sharded = name != "jit" or not _SHARDINGS.isdisjoint(kwargs)
        return recorder.transform(site, original)(*args, **kwargs) if site else original(*args, **kwargs)

    return transform


def _place(frame: FrameType | None, project: str, prefix: str) -> recorder.Place | None:
    """Where a function of the project makes something; None for functions of anybody else."""
    place = _line(frame, project)
    outer = _line(frame.f_back, project) if frame is not None else ""
    if not place:
        return None
    place = f"{prefix}{place}"
    return recorder.Place(place, f"{place}, called from {outer}" if outer else place)


def _line(frame: FrameType | None, project: str) -> str:
    """Where a frame of the project stands, as `path:line`; empty for frames of anybody else."""
    if frame is None:
        return ""
    path = os.path.realpath(frame.f_code.co_filename)
    return f"{path[len(project) :]}:{frame.f_lineno}" if path.startswith(project) else ""
