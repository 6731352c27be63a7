"""What likely takes a star in a call of a map for, and what that must not change."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

import source


def step(w, images, labels, rng, scale=1.0):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((images @ w - labels) ** 2) * scale)(w)
    noise = jax.random.normal(rng, ())
    return w - 0.1 * jax.lax.pmean(grad, "d"), jax.lax.pmean(loss + noise, "d"), jax.random.split(rng)[0]


p_step = jax.pmap(step, axis_name="d")
w = jax_utils.replicate(jnp.ones(3))
rngs = jax.random.split(jax.random.PRNGKey(0), 8)
losses = []
for batch in source.MAKERS["batches"](3):
    w, loss, rngs = p_step(w, *batch, rngs)
    losses.append(float(loss[0]))
RESULT = [losses, np.asarray(jax_utils.unreplicate(w)).tolist()]
"""
SOURCE = """\
import numpy as np


def make_batches(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield tuple(rng.normal(size=size).astype("f4") for size in ((8, 2, 3), (8, 2)))


MAKERS = {"batches": make_batches}
"""


def test_a_star_gives_what_the_map_has_no_default_for() -> None:
    files = {"main.py": MAIN, "source.py": SOURCE}
    assert layouts(plan(files, "auto"))[0] == ["stacked"] * 5
    found = plan(files)
    assert layouts(found) == (["replicated", "split", "split", "stacked"], ["replicated", "replicated", "stacked"])
    told = [one.says for site in found.sites for one in site.assumed]
    assert any("`*batch` gives 2 arguments" in one for one in told), told
    before, after = both("spread", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_star_that_gives_more_raises_rather_than_gives_another_number() -> None:
    main = MAIN.replace("p_step(w, *batch, rngs)", "p_step(w, *batch)")
    source = SOURCE.replace("import numpy as np", "import jax\nimport numpy as np")
    source = source.replace("yield tuple(", "made = list(").replace(
        "size in ((8, 2, 3), (8, 2)))",
        "size in ((8, 2, 3), (8, 2)))\n"
        "        yield tuple([*made, jax.random.split(jax.random.PRNGKey(3), 8), np.arange(8.0)])",
    )
    files = {"main.py": main, "source.py": source}
    before, after = both("more", files, plan(files))
    assert before["error"] == ""
    assert after["error"] or before["result"] == after["result"]


@pytest.mark.parametrize("one", ["shard(X)", "jnp.stack(jnp.split(X, 8))"])
def test_a_star_of_batches_some_of_which_are_made_here_is_no_batch_from_elsewhere(one: str) -> None:
    main = MAIN.replace("p_step(w, *batch, rngs)", "p_step(w, *(SHARDED, batch[1]), rngs)")
    main = main.replace(
        "losses = []", f"X = np.sin(np.arange(48.0, dtype='f4')).reshape(16, 3)\nSHARDED = {one}\nlosses = []"
    )
    files = {"main.py": main, "source.py": SOURCE}
    before, after = both("some", files, plan(files))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_star_of_one_array_is_not_followed_by_proof() -> None:
    main = MAIN.replace("*batch, rngs", "*shard(source.MAKERS['one'](3)), rngs")
    files = {"main.py": main, "source.py": SOURCE + "MAKERS['one'] = lambda n: np.ones((16, n), 'f4')\n"}
    assert layouts(plan(files, "auto"))[0] == ["stacked"] * 5


def test_a_star_of_what_has_other_names_stays_stacked() -> None:
    main = (
        MAIN.replace("images", "one")
        .replace("labels", "other")
        .replace("batch in", "pair in")
        .replace("*batch", "*pair")
    )
    files = {"main.py": main, "source.py": SOURCE}
    found = plan(files)
    assert layouts(found)[0][1:3] == ["stacked", "stacked"]
    before, after = both("names", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_star_of_a_list_with_one_array_of_each_kind() -> None:
    main = MAIN.replace("for batch in", "for pair in").replace(
        "    w, loss, rngs = p_step",
        "    batch = [pair[0], np.repeat(pair[1][:, :1], 2, 1)]\n    w, loss, rngs = p_step",
    )
    files = {"main.py": main, "source.py": SOURCE}
    before, after = both("kinds", files, plan(files))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


NAMED = (
    MAIN.replace(", scale=1.0", "")
    .replace(" * scale", "")
    .replace("p_step(w, *batch, rngs)", "p_step(w, rng=rngs, **batch)")
)
NAMED_SOURCE = SOURCE.replace("yield tuple(", "yield dict(zip(('images', 'labels'), (").replace(
    "(8, 2)))", "(8, 2)))))"
)
BY_NAME = {
    "batch": ("", "rng=rngs, **batch"),
    "all but the state": ("", "**batch, rng=rngs"),
    "all": ("", "**{'w': w, 'rng': rngs, **batch}"),
    "two": ("    more = {'rng': rngs}\n", "**batch, **more"),
    "two in sight": (
        "    batch = shard(jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch))\n",
        "**batch, **{'rng': rngs}",
    ),
    "two from out of sight": ("    first, second = source.MAKERS['apart'](batch)\n", "rng=rngs, **first, **second"),
    "object": ("    batch = Held(batch)\n", "rng=rngs, **batch"),
}
HELD = """
class Held:
    def __init__(self, batch):
        self.batch = batch

    def keys(self):
        return ["labels", "images"]

    def __getitem__(self, name):
        return self.batch[name]


"""


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("layout", ["auto", "likely"])
def test_what_is_spread_by_names_from_out_of_sight_gives_the_parameters_that_are_left(name: str, layout: str) -> None:
    above, given = BY_NAME[name]
    main = NAMED.replace(
        "    w, loss, rngs = p_step(w, rng=rngs, **batch)", f"{above}    w, loss, rngs = p_step(w, {given})"
    )
    main = main.replace("p_step(w, **{'w': w, ", "p_step(**{'w': w, ").replace("p_step = ", f"{HELD}p_step = ")
    source = NAMED_SOURCE + "MAKERS['apart'] = lambda batch: [{name: batch[name]} for name in ('labels', 'images')]\n"
    files = {"main.py": main, "source.py": source}
    found = plan(files, layout)
    before, after = both("by name", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
    if name in ("batch", "all but the state"):
        assert layouts(found)[0].count("replicated") == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("labels, rng)", "labels=None, rng=None)"),
        ("labels, rng)", "labels, rng, **rest)"),
        ("labels, rng)", "labels, *, rng)"),
        ("p_step = jax.pmap(step, ", "p_step = jax.pmap(lambda *a, **b: step(*a, **b), "),
    ],
)
def test_what_is_spread_by_names_to_a_function_that_takes_others_keeps_the_numbers(old: str, new: str) -> None:
    main = NAMED.replace(old, new)
    assert main != NAMED
    files = {"main.py": main, "source.py": NAMED_SOURCE}
    found = plan(files)
    before, after = both("others", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_what_is_spread_by_names_and_more_than_is_taken_raises_as_before() -> None:
    source = NAMED_SOURCE.replace("('images', 'labels')", "('images', 'more')")
    files = {"main.py": NAMED, "source.py": source}
    before, after = both("more", files, plan(files))
    assert "TypeError" in str(before["error"])
    assert "TypeError" in str(after["error"])


def test_parameters_by_keyword_alone_get_what_is_spread_by_names() -> None:
    main = NAMED.replace("step(w, images, labels, rng)", "step(w, *, images, labels, rng)")
    files = {"main.py": main, "source.py": NAMED_SOURCE}
    found = plan(files)
    assert layouts(found)[0].count("replicated") == 1
    before, after = both("keywords", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
