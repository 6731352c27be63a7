"""Writes random programs whose maps take a tuple of unlike parts, rewrites them, runs both and compares every bit.

    python tests/fuzz/tuples.py [--seed a] [--count 200] [--keep FOLDER]

The parts are replicated arrays and dictionaries, arrays and keys of each device, and batches; bodies take the tuple
apart in several ways, change parts or hand them on, and are scanned or not. Prints totals, and the numbers of programs
that came out with specs for single parts; 1 where a result differs.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.migrate.project import fix_files
from tests.layouts.running import Program, run_all

HEAD = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

n = jax.local_device_count()
"""
MADE = {
    "copy": [
        "jax_utils.replicate(jnp.array([1.0, 2.0, {c}.0]))",
        "jnp.stack([jnp.array([{c}.5, 1.0, 0.25])] * n)",
        "jax_utils.replicate(jnp.arange(3.0) + {c})",
    ],
    "own": [
        "jnp.arange(n * 3, dtype=jnp.float32).reshape(n, 3) / {c}",
        "np.sin(np.arange(n * 3, dtype=np.float32) + {c}).reshape(n, 3)",
        "jnp.ones((n, 3)) * (jnp.arange(n)[:, None] + {c})",
    ],
    "key": ["jax.random.split(jax.random.PRNGKey({c}), n)"],
    "batch": [
        "shard(np.cos(np.arange(n * 6, dtype=np.float32) + {c}).reshape(n * 2, 3))",
        "np.cos(np.arange(n * 6, dtype=np.float32) * {c}).reshape(n, 2, 3)",
    ],
    "dict": ["jax_utils.replicate({{'w': jnp.ones(3) * {c}, 'b': jnp.zeros(3)}})"],
}
LOOKED = {
    "copy": ["jax_utils.unreplicate({})", "np.asarray({})", "{}[0]"],
    "dict": ["jax_utils.unreplicate({})", "jax.device_get({})"],
    "own": ["np.asarray({})"],
    "batch": ["np.asarray({})"],
    "key": ["np.asarray({})", "0"],
}
VALUES = {"key": "jax.random.normal(drawn_{0}, (3,))", "batch": "{0}.mean(0)", "dict": "({0}['w'] + {0}['b'])"}
MIXED = ('((P("', "(P(), P(", "((P('")
AT_ONCE = 40


def program(rng: random.Random) -> str:
    """One program."""
    parts = {f"p{i}": rng.choice(["copy", "own", "key", "batch", "dict", "dict"]) for i in range(rng.randint(2, 4))}
    scanned, kept = rng.random() < 0.3, rng.random() < 0.35
    mapped = "functools.partial(jax.lax.scan, step)" if scanned else "step"
    donated = rng.choice(["", "", ", donate_argnums=0"])
    shape = "(n, 2, 3, 3)" if scanned else "(n, 4, 3)"
    size = 18 if scanned else 12
    every = ", ".join(parts)
    lines = [*_step(parts, rng), "", "", f"p_step = jax.pmap({mapped}, axis_name='i'{donated})", "", "", "def main():"]
    lines += ["    seen = []"]
    lines += [f"    {one} = {rng.choice(MADE[kind]).format(c=rng.randint(1, 4))}" for one, kind in parts.items()]
    lines += [f"    carry = ({every})"] if kept else []
    lines += ["    for i in range(3):"]
    lines += [f"        x = np.sin(np.arange(n * {size}, dtype=np.float32) + i).reshape{shape}"]
    if kept:
        lines += ["        carry, mean = p_step(carry, x)"]
    else:
        anew = [one for one, kind in parts.items() if kind == "key" and rng.random() < 0.5]
        lines += [f"        {one} = jax.random.split(jax.random.PRNGKey(i), n)" for one in anew]
        lines += [f"        ({every}), mean = p_step(({every}), x)"]
    looks = ["np.asarray(mean)", "jax_utils.unreplicate(mean)", "mean[0]", "0"]
    lines += [f"        seen.append({rng.choice(looks)})"]
    lines += [f"    {every} = carry"] if kept else []
    lines += [f"    seen.append({rng.choice(LOOKED[kind]).format(one)})" for one, kind in parts.items()]
    return "\n".join([HEAD, "", *lines, "    return seen", "", "", "RESULT = main()", "print(RESULT)", ""])


