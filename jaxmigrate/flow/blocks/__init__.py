"""Arrays dimension by dimension: how many one has, and over which mesh axes each dimension of a block is split."""

from __future__ import annotations

from jaxmigrate.flow.blocks.block import WHOLE, Block, rank_of
from jaxmigrate.flow.blocks.evaluate import Evaluator
from jaxmigrate.flow.blocks.inside import Clash
from jaxmigrate.flow.blocks.leaves import leaves
from jaxmigrate.flow.blocks.written import spec_block

__all__ = ["WHOLE", "Block", "Clash", "Evaluator", "leaves", "rank_of", "spec_block"]
