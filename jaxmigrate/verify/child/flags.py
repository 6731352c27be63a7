"""Adds the XLA flags that this process's jaxlib knows: XLA aborts a process that names one it does not know."""

from __future__ import annotations

import importlib.util
import json
import mmap
import os

_WANTED: list[str] = []


def extend(flags: list[str], cache: str) -> None:
    """Append to XLA_FLAGS each of `flags` that jaxlib knows and the user has not set.

    Flags that stand in one string are appended together or not at all, and none that an earlier one has set.
    `cache` is a file that remembers the answer for the other processes of the same verification, because finding it
    reads a library of 300 MB once.
    """
    library = _library()
    if library:
        known = set(_known(library, [flag for group in flags for flag in group.split()], cache))
        _WANTED.clear()
        taken = os.environ.get("XLA_FLAGS", "")
        for group in flags:
            together = group.split()
            if known.issuperset(together) and not any(flag.split("=")[0] in taken for flag in together):
                _WANTED.extend(together)
                taken = f"{taken} {group}"
        repeat()


def repeat() -> None:
    """Append the flags again: programs set XLA_FLAGS themselves, and it is read when the backend starts."""
    present = os.environ.get("XLA_FLAGS", "")
    missing = [flag for flag in _WANTED if flag.split("=")[0] not in present]
    if missing:
        os.environ["XLA_FLAGS"] = " ".join([present, *missing]).strip()


def _library() -> str:
    """The shared library that holds XLA, without importing jaxlib."""
    spec = importlib.util.find_spec("jaxlib")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for name in ("libjax_common.so", "libjax_common.dylib", "jax_common.dll", "xla_extension.so"):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                return path
    return ""


def _known(library: str, flags: list[str], cache: str) -> list[str]:
    answers = _read(cache)
    if library not in answers:
        answers[library] = _search(library, flags)
        temporary = f"{cache}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(answers, file)
        os.replace(temporary, cache)
    return answers[library]


def _read(cache: str) -> dict[str, list[str]]:
    try:
        with open(cache, encoding="utf-8") as file:
            answers: dict[str, list[str]] = json.load(file)
    except FileNotFoundError:
        return {}
    return answers


def _search(library: str, flags: list[str]) -> list[str]:
    with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return [flag for flag in flags if text.find(flag.split("=")[0].lstrip("-").encode()) >= 0]
