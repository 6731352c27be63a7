"""Records every function that the program itself compiles or maps, for migrations that carry no marks.

What was pmapped in the original may have become a shard_map under jit, a jit of its own, or anything else that JAX
offers; which of them stands for which site is found out afterwards, from what they were called with. So all of them
are recorded that files of the project make, each under the place where it is made.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import Any

from . import recorder

_TRANSFORMS = {
    "jax": ("jit", "pmap", "shard_map", "smap"),
    "jax.experimental.shard_map": ("shard_map",),
    "jax.experimental.pjit": ("pjit",),
}


def watch(copy: str) -> None:
    """Record what files below `copy` make with JAX's transforms, from when JAX is imported on."""
    sys.meta_path.insert(0, _Finder(os.path.join(copy, "")))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that hold transforms as everybody else would, and has their loader put in others."""

    def __init__(self, project: str) -> None:
        self.project = project
        self.waiting = {*_TRANSFORMS}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG002 - the interface of finders
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.waiting:
            return None
        self.waiting.discard(fullname)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.project)
        return spec


class _Loader(importlib.abc.Loader):
    """Another loader, followed by the replacement of transforms."""

    def __init__(self, loader: Any, project: str) -> None:
        self.loader = loader
        self.project = project

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        for name in _TRANSFORMS[module.__name__]:
            if name in module.__dict__:
                module.__dict__[name] = _watched(module.__dict__[name], self.project)


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
