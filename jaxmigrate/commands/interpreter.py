"""Which Python a command runs, and what to do where that one has no jax."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxmigrate.verify.model import Evidence

_NO_JAX = re.compile(r"No module named '(jax|jaxlib)'")
_PYTHON = re.compile(r"python[\d.]*(?:\.exe)?")


def told_without_jax(evidence: Evidence, command: Sequence[str], original_python: str = "") -> str:
    """What a user whose command found no jax has to know; empty where it did find one."""
    missing = _NO_JAX.search(evidence.message) if evidence.original_failed else None
    if missing is None:
        return ""
    found = original_python or interpreter_of(command, {**os.environ, **evidence.environment})
    ran = f"COMMAND ran {found}, which" if found else "the Python that COMMAND runs"
    own = importlib.util.find_spec("jax") is not None and not original_python
    better = f", or write {sys.executable}, which has it" if own and found != sys.executable else ""
    install = f"{found or 'python'} -m pip install 'jaxmigrate[verify]'"
    return f"{ran} has no {missing[1]}: `{install}` installs it there{better}"


def interpreter_of(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The Python that a command runs, as far as that can be told: itself, or what a script's first line names."""
    found = shutil.which(command[0], path=environment.get("PATH")) if command else None
    if found is None:
        return ""
    if _PYTHON.fullmatch(Path(found).name):
        return found
    try:
        with open(found, "rb") as stream:
            first = stream.readline(512).decode("utf-8", "replace")
    except OSError:
        return ""
    words = first.removeprefix("#!").split() if first.startswith("#!") else []
    named = next((word for word in words if _PYTHON.fullmatch(Path(word).name)), "")
    return (shutil.which(named, path=environment.get("PATH")) or "") if named else ""
