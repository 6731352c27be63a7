"""What a user wants to be changed: rules by code, and sites and old names that were declined one by one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

MAPS = "JM4"  # the group of all rules about what `fix` does, which is what maps are changed under
DECLINED = "was declined"
Place = tuple[int, int]


class Wanted(NamedTuple):
    """The codes of rules, or their beginnings; places of sites, and old names, that stay in a file.

    Places are lines from 1 and columns in characters from 1. `held` are those of sites that a verification speaks
    against, with the reason.
    """

    codes: tuple[str, ...] = ("JM",)
    sites: Mapping[Path, frozenset[Place]] = MappingProxyType({})
    names: Mapping[Path, frozenset[str]] = MappingProxyType({})
    held: Mapping[tuple[Path, Place], str] = MappingProxyType({})

    @property
    def maps(self) -> bool:
        """Whether maps are changed at all."""
        return any(MAPS.startswith(code) for code in self.codes)

    def selects(self, code: str) -> bool:
        """Whether a rule is among those that are wanted."""
        return any(code.startswith(one) for one in self.codes)

    def declines_site(self, path: Path, place: Place) -> bool:
        """Whether the site at a place of a file stays."""
        return place in self.sites.get(path, ())

    def held_at(self, path: Path, place: Place) -> str:
        """Why a verification speaks against the site at a place of a file; nothing where none does."""
        return self.held.get((path, place), "")

    def declines_name(self, path: Path, name: str) -> bool:
        """Whether an old name stays in a file."""
        return name in self.names.get(path, ())


ALL = Wanted()
