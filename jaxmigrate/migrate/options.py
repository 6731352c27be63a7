"""What is asked of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxmigrate.migrate.wanted import ALL, Wanted
from jaxmigrate.program.declarations import NOTHING_DECLARED, Declarations, Kind
from jaxmigrate.program.observed import NOTHING_OBSERVED, Observed
from jaxmigrate.program.old_names import Era, Release
from jaxmigrate.program.trust import Trust


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How a project is to be rewritten.

    With the layout "auto" arrays become global ones wherever that is proven, with "likely" assumptions stand in for
    proofs, with "stacked" every caller stays as it is. Old names of JAX give way to those that the release `target`, by
    default the newest, and all later ones have; `era` is what the project says it was written for, where the meaning of
    its code depends on that. What is not `wanted` stays. What is `declared` counts for any layout but "stacked", where
    only the number of processes does, and is added to `used` where something asked for it; what a run has `observed`
    counts as well. `marks` asks for the texts that a verification runs; where something is observed, be it nothing, the
    original has marks by which a run shows more.
    """

    layout: str = "stacked"
    target: Release | None = None
    era: Era = ""
    wanted: Wanted = ALL
    declared: Declarations = NOTHING_DECLARED
    observed: Observed | None = None
    marks: bool = False
    used: set[tuple[Kind, str]] = field(default_factory=set)

    @property
    def witnessed(self) -> bool:
        """Whether the original is to show more than its maps' arguments and outputs."""
        return self.observed is not None

    def trust(self) -> Trust | None:
        """What counts beside proof; None where nothing is to be proven."""
        if self.layout == "stacked":
            return None
        seen = self.observed if self.observed is not None else NOTHING_OBSERVED
        return Trust(self.declared, likely=self.layout == "likely", used=self.used, observed=seen)
