"""Calls that the rewritten program does without: which ones those are, and whether it may."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jaxmigrate.verify.fewer import pairs_of_fewer
from jaxmigrate.verify.model import Evidence, SiteEvidence, Verdict
from jaxmigrate.verify.recording import Call
from tests.verify.marked import by_name, verify_program

HEAD = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
rng = np.random.RandomState(0)
def rows(*shape): return jnp.asarray(rng.randn(8, *shape), "f")
def copies(*shape): return jnp.stack([jnp.asarray(rng.randn(*shape), "f")] * 8)
"""
# Each line that is marked with a name is one that the rewritten program has in another way, below.
RIGHT = f"""{HEAD}
spread = jax.pmap(lambda x: x)
step = jax.pmap(lambda p, key, w: p["a"] * w + key.sum())
params = spread({{"a": copies(3)}})
keys = spread(jnp.arange(16, dtype="uint32").reshape(8, 2))
weight = spread(copies())
for _ in range(2):
    out = step(params, keys, weight)

hold = jax.pmap(lambda x: jax.tree.map(jnp.copy, x))
after = jax.pmap(lambda x: {{"m": x["m"] * 2, "v": x["v"] + 1}})
state = {{"m": rows(4), "v": rows(2)}}
for t in range(4):
    kept = hold(state)
    state = after(state)
    print(t, np.asarray(kept["m"]).sum())

made = jax.pmap(lambda x: x * 0 + 1)
grown = jax.pmap(lambda p, x: p + x)
first = made(rows(3))
other = made(copies(5))
total = grown(first, rows(3))
print(grown(other, copies(5)))

halved = jax.pmap(lambda x: x * 0.5)
summed = jax.pmap(lambda p, x: p + x)
same = rows(6)
once = halved(same)
print(summed(once, rows(6)))
twice = halved(same)
print(summed(twice, rows(6)))
"""
FEWER = (
    ('params = spread({"a": copies(3)})', 'params = {"a": copies(3)}'),
    ("weight = spread(copies())", "weight = copies()"),
    ("kept = hold(state)", "kept = hold(state) if t == 2 else state"),
    ("other = made(copies(5))", "other = jnp.ones_like(copies(5))"),
    ("twice = halved(same)", "twice = once"),
)
WRONG = f"""{HEAD}
scale = jax.pmap(lambda x: x * 0.5)
scaled = jax.pmap(lambda x: x + 1)
for t in range(3):
    print(scaled(scale(rows(4))).sum())

sync = jax.pmap(lambda x: lax.pmean(x, "i"), "i")
synced = jax.pmap(lambda x: x + 2)
for t in range(3):
    print(synced(sync(rows(3))).sum())

push = jax.pmap(lambda p, u: p + u)
pushed = jax.pmap(lambda p: p.sum())
param = rows(2)
for t in range(3):
    param = push(param, rows(2))
    print(pushed(param).sum())

agree = jax.pmap(lambda x: lax.pmean(x, "i"), "i")
agreed = jax.pmap(lambda x: x + 4)
for t in range(3):
    print(agreed(agree(copies(4) * 0 + t)).sum())

fade = jax.pmap(lambda x, t: jnp.where(t > 1, x * 0.9, x))
faded = jax.pmap(lambda x: x + 5)
for t in range(3):
    print(faded(fade(rows(5), jnp.full(8, t))).sum())

turn = jax.pmap(lambda x: x, in_axes=1)
turned = jax.pmap(lambda x: x + 6)
for t in range(2):
    print(turned(turn(rows(8))).sum())

coarse = jax.pmap(lambda x: x.astype("bfloat16").astype("float32"))
coarsened = jax.pmap(lambda x: x + 7)
for t in range(3):
    print(coarsened(coarse(rows(6))).sum())

late = jax.pmap(lambda x: x)
used = jax.pmap(lambda x: x + 8)
held = [rows(7) for t in range(4)]
for t in range(4):
    print(used(late(held[t])).sum())

swap = jax.pmap(lambda x, y: (y, x))
x, y = rows(2), rows(2)
for t in range(3):
    x, y = swap(x, y)
    print(np.asarray(x)[0, 0])

double = jax.pmap(lambda x: x * 2)
doubled = jax.pmap(lambda x: x + 9)
ones = jnp.ones((8, 9))
for t in range(3):
    print(doubled(double(ones + (t == 2))).sum())
"""
MISTAKES = (
    ("scale(rows(4))", "(scale if t else lambda x: x)(rows(4))"),
    ("sync(rows(3))", "(sync if t != 1 else lambda x: x)(rows(3))"),
    ("param = push(param, rows(2))", "param = (push if t < 2 else lambda p, u: p)(param, rows(2))"),
    ("agree(copies(4) * 0 + t)", "(agree if t else lambda x: x)(copies(4) * 0 + t)"),
    ("fade(rows(5), jnp.full(8, t))", "(fade if t < 2 else lambda x, t: x)(rows(5), jnp.full(8, t))"),
    ("(lambda x: x, in_axes=1)", "(lambda x: x)"),
    ("turn(rows(8))", "rows(8)"),
    ("coarse(rows(6))", "(coarse if t < 2 else lambda x: x)(rows(6))"),
    ("late(held[t])", "late(held[t - 1]) if t > 1 else held[t]"),
    ("x, y = swap(x, y)", "x, y = swap(x, y) if t else (x, y)"),
    ("double(ones + (t == 2))", "(double(ones) if t == 0 else ones * 2)"),
)
WRONG_SITES = ("scale", "sync", "push", "agree", "fade", "turn", "coarse", "late", "swap", "double")


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SiteEvidence]:
    evidence = verify_program(tmp_path_factory.mktemp("right"), RIGHT, FEWER)
    assert evidence.ok, evidence.message
    assert evidence.outputs_equal
    return by_name(evidence)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return verify_program(tmp_path_factory.mktemp("wrong"), WRONG, MISTAKES)