def _step(parts: dict[str, str], rng: random.Random) -> list[str]:
    """The mapped function."""
    names = list(parts)
    first, *rest = names
    apart = rng.choice(
        [
            [f"{', '.join(names)} = carry"],
            [f"{one} = carry[{i}]" for i, one in enumerate(names)],
            [f"{first}, *rest = carry", *(f"{one} = rest[{i}]" for i, one in enumerate(rest))],
            ["parts = [part for part in carry]", *(f"{one} = parts[{i}]" for i, one in enumerate(names))],
        ]
    )
    body = [*apart, *(f"{one}, drawn_{one} = jax.random.split({one})" for one in names if parts[one] == "key")]
    total = " + ".join(VALUES.get(kind, "{0}").format(one) for one, kind in parts.items())
    mean = rng.choice(
        ["jax.lax.pmean(total, 'i')", "jax.lax.psum(total, 'i') / 8", "total", "jax.lax.pmax(total, 'i')"]
    )
    body += [f"total = x.sum(0) + {total}", f"mean = {mean}"]
    given = [_changed(one, kind, rng.choice(["", "mean", "mean", "total"])) for one, kind in parts.items()]
    alike = [i for i, kind in enumerate(parts.values()) if kind in ("copy", "own")]
    if len(alike) > 1 and rng.random() < 0.15:
        one, other = rng.sample(alike, 2)
        given[one], given[other] = given[other], given[one]
    return ["def step(carry, x):", *(f"    {line}" for line in [*body, f"return ({', '.join(given)}), mean"])]


def _changed(one: str, kind: str, by: str) -> str:
    """What becomes of a part in a step."""
    if not by or kind == "key":
        return one
    if kind == "dict":
        return f"{{'w': {one}['w'] * 0.5 + {by} * 0.125, 'b': {one}['b'] + 1}}"
    return f"{one} * 0.5 + {by} * 0.25"


class Tried(NamedTuple):
    """What became of one program: whether it raises as written, has specs for parts, and how its rewrite is wrong."""

    name: str
    error: bool
    has_parts: bool
    wrong: str


def tried(names: Sequence[str]) -> list[Tried]:
    """Rewrites the programs of these names, and runs both."""
    texts = {name: program(random.Random(name)) for name in names}
    rewritten = {name: fix_files({"main.py": text}, "auto")["main.py"] for name, text in texts.items()}
    programs = [Program(f"before {name}", {"main.py": text}) for name, text in texts.items()]
    programs += [Program(f"after {name}", {"main.py": text}, one_value=True) for name, text in rewritten.items()]
    halves = run_all([programs[::2], programs[1::2]])
    found = {name: one for half in halves for name, one in half.items()}
    result = []
    for name in names:
        before, after = (found[f"{side} {name}"] for side in ("before", "after"))
        wrong = after["error"] or ("" if after["result"] == before["result"] else "differs")
        has_parts = any(sign in rewritten[name] for sign in MIXED)
        result.append(Tried(name, bool(before["error"]), has_parts, "" if before["error"] else wrong))
    return result


def main() -> int:
    """Prints totals; 1 where a result differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", default="a")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    done = mixed = raised = 0
    wrong: list[str] = []
    for start in range(0, options.count, AT_ONCE):
        names = [f"{options.seed}-{i}" for i in range(start, min(start + AT_ONCE, options.count))]
        found = tried(names)
        done, raised = done + len(names), raised + sum(one.error for one in found)
        mixed += sum(one.has_parts for one in found)
        for one in (one for one in found if one.wrong):
            wrong.append(one.name)
            print(f"{one.name}: {one.wrong}", flush=True)
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{one.name}.py").write_text(program(random.Random(one.name)), encoding="utf-8")
        print(
            f"{done} programs, {raised} raise as written, {mixed} with specs for parts, {len(wrong)} wrong", flush=True
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
