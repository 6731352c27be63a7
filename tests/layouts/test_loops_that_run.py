"""Loops behind which a name has the value that their body gave it: by proof, or as a reader takes it, told as such."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    grad = jax.lax.pmean(grad, "i")
    return w - 0.1 * grad, grad


p_step = jax.pmap(step, axis_name="i")


def main(steps, loader):
    w = jax_utils.replicate(jnp.ones(3))
    told = []
    {before}
    for epoch in range(2):
        for batch in {over}:
            {body}
        grad = {taken}
        told.append(np.asarray(grad).tolist())
        {behind}
    return told


RESULT = main(2, [X, X + 1])
"""
BODY = "w, grad = p_step(w, shard(X + 1))"
GLOBAL = (["replicated", "split"], ["replicated", "replicated"])


def files(
    over: str = "range(steps)",
    *,
    before: str = "pass",
    body: str = BODY,
    taken: str = "jax_utils.unreplicate(grad)",
    behind: str = "pass",
) -> dict[str, str]:
    return {"main.py": MAIN.format(over=over, before=before, body=body, taken=taken, behind=behind)}


@pytest.mark.parametrize(
    "program",
    [
        files(),
        files("range(n)", before="n = steps // 2", taken="grad[0]"),
        files("enumerate(range(1, n + 1), 1)", before="n = 3"),
    ],
)
def test_what_a_loop_gives_that_has_as_many_rounds_each_time(program: dict[str, str]) -> None:
    found = plan(program, "auto")
    assert layouts(found) == GLOBAL
    before, after = both("program", program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_progress_bar_goes_through_what_it_is_given() -> None:
    program = files("tqdm(range(steps * 2), leave=False)", before="from tqdm import tqdm")
    assert layouts(plan(program, "auto")) == GLOBAL


@pytest.mark.parametrize("over", ["loader", "range(len(loader))", "enumerate(loader)"])
def test_a_loader_is_likely_to_give_something_and_that_is_told(over: str) -> None:
    assert layouts(plan(files(over), "auto"))[1] == ["replicated", "stacked"]
    found = plan(files(over))
    assert layouts(found) == GLOBAL
    told = {one.says for site in found.sites for one in site.assumed}
    assert told == {f"the loop over `{over}` runs at least once"}
    before, after = both("program", files(over), found)
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "program",
    [
        files(body=f"if batch: {BODY}"),
        files(before="grad = None", body=f"if batch > 7: continue\n            {BODY}"),
        files(before="grad = jnp.ones(3)", body="w, grad = p_step(w + 0 * grad, shard(X + 1))"),
        files(body=f"{BODY}; grad = grad[0]"),
        files(body=f"\n            try: {BODY}\n            except ValueError: pass"),
    ],
)
def test_a_name_that_may_have_another_value_keeps_both(program: dict[str, str]) -> None:
    for layout in ("auto", "likely"):
        assert layouts(plan(program, layout))[1][1] == "stacked", layout


@pytest.mark.parametrize(
    "program",
    [
        files(before="grad = jnp.ones((4, 3))"),
        files(behind="grad = np.ones((4, 3))"),
        files(behind="grad = grad.sum()"),  # reads its own name, and calls no function with it
    ],
)
def test_a_name_with_another_value_before_is_likely_to_get_that_of_the_loop(program: dict[str, str]) -> None:
    assert layouts(plan(program, "auto"))[1] == ["replicated", "stacked"]
    found = plan(program)
    assert layouts(found) == GLOBAL
    told = {one.says for site in found.sites for one in site.assumed}
    assert told == {"the loop over `range(steps)` runs at least once"}


def test_a_name_that_python_has_itself_is_never_without_a_value() -> None:
    program = files()["main.py"].replace("grad = jax_utils", "max = jax_utils").replace("w, grad =", "w, max =")
    program = program.replace("unreplicate(grad)", "unreplicate(max)").replace("asarray(grad)", "asarray(max)")
    assert layouts(plan({"main.py": program}, "auto"))[1] == ["replicated", "stacked"]


@pytest.mark.parametrize(
    "behind",
    ["steps -= 1", "steps = steps - 1", "steps = len(told)", "steps = 0", "np.subtract(steps, 1, out=steps)"],
)
def test_rounds_that_change_are_no_proof(behind: str) -> None:
    assert layouts(plan(files(behind=behind), "auto"))[1] == ["replicated", "stacked"]