@pytest.mark.parametrize(
    ("name", "calls", "says"),
    [
        ("spread", 1, "1 call bitwise equal; 2 calls more in the original, none in the rewritten program; its"),
        (
            "hold",
            1,
            "3 calls more in the original, none in the rewritten program; its function only returns",
        ),
        ("made", 1, "program.py:25 (grown), which takes the results, was given equal arguments"),
        ("halved", 1, "(summed), which takes the results, was given equal arguments"),
        ("step", 2, "2 calls bitwise equal"),
        ("after", 4, "4 calls bitwise equal"),
        ("grown", 2, "2 calls bitwise equal"),
    ],
)
def test_calls_that_a_program_may_do_without(right: dict[str, SiteEvidence], name: str, calls: int, says: str) -> None:
    site = right[name]
    assert site.verdict is Verdict.EQUAL, site.message
    assert site.calls == calls
    assert says in site.message


@pytest.mark.parametrize("name", WRONG_SITES)
def test_calls_that_are_missed(wrong: Evidence, name: str) -> None:
    site = by_name(wrong)[name]
    assert site.verdict is Verdict.DIFFERENT, site.message
    assert site.first is not None
    assert "numbers differ" in site.message if name == "late" else "left out" in site.message


def test_the_first_call_that_is_missed_is_the_cause(wrong: Evidence) -> None:
    assert wrong.message.startswith("program.py:8 (scale): mapped call 0 of the program")
    consequences = [site for site in wrong.sites if site.site.name not in WRONG_SITES]
    assert all(site.follows or site.verdict.ok for site in consequences)


def told(sites: str) -> list[Call]:
    """Calls in this order, `a1 b2` for a call of `a` that is given 1 and one of `b` that is given 2."""
    found: list[Call] = []
    for order, one in enumerate(sites.split()):
        number = sum(call.site == one[0] for call in found)
        found.append(Call(one[0], number, order, "", (), printed=int(one[1:])))
    return found


def paired(ours: str, theirs: str) -> dict[str, Sequence[tuple[int, int]]]:
    pairs = pairs_of_fewer(told(ours), told(theirs), lambda one, other: one.printed == other.printed)
    return {site: [(one.number, other.number) for one, other in found] for site, found in pairs.items()}


@pytest.mark.parametrize(
    ("ours", "theirs", "pairs"),
    [
        ("a1 a2 a3", "a2", {"a": [(1, 0)]}),
        ("a1 b0 a2 b0 a3", "b0 a2 b0", {"a": [(1, 0)]}),
        ("a1 b0 a2 b0 a3", "b0 b0 a7", {"a": [(2, 0)]}),
        ("a1 a2 a3 a4", "a7 a3", {"a": [(0, 0), (2, 1)]}),
        ("a1 a1 a1 b0 a1", "a1 b0 a1", {"a": [(0, 0), (3, 1)]}),
        ("a1 b0 b0", "b0 b0", {"a": []}),
        ("a1 b0 a1", "b0 a1 a1", {}),
        ("a1 b0 a1 b0 a1", "b0 a1 a1 b0", {}),
        ("a1 b0", "a1 b0", {}),
    ],
)
def test_which_calls_are_the_same(ours: str, theirs: str, pairs: dict[str, list[tuple[int, int]]]) -> None:
    assert paired(ours, theirs) == pairs
