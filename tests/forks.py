"""Runs programs one after another, each in a fork of a process that has imported JAX and started nothing of it.

As a script it reads a line of JSON for each program, `[environment, arguments]`, and answers with one: exit status,
standard output and standard error.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

LIMIT = 120  # seconds for a program


class Ended(NamedTuple):
    """What a program ended with."""

    status: int
    out: str
    err: str


class Forks:
    """A process that runs programs, which is started where the first is to run; `modules` it imports before that."""

    def __init__(self, *modules: str) -> None:
        self._modules = ("jax", *modules)
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None  # tests of another file may begin anew

    def begin(self, arguments: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        """Begins a program, the first of its arguments, with more in its environment."""
        if self._child is None:
            pipe = subprocess.PIPE
            given = {**os.environ, "JAX_PLATFORMS": "cpu", "NPROC": "64"}
            command = [sys.executable, __file__, *self._modules]
            self._child = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, text=True, env=given, start_new_session=True
            )
        assert self._child.stdin is not None
        print(json.dumps([dict(environment), [str(one) for one in arguments]]), file=self._child.stdin, flush=True)

    def end(self) -> Ended:
        """What the program that was begun ends with."""
        assert self._child is not None
        assert self._child.stdout is not None
        timer = threading.Timer(LIMIT, os.killpg, (self._child.pid, 9))
        timer.start()
        try:
            line = self._child.stdout.readline()
        finally:
            timer.cancel()
        assert line, f"a program ran for more than {LIMIT} seconds"
        return Ended(*json.loads(line))

    def run(self, arguments: Sequence[str | Path], environment: Mapping[str, str]) -> Ended:
        """What a program ends with."""
        self.begin(arguments, environment)
        return self.end()


def become(environment: Mapping[str, str], arguments: Sequence[str], out: IO[bytes], err: IO[bytes]) -> None:
    """Makes this process one that runs a program as Python does."""
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    os.environ.update(environment)
    sys.argv = list(arguments)
    sys.path[0] = str(Path(arguments[0]).parent)


def main() -> None:
    """Answers line by line; a fork leaves by the end of its program, as any Python does."""
    for name in sys.argv[1:]:
        __import__(name)
    for line in sys.stdin:
        environment, arguments = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            if (child := os.fork()) == 0:
                become(environment, arguments, out, err)
                runpy.run_path(arguments[0], run_name="__main__")
                return
            _, ended = os.waitpid(child, 0)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
        print(json.dumps([os.waitstatus_to_exitcode(ended), *texts]), flush=True)


if __name__ == "__main__":
    main()
