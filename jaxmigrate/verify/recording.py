"""Reads what the processes of one run have logged, while they run and after they ended.

A log may stop in the middle of a line or of a call; what stands before that is still the truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jaxmigrate.verify.layouts import Digests
from jaxmigrate.verify.model import InFlight

# What the places of functions begin with that are recorded for the mapped functions inside them.
ENCLOSING = "jit "
# What those of maps begin with that are called by a name no mark stands at.
THROUGH = "through "
MAPPED = "@"
_STAGES = {"enter": "reading its arguments", "in": "running", "out": "ended", "raised": "ended", "traced": "ended"}


def is_enclosing(site: str) -> bool:
    """Whether this is no mapped site, but a jit of the program's own."""
    return site.startswith(ENCLOSING)


def is_through(site: str) -> bool:
    """Whether this is what was mapped through another name of a map, where no mark names a site."""
    return site.startswith(THROUGH)


class Leaf(NamedTuple):
    """One leaf of a call, without its values."""

    path: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    weak: bool


class Signature(NamedTuple):
    """What all calls with the same kinds of arguments or results have in common."""

    nodes: str
    leaves: tuple[Leaf, ...]


class Given(NamedTuple):
    """How the host came by an argument: what each of its arrays came through, from the inside, and whether it was cut.

    That are the marks of calls, and for what a mapped function gave its site, with MAPPED before it.
    """

    ways: frozenset[tuple[str, ...]]
    cut: bool

    @property
    def is_result(self) -> bool:
        """Whether some of it is what a mapped function gave."""
        return any(one.startswith(MAPPED) for way in self.ways for one in way)

    def is_through(self, mark: str) -> bool:
        """Whether some of its arrays came through a call."""
        return any(mark in way for way in self.ways)


class Stored(NamedTuple):
    """Where the bytes of an array are: in which file, from where on, and how many there are."""

    path: str
    start: int
    size: int


@dataclass(frozen=True)
class Values:
    """The arguments or the results of one call.

    `text` holds the digests of its leaves as the log has them, None where it has none. For each leaf
    that is `kept` its number, and where in the file `arrays` its bytes begin and how many there are.
    """

    signature: Signature
    digest: str
    text: str | None
    arrays: str
    kept: tuple[tuple[int, int, int], ...]

    @property
    def leaves(self) -> tuple[Digests, ...] | None:
        """The digests of the leaves, read anew each time: a run has millions of them."""
        if self.text is None:
            return None
        return tuple(map(Digests.parse, self.text.split("\n")[: len(self.signature.leaves)]))

    def array(self, leaf: int) -> Stored | None:
        """Where the bytes of one leaf are, if it was kept."""
        return next((Stored(self.arrays, *place) for number, *place in self.kept if number == leaf), None)


@dataclass
class Call:
    """One mapped call, as far as it came.

    `order` counts the calls of the process, `number` those of the site. `function` is the name of what is mapped. In a
    migration made by hand, `place` is where that is done, and `site` the site of the original that it stands for. When
    it began, the program had `printed` so many bytes.
    """

    site: str
    number: int
    order: int
    thread: str
    within: tuple[str, ...]
    inputs: Values | None = None
    outputs: Values | None = None
    raised: str = ""
    raised_text: str = ""
    traced: bool = False
    seconds: float = 0.0
    stage: str = "enter"
    function: str = ""
    place: str = ""
    printed: int = 0

    @property
    def ended(self) -> bool:
        """Whether the call came to an end, good or bad."""
        return self.stage in ("out", "raised", "traced")

    def in_flight(self) -> InFlight:
        """The call as reports name it."""
        return InFlight(self.site, self.number, self.order, _STAGES[self.stage])


