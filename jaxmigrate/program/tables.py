"""The tables beside the code, read without importlib.resources, whose own imports are a tenth of a run on one file."""

from __future__ import annotations

import os


def table_text(name: str) -> str:
    """The text of a table, also where the package is imported from an archive."""
    path = os.path.join(os.path.dirname(__file__), name)
    loader = globals()["__loader__"]
    content: bytes = loader.get_data(path)
    return content.decode("utf-8")
