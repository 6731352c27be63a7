"""The words by which a text is worth reading, before any table is read or tree built."""

from __future__ import annotations

MAPS = ("pmap", "shard_map", "smap", "xmap", "filter_pmap")  # what maps over devices, by the last part of its name
