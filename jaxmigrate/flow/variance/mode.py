"""How a body is read: what a reading takes for granted."""

from __future__ import annotations

import ast

from jaxmigrate.records import record


@record
class Mode:
    """What a reading takes for granted; with nothing, its levels NO are proofs.

    `trusting`: what is out of sight is a function of its arguments, which saves the look at the whole program that
    calls of stored functions need; nothing is proven where the reading then says `assumed`. `lenient`, for rules, which
    tell of what is wrong rather than prove what is right: processes agree on all that Python tests, and an error on one
    of several ways is one. `local`: only the devices of one process are asked about, for all of which what Python
    tests, draws or reads from a file while the function is traced is one thing. `checked`: the map has
    `check_vma=True`, so that gradients with respect to what is equal are summed over the devices. `unmapped`: no map in
    sight leads to what is read, which is taken to run under one. `stacked`: the map is a pmap, whose arguments have no
    specs. `held` are tests that turn out in one way wherever the body runs, with that way.
    """

    trusting: bool = False
    lenient: bool = False
    local: bool = False
    checked: bool = False
    unmapped: bool = False
    stacked: bool = False
    held: tuple[tuple[ast.expr, bool], ...] = ()

    @property
    def proves(self) -> bool:
        """Whether what is found is a proof: it takes neither code out of sight nor a test of Python's for granted."""
        return not self.trusting and not self.lenient


PROOF = Mode()
