"""Why `fix --verify` leaves a file that it could rewrite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Withheld(NamedTuple):
    """The reason why a file is not written, and by id that of each of its sites that did not verify."""

    reason: str
    sites: Mapping[str, str]

    def of(self, site: str) -> str:
        """The reason to tell of a site: its own, else that of the file that it stands in."""
        return self.sites.get(site, self.reason)
