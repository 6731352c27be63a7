"""Rewriting: LibCST lives here and nowhere else. A plan of typed operations goes in, the new text comes out.

`python -m libcst.tool codemod -x jaxmigrate.codemod.PmapToShardMap PATH` runs it as LibCST's users expect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxmigrate.codemod.commands import PmapToShardMap, RenameOldNames

__all__ = ["PmapToShardMap", "RenameOldNames"]


def __getattr__(name: str) -> object:
    """The commands, which import LibCST only when they are asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from jaxmigrate.codemod import commands

    return getattr(commands, name)
