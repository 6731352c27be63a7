"""Seeds NumPy's global generator when the program imports it, so that unseeded programs repeat themselves."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_MODULE = "numpy.random"


def seed_numpy_when_imported(seed: int) -> None:
    """Seed `numpy.random` as soon as it is there; importing NumPy here would slow every process down."""
    if _MODULE in sys.modules:
        sys.modules[_MODULE].__dict__["seed"](seed)
    else:
        sys.meta_path.insert(0, _Finder(seed))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds numpy.random as everybody else would, and has its loader seed it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG002 - the interface of finders
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.seed)
        return spec


class _Loader(importlib.abc.Loader):
    """Another loader, followed by the seeding."""

    def __init__(self, loader: Any, seed: int) -> None:
        self.loader = loader
        self.seed = seed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        module.__dict__["seed"](self.seed)
