"""Turns pmap into shard_map: plans first, then edits; never runs what it reads.

Edits are made by position on the text (see edits.py), so that this room needs nothing but the standard library.
"""

from jaxmigrate.migrate.plan import ArrayLayout, FilePlan, Plan, SitePlan
from jaxmigrate.migrate.project import fix_files, plan_sources

__all__ = ["ArrayLayout", "FilePlan", "Plan", "SitePlan", "fix_files", "plan_sources"]
