"""The rules of `jaxmigrate lint`, one folder each.

A folder is a rule's page (README.md), an example of what it reports and of what it does not (bad.py, good.py), and, in
`__init__.py`, its check, with a sentence in `FIX` if that offers fixes. A folder without a check documents a code that
another command gives.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # the cache asks where the rules lie, and must not wait for all that they stand on
    from jaxmigrate.findings import Finding
    from jaxmigrate.flow.facts import Facts

Check: TypeAlias = "Callable[[Facts], Iterable[Finding]]"


@cache
def checks() -> dict[str, Check]:
    """Every rule's check by its folder's name."""
    tops = [Path(top) for top in __path__]
    folders = sorted(name for top in tops for name in os.listdir(top) if (top / name / "README.md").is_file())
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in folders}
    return {name: module.check for name, module in modules.items() if hasattr(module, "check")}


@cache
def giving_way() -> frozenset[str]:
    """The codes that are told only where no other of their hundred is, on one line: `GIVES_WAY` of their rules."""
    modules = (importlib.import_module(f"{__name__}.{name}") for name in checks())
    return frozenset(module.CODE for module in modules if getattr(module, "GIVES_WAY", False))


@cache
def fixes() -> dict[str, str]:
    """What `lint --fix` does where a rule finds something with one right answer, by code: the rule's `FIX`."""
    modules = (importlib.import_module(f"{__name__}.{name}") for name in checks())
    return {module.CODE: module.FIX for module in modules if hasattr(module, "FIX")}
