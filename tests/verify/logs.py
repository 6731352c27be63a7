"""Writes logs as the recorder does, so that reading, comparing and judging can be tested without running JAX."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxmigrate.verify.recording import Recording

ARRAY = ["", "array", "float32", [8], False]


class Log:
    """The log of one process of a run in `folder`."""

    def __init__(self, folder: Path, pid: int = 1, worker: str = "", started: float = 0.0) -> None:
        self.path = folder / "records" / f"{pid}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.order = 0
        self.numbers: dict[tuple[str, str], int] = {}
        self.signatures: dict[str, int] = {}
        self.write(k="process", pid=pid, worker=worker, started=started, python="3", executable="python")

    def write(self, **record: Any) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def signature(self, leaves: Sequence[Any], nodes: str) -> int:
        key = json.dumps([leaves, nodes])
        if key not in self.signatures:
            self.signatures[key] = len(self.signatures)
            self.write(k="sig", id=self.signatures[key], nodes=nodes, leaves=leaves)
        return self.signatures[key]

    def enter(self, site: str, thread: str = "", within: Sequence[str] = (), function: str = "") -> int:
        order, self.order = self.order, self.order + 1
        number = self.numbers.get((site, thread), 0)
        self.numbers[site, thread] = number + 1
        self.write(k="enter", n=order, site=site, f=function, i=number, thread=thread, within=within)
        return order

    def values(self, kind: str, order: int, digests: str, leaves: Sequence[Any] = (ARRAY,), nodes: str = "*") -> None:
        signature = self.signature(leaves, nodes)
        seconds = {"s": 0.1} if kind == "out" else {}
        self.write(k=kind, n=order, sig=signature, digest=f"all {digests}", leaves=digests, **seconds)

    def call(
        self, site: str, given: str = "in", got: str = "out", thread: str = "", function: str = "", **shape: Any
    ) -> None:
        order = self.enter(site, thread, function=function)
        self.values("in", order, given)
        self.values("out", order, got, **shape)


def recording(folder: Path) -> Recording:
    found = Recording(folder)
    found.read_on()
    return found
