"""JM108 in more forms than its examples have, and the lists that it must not speak of."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = "import jax\nfrom functools import partial\nfrom jax import lax\n"
STEP = "def step(x, k, mesh, num_rounds):\n    n = lax.axis_size('i')\n    return {}\n"
PERMUTED = STEP.format("lax.ppermute(x, 'i', {})")
GROUPED = STEP.format("lax.psum(x, 'i', axis_index_groups={})")
RIGHT = [
    "[(i, (i + 1) % n) for i in range(n)]",
    "[(i, (i - 1) % n) for i in range(n)]",
    "[((i + 1) % n, i) for i in range(n)]",
    "[(i, i + 1) for i in range(n - 1)]",
    "[(i + 1, i) for i in range(n - 1)]",
    "[(i, i ^ k) for i in range(n)]",
    "[(i, (i + k) % n) for i in range(n)]",
    "[(i, (i * k) % n) for i in range(n)]",
    "[(g * k + j, g * k + (j + 1) % k) for g in range(n // k) for j in range(k)]",
    "[(i, n - 1 - i) for i in range(n)]",
    "[(0, 1), (1, 0)]",
    "[(0, 1)]",
    "list(zip(range(n), [*range(1, n), 0]))",
    "make_permutation(n)",
    "[(i, table[i]) for i in range(n)]",
    "[(i, (i + 1) % mesh.shape['i']) for i in range(mesh.shape['i'])]",
    "[(i, i + 1 if i + 1 < n else 0) for i in range(n)]",
    "[(i, (i + 1) % n) for i in range(num_rounds)]",
]
TWICE = [
    "[(i, min(i + 1, n - 1)) for i in range(n)]",
    "[(i, (i + 1) % (n - 1)) for i in range(n)]",
    "[(max(i - 1, 0), i) for i in range(n)]",
    "[(0, i) for i in range(n)]",
    "[(i, 0) for i in range(n)]",
    "[(0, 1), (1, 2), (2, 1)]",
    "list(zip(range(n), [*range(1, n), 1]))",
    "[(i, min(i + 1, mesh.shape['i'] - 1)) for i in range(mesh.shape['i'])]",
    "[(i, i // 2) for i in range(lax.psum(1, 'i'))]",
]
OPEN = [
    "[(i, (i + 1) % n) for i in range(n - 1)]",
    "[(i, (i - 1) % n) for i in range(1, n)]",
    "[(i, (i + 1) % n) for i in range(0, n, 2)]",
]


def messages(text: str) -> list[str]:
    found = lint([decode((PRELUDE + text).encode(), "a.py", Path("/project/a.py"))], Config())
    return [finding.message for finding in found if finding.code == "JM108"]


@pytest.mark.parametrize("perm", RIGHT)
def test_permutations_that_are_right(perm: str) -> None:
    assert messages(PERMUTED.format(perm)) == []


@pytest.mark.parametrize("perm", TWICE)
def test_devices_that_are_there_twice(perm: str) -> None:
    (message,) = messages(PERMUTED.format(perm))
    assert "twice" in message


@pytest.mark.parametrize("perm", OPEN)
def test_rings_that_do_not_close(perm: str) -> None:
    (message,) = messages(PERMUTED.format(perm))
    assert "does not close" in message


@pytest.mark.parametrize(
    "text",
    [
        "def f(x, n):\n    perm = [(i, min(i + 1, n - 1)) for i in range(n)]\n    return lax.ppermute(x, 'i', perm)",
        "def f(n):\n    return partial(lax.ppermute, axis_name='i', perm=[(i, (i + 1) % (n - 1)) for i in range(n)])",
        (
            "def f(x, n, perm=None):\n    if perm is None:\n        perm = [(i, 0) for i in range(n)]\n"
            "    return lax.ppermute(x, 'i', perm)"
        ),
        "def f(x, n):\n    kv_perm = [(i, 0) for i in range(n)]\n    return send(lax.ppermute, x, kv_perm)",
    ],
)
def test_where_a_list_comes_from(text: str) -> None:
    assert len(messages(text)) == 1


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("None", ""),
        ("[[0, 1], [2, 3]]", ""),
        ("[[i, i + 1] for i in range(0, n, 2)]", ""),
        ("[list(range(n // 2)), list(range(n // 2, n))]", ""),
        ("[[i + j * k for j in range(n // k)] for i in range(k)]", ""),
        ("[list(range(i, i + k)) for i in range(0, n, k)]", ""),
        ("[list(range(k))]", ""),
        ("make_groups(n)", ""),
        ("[[i, i + 1] for i in range(n - 1)]", "device 1 is in two groups"),
        ("[list(range(0, n, 2))]", "device 1 is in no group"),
        ("[[0, 1], [1, 2]]", "device 1 is in two groups"),
        ("[[0, 1], [4, 5]]", "device 2 is in no group"),
        ("[[0, 1, 2, 3], [4, 5, 6]]", "of unlike sizes"),
        ("[[0, 1, 2, 3], [4, 5, 6, 7]]", ""),
        ("[list(range(jax.device_count() // 2))]", "device 4 is in no group"),
    ],
)
def test_groups(groups: str, expected: str) -> None:
    found = messages(GROUPED.format(groups))
    assert len(found) == bool(expected)
    assert all(expected in one for one in found)


def test_a_file_that_maps_nothing_itself() -> None:
    text = "import jax\nn = jax.local_device_count()\n"
    text += "def halo(x):\n    return jax.lax.ppermute(x, 'x', [(i, {}) for i in range(n)])\n"
    wrong, right = text.format("min(i + 1, n - 1)"), text.format("(i + 1) % n")
    assert [one.code for one in lint([decode(wrong.encode(), "a.py", Path("/project/a.py"))], Config())] == ["JM108"]
    assert lint([decode(right.encode(), "a.py", Path("/project/a.py"))], Config()) == []


@pytest.mark.parametrize(
    ("names", "second", "told"),
    [
        (("right_perm", "left_perm"), "[(i, (i + 1) % n) for i in range(n)]", 1),
        (("fwd", "bwd"), "[(i, (i + 1) % n) for i in range(n)]", 1),
        (("right_perm", "left_perm"), "[((i + 1) % n, i) for i in range(n)]", 0),
        (("send_perm", "kv_perm"), "[(i, (i + 1) % n) for i in range(n)]", 0),
    ],
)
def test_both_ways_the_same(names: tuple[str, str], second: str, told: int) -> None:
    text = (
        f"def f(x, y, n):\n    {names[0]} = [(i, (i + 1) % n) for i in range(n)]\n    {names[1]} = {second}\n"
        f"    return lax.ppermute(x, 'i', {names[0]}), lax.ppermute(y, 'i', {names[1]})"
    )
    assert len(messages(text)) == told


def test_the_number_of_devices_in_an_object() -> None:
    text = "def f(x, grid):\n    return lax.ppermute(x, 'i', [(i, i + 1) for i in range(grid.nDevices)])"
    (message,) = messages(text)
    assert "the last device sends" in message
