"""What stands in for a proof: what the user declares, and what an experienced reader would assume.

Whoever follows a program asks a `Trust` before it gives up, and notes an `Assumption` where the answer lets it go on. A
trust without declarations grants nothing, which is how `fix` proves.
"""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from jaxmigrate.program.declarations import NOTHING_DECLARED, Declarations, Kind
from jaxmigrate.program.modules import Module
from jaxmigrate.program.observed import NOTHING_OBSERVED, Fact, Observed
from jaxmigrate.program.values import Class, Function
from jaxmigrate.records import made, record, replace

Grade = Literal["proven", "declared", "likely", "observed"]
GRADES: tuple[Grade, ...] = ("proven", "declared", "likely", "observed")  # from the strongest on


@record
class Assumption:
    """What a rewrite leans on that is not proven: where it matters, in words, and the declaration that states it.

    `fact` names what was observed, where that is what it is.
    """

    grade: Grade
    kind: Kind
    name: str
    says: str
    module: Module
    node: ast.AST
    fact: Fact = ()

    @property
    def line(self) -> int:
        """The line where it matters, 0 for the whole file."""
        return getattr(self.node, "lineno", 0)


@record(eq=False, frozen=False)
class Trust:
    """What may be taken for granted: declarations, and with `likely` what a reader would; `used` are those asked for.

    What was `observed` at every call of a run stands in for what neither shows, and what a reader `presumes` of arrays
    that come from out of sight is told in the same way.
    """

    declarations: Declarations = NOTHING_DECLARED
    likely: bool = False
    used: set[tuple[Kind, str]] = made(factory=set)
    observed: Observed = NOTHING_OBSERVED
    presumed: Observed = NOTHING_OBSERVED

    def presuming(self, more: Observed) -> Trust:
        """The same, where more is presumed."""
        before = self.presumed
        both = Observed({**before.made, **more.made}, {**before.given, **more.given})
        return replace(self, presumed=both)

    def presuming_nothing(self) -> Trust:
        """The same, where nothing is presumed."""
        return replace(self, presumed=NOTHING_OBSERVED)

    def __bool__(self) -> bool:
        return self.likely or bool(self.declarations) or bool(self.observed)

    def declares(self, kind: Kind, *names: str) -> bool:
        """Whether something is declared under one of its names."""
        found = False
        for pattern in self.declarations.of(kind):
            plain = pattern.replace("[", "[[]")  # an index is no class of characters
            if any(fnmatchcase(name, plain) for name in names):
                self.used.add((kind, pattern))
                found = True
        return found

    def grants(self, kind: Kind, name: str, says: str, module: Module, node: ast.AST) -> Assumption | None:
        """What is assumed of something outside the project, or of a name as such; None where nothing may be."""
        grade = self._grade(kind, (name,))
        return Assumption(grade, kind, name, says, module, node) if grade is not None else None

    def leaves_apart(self, path: Path, says: str, module: Module, node: ast.AST) -> Assumption | None:
        """What is assumed of a file that is not followed; None where it may take part."""
        root = self.declarations.root
        name = path.relative_to(root).as_posix() if root is not None and path.is_relative_to(root) else path.as_posix()
        return self.grants("apart", name, says, module, node)

    def of_project(self, kind: Kind, owner: Function | Class | Module, name: str = "") -> bool:
        """Whether something of the project, or what has a name in it, is declared."""
        return bool(self.declarations.of(kind)) and self.declares(kind, *self.names_of(owner, name))

    def _grade(self, kind: Kind, names: tuple[str, ...]) -> Grade | None:
        if self.declares(kind, *names):
            return "declared"
        return "likely" if self.likely else None

    def names_of(self, owner: Function | Class | Module, name: str = "") -> list[str]:
        """The dotted names by which a project may call something of its own, the longest first."""
        inside = () if isinstance(owner, Module) else _qualified(owner)
        module = owner if isinstance(owner, Module) else owner.module
        root = self.declarations.root
        path = module.path
        if root is not None and path.is_relative_to(root):
            path = path.relative_to(root)
        parts = [*path.with_suffix("").parts]
        if parts and parts[-1] == "__init__":
            parts.pop()
        whole = [*(part for part in parts if part != path.anchor), *inside, *([name] if name else [])]
        own = len(inside) + bool(name)
        return [".".join(whole[start:]) for start in range(max(len(whole) - own, 1))]


def dotted(owner: Function | Class, root: Path | None) -> str:
    """The name by which a declaration can call something of the project."""
    return Trust(Declarations(root)).names_of(owner)[0]


def _qualified(owner: Function | Class) -> tuple[str, ...]:
    """The names of a function or class and of what it stands in."""
    names: list[str] = [getattr(owner.node, "name", "<lambda>")]
    scope = owner.module.table.scope_of.get(owner.node)
    while scope is not None and (name := getattr(scope.node, "name", "")):
        names.insert(0, name)
        scope = scope.parent
    return tuple(names)