@dataclass
class ProcessLog:
    """The log of one process, read as far as it is written; `beside` of its calls are of jits that are no sites."""

    path: Path
    facts: dict[str, Any] = field(default_factory=dict)
    jax: dict[str, Any] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    traced: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    precisions: dict[tuple[str, str], dict[str, list[str]]] = field(default_factory=dict)
    donated: dict[tuple[str, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    wrote_outside: set[str] = field(default_factory=set)
    read_outside: set[str] = field(default_factory=set)
    sharded: set[str] = field(default_factory=set)
    copying: set[str] = field(default_factory=set)
    does: dict[str, str] = field(default_factory=dict)
    given: dict[tuple[str, int], list[Given]] = field(default_factory=dict)
    open_calls: dict[int, Call] = field(default_factory=dict)
    beside: int = 0
    signatures: dict[int, Signature] = field(default_factory=dict)
    position: int = 0

    @property
    def pid(self) -> int:
        """The process's number."""
        return int(self.path.stem)

    def read_on(self) -> None:
        """Take in the complete lines that were written since the last time."""
        with self.path.open("rb") as file:
            file.seek(self.position)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self.position += end
        for line in data[:end].splitlines():
            self._take(json.loads(line))

    def _take(self, record: dict[str, Any]) -> None:
        kind = record["k"]
        if kind == "process":
            self.facts = record
        elif kind == "jax":
            self.jax = record
        elif kind == "made":
            self._take_made(record)
        elif kind == "outside":
            self.wrote_outside.update(record["wrote"])
            self.read_outside.update(record["read"])
        elif kind in ("files", "copies"):
            {"files": self.files, "copies": self.copying}[kind].update(record[kind])
        elif kind == "sig":
            leaves = tuple(
                Leaf(path, what, dtype, tuple(shape), weak) for path, what, dtype, shape, weak in record["leaves"]
            )
            self.signatures[record["id"]] = Signature(record["nodes"], leaves)
        elif kind == "donated":
            self.donated[record["site"], record["f"]] = tuple((path, shape) for path, shape in record["leaves"])
        elif kind == "precisions":
            self.precisions[record["site"], record["f"]] = record["of"]
        elif kind == "host":
            self.does[record["at"]] = record["does"]
        elif kind == "given":
            key = (record["site"], record["argument"])
            self.given.setdefault(key, []).append(Given(frozenset(map(tuple, record["from"])), record["cut"]))
        elif kind == "traced" and "n" not in record:
            self.traced.append((record["site"], tuple(record["within"])))
        else:
            self._take_call(kind, record)

    def _take_made(self, record: dict[str, Any]) -> None:
        site = record["site"]
        self.made[site] = record["name"]
        self.parameters[site] = tuple(record.get("parameters", ()))
        if record.get("at"):
            self.places.setdefault(site, record["at"])
        if record.get("sharded"):
            self.sharded.add(site)

    def _take_call(self, kind: str, record: dict[str, Any]) -> None:
        order = record["n"]
        if kind == "enter":
            call = Call(record["site"], record["i"], order, record["thread"], tuple(record["within"]))
            call.function = record.get("f", "")
            call.printed = record.get("o", 0)
            self.calls.append(call)
            self.beside += is_enclosing(call.site) and call.site not in self.sharded
            self.open_calls[order] = call
            return
        call = self.open_calls[order]
        call.stage = kind
        if kind == "in":
            call.inputs = self._values(record)
        elif kind == "out":
            call.outputs = self._values(record)
            call.seconds = record["s"]
        elif kind == "raised":
            call.raised, call.raised_text = record["type"], record["text"]
        else:
            call.traced = True
            self.traced.append((call.site, tuple(record["within"])))
        if call.ended:
            del self.open_calls[order]

    def _values(self, record: Mapping[str, Any]) -> Values:
        arrays = str(self.path.parent.parent / "arrays" / str(self.pid))
        kept = tuple(map(tuple, record.get("kept", ())))
        return Values(self.signatures[record["sig"]], record["digest"], record.get("leaves"), arrays, kept)


@dataclass
class Recording:
    """The logs of all processes of one run; `folder` holds `records/` and `arrays/`."""

    folder: Path
    processes: dict[Path, ProcessLog] = field(default_factory=dict)

    @property
    def records(self) -> Path:
        """The folder of the logs."""
        return self.folder / "records"

    def read_on(self) -> None:
        """Take in what every process has logged since the last time."""
        for path in sorted(self.records.glob("*.jsonl")):
            self.processes.setdefault(path, ProcessLog(path)).read_on()

    def ordered(self) -> list[ProcessLog]:
        """The processes in the order in which they began to record, those of a cluster or a test runner by number."""
        return sorted(
            self.processes.values(),
            key=lambda log: (log.facts.get("rank", 0), log.facts.get("worker", ""), log.facts.get("started", 0)),
        )

    def in_flight(self) -> tuple[tuple[ProcessLog, Call], ...]:
        """The calls that have begun and not ended, with the process they run in."""
        return tuple((log, call) for log in self.ordered() for call in log.open_calls.values())

    def calls(self) -> Iterator[Call]:
        """Every call of every process."""
        return (call for log in self.ordered() for call in log.calls)

    def count(self) -> int:
        """The number of calls of sites that have ended or are under way."""
        return sum(len(log.calls) - log.beside for log in self.processes.values())

    def last_call(self) -> Call | None:
        """The call that began last, in the process that made most of them."""
        return next(
            (log.calls[-1] for log in sorted(self.ordered(), key=lambda log: -len(log.calls)) if log.calls), None
        )

    def parameters(self, site: str) -> tuple[str, ...]:
        """The names of the positional parameters of what is mapped at a site, as far as they are known."""
        return max((log.parameters.get(site, ()) for log in self.processes.values()), key=len, default=())

    def precisions(self, site: str) -> dict[str, list[str]]:
        """In which precisions a site computes, by kind of operation, as far as it is known."""
        found = (of for log in self.processes.values() for (own, _), of in log.precisions.items() if own == site)
        return next(found, {})

    def sharded(self) -> frozenset[str]:
        """The jits, as recorded, that map over devices or are given shardings."""
        return frozenset(site for log in self.processes.values() for site in log.sharded if is_enclosing(site))

    def through(self) -> frozenset[str]:
        """What was called, with values or traced, through other names of maps."""
        traced = (site for log in self.processes.values() for site, _ in log.traced)
        return frozenset(site for site in (*(call.site for call in self.calls()), *traced) if is_through(site))

    def copying(self) -> frozenset[str]:
        """The sites whose functions hand on what they are given: nothing in them computes."""
        return frozenset(site for log in self.processes.values() for site in log.copying)

    def files(self) -> tuple[str, ...]:
        """The project's files that were loaded."""
        return tuple(sorted({name for log in self.processes.values() for name in log.files}))

    def wrote_outside(self) -> frozenset[str]:
        """The files outside of the project that the program opened to write them."""
        return frozenset(name for log in self.processes.values() for name in log.wrote_outside)

    def read_outside(self) -> frozenset[str]:
        """The files outside of the project that the program opened to read them."""
        return frozenset(name for log in self.processes.values() for name in log.read_outside)

    def stack(self) -> str:
        """What the program was doing when its time ran out, where it could still tell."""
        texts = (path.read_text(errors="replace") for path in sorted(self.records.glob("*.stack")))
        return "\n".join(text for text in texts if text)


@dataclass(frozen=True)
class StreamKey:
    """The part of a run within which the order of calls means something: one thread of one process."""

    process: int
    thread: str


def streams(recording: Recording) -> dict[StreamKey, list[Call]]:
    """The calls that have values, by thread of each process, in the order in which they began."""
    found: dict[StreamKey, list[Call]] = {}
    for number, log in enumerate(recording.ordered()):
        for call in log.calls:
            if not call.traced:
                found.setdefault(StreamKey(number, call.thread), []).append(call)
    return found
