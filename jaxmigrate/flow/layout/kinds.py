"""What an expression may do to the device axis: the words for it, and the functions of libraries that do it."""

from __future__ import annotations

import ast
from typing import Literal

from jaxmigrate.program.library import named, the
from jaxmigrate.records import record

Kind = Literal[
    "replicate", "split", "first", "inner", "merge", "metrics", "prefetch", "rows", "stack", "read", "checkpoint",
    "identity", "size", "type", "given", "kept", "taken", "whole", "averaged", "listed",
]  # fmt: skip

KFAC_REPLICATES = the("kfac-replicates")
REPLICATES = named("replicates")
SPLITS = named("splits")
KEY_SPLITS = named("splits-key")
UNREPLICATE = the("unreplicates")
FIRSTS = named("first")
FETCHED_FIRSTS = named("first-fetched")
OF_LIBRARIES = REPLICATES | SPLITS | FIRSTS | FETCHED_FIRSTS
METRICS = named("metrics")
PREFETCHES = named("prefetches")
UNCHANGED = named("unchanged")
WITHOUT_LOOKING = named("only-looks", "tree-structure")
COUNTS = named("counts")
STACKS = named("stacks")
CUTS = named("cuts")
TILES = named("tiles")
PUTS_SLICES = the("puts-slices")
COUNTINGS = named("counting")
CONSTANTS = named("constant")  # arrays of one value
BROADCASTS = named("broadcasts")
LEADINGS = named("leads")
RESHAPES = named("reshapes")
REARRANGES = named("rearranges")
OF_ARRAY = "array"  # the form of what is said of the slices of one array, and not of a tree
LEADING, PATTERN = "leading", "pattern"  # of `"(d b) ... -> d b ..."`, and of patterns that do more
OF_OTHER_SIZES = frozenset({"sizes", "product", "same", "wider", PATTERN})  # which do not come from the array itself


@record
class Idiom:
    """What an expression does to the leading axis of `operand`; `form` is how it says it.

    `declared` is what the user's declaration says it of, where it is not known otherwise.
    """

    kind: Kind
    operand: ast.expr
    form: str = ""
    declared: str = ""
