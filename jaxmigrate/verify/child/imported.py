"""Acts on modules as soon as they are imported; importing them for that would slow down what never needs them."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


def when_imported(names: Iterable[str], act: Action) -> None:
    """Call `act` with each module of these names, once, right after its own code has run."""
    sys.meta_path.insert(0, _Finder(names, act))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules as everybody else would, and has their loaders act on them."""

    def __init__(self, names: Iterable[str], act: Action) -> None:
        self.waiting = {*names}
        self.act = act

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG002 - the interface of finders
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.waiting:
            return None
        self.waiting.discard(fullname)
        if not self.waiting:
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.act)
        return spec


class _Loader(importlib.abc.Loader):
    """Another loader, followed by the action."""

    def __init__(self, loader: Any, act: Action) -> None:
        self.loader = loader
        self.act = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        self.act(module)
