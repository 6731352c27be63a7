"""Makes this process one of several that JAX runs a program in, whatever the program itself does about that.

Programs that know of several processes call `jax.distributed.initialize` with the addresses of their cluster; others
leave it to their launcher. Here it is called as soon as JAX is imported, and the program's own call finds it done.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import socket
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

NUMBER = "JAXMIGRATE_PROCESS"
COUNT = "JAXMIGRATE_PROCESSES"
PORT = "JAXMIGRATE_PORT"


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


# The number of this process among those of the program.
RANK = int(os.environ.get(NUMBER, "0"))


def join_when_imported() -> None:
    """Join the others as soon as JAX is imported; processes that this one starts are not of their number."""
    if NUMBER in os.environ:
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds jax as everybody else would, and has its loader join the other processes."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG002 - the interface of finders
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "jax" or NUMBER not in os.environ:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Another loader, followed by joining the other processes."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _join()


def _join() -> None:
    import jax

    number, count, port = (os.environ.pop(name) for name in (NUMBER, COUNT, PORT))
    jax.distributed.initialize(f"127.0.0.1:{port}", int(count), int(number))
    jax.distributed.initialize = _already_done


def _already_done(*_: Any, **__: Any) -> None:
    """Stands in for the program's own call: it is one of several processes already."""
