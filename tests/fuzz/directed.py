"""One program for each way to carry a stacked array through Python, and for each way to look at one.

    python tests/fuzz/directed.py [--only TEXT] [--first 0] [--count N] [--seconds 1800] [--fast]

`directed/carriers.txt` has a way on each line from the name `w` to the name `kept`, of which then device 0's slice is
looked at; `\\n` stands for a line's end. `directed/consumers.txt` has expressions over a state, its metrics and its
rows behind a step. Each program is rewritten with global arrays where they are proven, and both are run and compared as
programs.py does. Prints what differs and the totals; 1 where something differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from tests.flags import UNOPTIMISED
from tests.fuzz.programs import bad
from tests.fuzz.running import Worker, rewritten

LISTS = Path(__file__).parent / "directed"
HEAD = """import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import operator
import types
from typing import Any, NamedTuple
import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import common_utils
from flax.training.common_utils import shard
X = np.random.RandomState(0).normal(size=(16, 3)).astype(np.float32)
Y = np.arange(16)
N = jax.local_device_count()
i0 = 0
"""
CARRIED = (
    HEAD
    + """class NT(NamedTuple):
    a: Any
    b: Any
@dataclasses.dataclass
class DC:
    a: Any = None
    b: Any = None
def ident(x):
    return x
def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.mean(0), "batch")
p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
{line}
w = p_step(w, shard(X))
RESULT = [w[0], kept[0]]
"""
)
CONSUMED = (
    HEAD
    + """def step(s, b):
    g = jax.lax.pmean(b["x"].mean(0), "batch")
    metrics = {{"loss": jax.lax.pmean((b["x"] ** 2).mean(), "batch"), "own": b["x"].sum()}}
    return {{"w": s["w"] - 0.1 * g, "n": s["n"] + 1}}, metrics, b["x"] * 2
p_step = jax.pmap(step, axis_name="batch")
s = jax_utils.replicate({{"w": jnp.ones(3), "n": jnp.zeros((), jnp.int32)}})
b = shard({{"x": X, "y": Y}})
s, m, r = p_step(s, b)
w, n, loss = s["w"], s["n"], m["loss"]
RESULT = [{line}]
"""
)


def programs() -> Iterator[tuple[str, str]]:
    """What each program is about, and its text."""
    for name, frame in (("carriers", CARRIED), ("consumers", CONSUMED)):
        for line in (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            yield f"{name}: {line}", frame.format(line=line.replace("\\n", "\n"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="those with this text alone")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--fast", action="store_true", help="compile without what XLA does for speed")
    options = parser.parse_args(arguments)
    chosen = [(title, text) for title, text in programs() if options.only in title]
    until, counts = time.monotonic() + options.seconds, Counter[str]()
    with Worker(flags=UNOPTIMISED if options.fast else ()) as worker:
        for title, text in chosen[options.first : options.first + options.count]:
            if time.monotonic() > until:
                break
            case = rewritten(title, {"main.py": text}, ("auto",))
            verdicts = worker.ask(case)
            verdict = verdicts.get("auto", ("unchanged", ""))[0]
            counts[verdict] += 1
            counts["programs"] += 1
            if bad(verdicts):
                counts["wrong"] += 1
                print(f"{verdict}: {title}\n    {verdicts.get('auto', ('', ''))[1][-300:]}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
