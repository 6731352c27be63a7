"""Names the revisions of both sides of a verification, where a repository has them."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

_SECONDS = 10.0


def revisions(root: Path, options: argparse.Namespace) -> dict[str, str]:
    """What git calls the original and the rewritten program, by side; nothing of a side that it does not know."""
    now = _described(root)
    given = getattr(options, "original", None)
    if given is None:
        return {"original": now, "rewritten": f"{now}, rewritten by fix"} if now else {}
    was = _described(Path(given)) if Path(given).exists() else _named(root, given)
    return {side: told for side, told in (("original", was), ("rewritten", now)) if told}


def _described(place: Path) -> str:
    """What is checked out there, with `-dirty` where it has changed since."""
    folder = place if place.is_dir() else place.parent
    return _git(folder, "describe", "--always", "--tags", "--dirty") if _is_tracked(folder) else ""


def _is_tracked(folder: Path) -> bool:
    """Whether the repository knows the folder: one that it does not know may only lie below it."""
    return bool(_git(folder, "ls-files", "--", "."))


def _named(folder: Path, reference: str) -> str:
    found = _git(folder, "describe", "--always", "--tags", reference)
    return found if not found or found == reference else f"{reference} ({found})"


def _git(folder: Path, *arguments: str) -> str:
    try:
        told = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip() if told.returncode == 0 else ""
