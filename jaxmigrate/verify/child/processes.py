"""Makes this process one of several that JAX runs a program in, whatever the program itself does about that.

Programs that know of several processes call `jax.distributed.initialize` with the addresses of their cluster; others
leave it to their launcher. Here it is called as soon as JAX is imported, and the program's own call finds it done.
"""

from __future__ import annotations

import os
import socket
from types import ModuleType
from typing import Any

from .imported import when_imported

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
        when_imported(["jax"], _join)


def _join(jax: ModuleType) -> None:
    if NUMBER in os.environ:
        number, count, port = (os.environ.pop(name) for name in (NUMBER, COUNT, PORT))
        jax.distributed.initialize(f"127.0.0.1:{port}", int(count), int(number))
        jax.distributed.initialize = _already_done


def _already_done(*_: Any, **__: Any) -> None:
    """Stands in for the program's own call: it is one of several processes already."""
