"""Runs programs one after another, each in a fork of this process, which has imported JAX and started nothing of it.

Reads a path from each line of standard input; answers with a line of JSON: exit status and all output.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
from pathlib import Path

import jax  # noqa: F401 - half of what an example takes by itself


def begin(program: Path, output: int) -> None:
    """Makes this process one that runs a program as Python does."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = [str(program)]
    sys.path[0] = str(program.parent)


def main() -> None:
    """Answers line by line; a fork leaves by the end of its program, as any Python does."""
    for line in sys.stdin:
        program = Path(line.rstrip())
        with tempfile.TemporaryFile() as output:
            if (child := os.fork()) == 0:
                begin(program, output.fileno())
                runpy.run_path(str(program), run_name="__main__")
                return
            _, ended = os.waitpid(child, 0)
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
        print(json.dumps([os.waitstatus_to_exitcode(ended), text]), flush=True)


if __name__ == "__main__":
    main()
