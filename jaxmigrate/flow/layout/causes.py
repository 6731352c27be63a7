"""Why an array stays stacked, as data: each reason carries its cause, so that its words can change freely."""

from __future__ import annotations

from enum import StrEnum

from jaxmigrate.records import record


class Stacked(StrEnum):
    """What reasons have in common, by the anchor of the page that explains it: docs/stacked.md, from `reasons.py`."""

    RANDOM_KEY = "random-key"
    PER_DEVICE = "per-device"
    NOT_PROVEN = "not-proven"
    JAXLINE = "jaxline"
    ORIGIN = "origin"
    MAP_STAYS = "map-stays"
    READ_ON_HOST = "read-on-host"
    PASSED_ON = "passed-on"
    NOT_VISIBLE = "not-visible"
    REACHABLE = "reachable"
    MIXED = "mixed"
    BUFFER = "buffer"
    PADDING = "padding"
    NOT_FOLLOWED = "not-followed"

    def reason(self, text: str, topic: str = "") -> Reason:
        """A reason of this cause. `topic` is the text without names that only one site has, where it has some."""
        return Reason(self, text, topic or text)


@record
class Reason:
    """Why an array stays stacked: the cause, the words for it, and the words that other sites share with it."""

    cause: Stacked
    text: str
    topic: str

    def __str__(self) -> str:
        return self.text

    def worded(self, text: str) -> Reason:
        """The same reason in other words, such as with its place."""
        return Reason(self.cause, text, self.topic)


FAILED = "following the program failed"  # as every reason begins that is a fault of ours
NOT_ONE = Stacked.ORIGIN.reason("might not hold one slice per device")
NOT_FULL = Stacked.ORIGIN.reason("the mapped function's arguments might not hold one slice per device")  # of a result
GIVES_BACK = Stacked.MAP_STAYS.reason("it only returns its arguments")
NO_CALL = Stacked.NOT_VISIBLE.reason("fix sees no call of the mapped function")
