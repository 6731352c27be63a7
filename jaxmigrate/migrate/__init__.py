"""Turns pmap into shard_map: decides what is done at which node, as plain data that `codemod` applies; runs nothing."""

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import ArrayLayout, FilePlan, Plan, SitePlan
from jaxmigrate.migrate.project import fix_files, plan_sources

__all__ = ["ArrayLayout", "FilePlan", "Plan", "PlanOptions", "SitePlan", "fix_files", "plan_sources"]
