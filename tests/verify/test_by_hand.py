"""Migrations made by hand, which carry no marks: what stands for what is found, right ones agree, wrong ones do not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from jaxmigrate.verify.match import calls_of, likeness, match
from jaxmigrate.verify.model import Evidence, SiteEvidence, Verdict, VerifyRequest
from jaxmigrate.verify.run import verify
from tests.verify.logs import Log, recording
from tests.verify.marked import PROGRAMS, by_name, marked, sites_of

BEFORE = (PROGRAMS / "by_hand_before.py").read_text()
AFTER = (PROGRAMS / "by_hand_after.py").read_text()


class Wrong(NamedTuple):
    """One mistake: at which site, what it makes of the right text, and what must be said of it."""

    site: str
    right: str
    wrong: str
    leaf: str
    says: str
    hint: str = ""


_MEAN = 'lax.pmean(grads, "batch")\n    state'
_CORRECT = 'lax.psum((logits.argmax(-1) == y.argmax(-1)).sum(), "i")'
_WEIGH = 'in_specs=(P(), P("i")), out_specs=P(), check_vma=False'
WRONGS = (
    Wrong("p_train_step", _MEAN, "grads\n    state", "[0]['params']['b']", "the copies on devices 1, 2,", "P()"),
    Wrong("p_counted", 'lax.psum(g, "i") / count', 'lax.pmean(g, "i") / count', "['b']", "numbers differ", "1/8"),
    Wrong("p_evaluate", _CORRECT, f'lax.psum({_CORRECT}, "i")', "[1]['correct']", "48 rewritten", "8 times"),
    Wrong("p_gather", 'gather(x.mean(0), "i")', 'gather(x.mean(0), "i", tiled=True)', "", "float32[8,8,6] in"),
    Wrong("p_ring", "[(number, (number + 1) % N)", "[((number + 1) % N, number)", "", "differ", "in another order"),
    Wrong("p_dropout", 'jax.random.fold_in(key, lax.axis_index("i"))', "key", "", "numbers differ"),
    Wrong("p_accumulate", "lambda g: g / 2, total", "lambda g: g, total", "['b']", "numbers differ", "is 2 times"),
    Wrong("p_observe", "0.1 * x.mean(0), ", '0.1 * lax.pmean(x.mean(0), "i"), ', "['mean']", "differ", "pmean too"),
    Wrong("p_columns", "x.reshape(4, N, 6), 0.5", "x.reshape(N, 4, 6).swapaxes(0, 1), 0.5", "x", "argument x"),
    Wrong("p_update", "held, x, y, step)", "held, x, y, step + 1)", "step", "0 in the original, 1 rewritten"),
    Wrong("p_halved", ".astype(jnp.bfloat16)", "", "", "bfloat16[8,4,4] in the original, float32[32,4]", "precision"),
    Wrong("p_powered", "power=3", "power=2", "power", "3 in the original, 2 rewritten"),
    Wrong("p_extremes", 'lax.pmax(x.max(), "i")', 'lax.pmean(x.max(), "i")', "[0]", "numbers differ"),
    Wrong("p_tally", "return count + lax", 'return lax.psum(count, "i") + lax', "", "numbers differ"),
    Wrong("p_predict", "spread(x.reshape(N, 4, 6)[:, start : start + 2].reshape(-1, 6))",
          "spread(x[start * N : (start + 2) * N])", "x", "(split): blocks 1, 2, 3, 4, 5, 6 and 7 of 8 differ"),
    Wrong("p_norm", 'P("i")), P())(params, x)', 'P("i")), P())(jax.tree.map(lambda p: np.stack([p] * N), params), x)',
          "", "numbers differ"),
    Wrong("p_weigh", _WEIGH, _WEIGH.removesuffix(", check_vma=False"), "['w']", "numbers differ", "8 times"),
    Wrong("centred", 'x - lax.pmean(x.mean(0), "i")', "x - x.mean(0)", "", "numbers differ"),
    Wrong("p_noise", "normal(key.squeeze(0), (3,))", "normal(key, (3,))", "", "no exception in the original"),
    Wrong("p_placed", 'in_specs=P(("row", "column"))', 'in_specs=P(("column", "row"))', "", "numbers differ"),
    Wrong("p_moved", "state.squeeze(0), x)[None]", "state.squeeze(0) * 2, x)[None]", "", "call 1, result"),
)  # fmt: skip


def verified(
    root: Path, before: str, after: str, command: tuple[str, ...] = (sys.executable, "program.py")
) -> Evidence:
    (root / "program.py").write_text(after)
    request = VerifyRequest(
        root,
        command,
        {"program.py": marked(before, "jax.pmap").encode()},
        {},
        sites_of(before),
        by_hand=True,
    )
    return verify(request)


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return verified(tmp_path_factory.mktemp("right"), BEFORE, AFTER)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SiteEvidence]:
    after = AFTER
    for mistake in WRONGS:
        assert mistake.right in after, mistake
        after = after.replace(mistake.right, mistake.wrong)
    return by_name(verified(tmp_path_factory.mktemp("wrong"), BEFORE, after))


@pytest.mark.slow
@pytest.mark.parametrize("name", [mistake.site for mistake in WRONGS])
def test_right_migrations_agree(right: Evidence, name: str) -> None:
    site = by_name(right)[name]
    assert site.verdict is Verdict.EQUAL, site.message
    assert site.calls == site.calls_original == site.calls_rewritten > 0


@pytest.mark.slow
def test_counterparts_are_named(right: Evidence) -> None:
    lines = AFTER.splitlines()
    sites = by_name(right)
    for name, text in (("p_train_step", "step = jax.jit("), ("p_evaluate", "return jax.jit("), ("centred", "@jax.jit")):
        path, _, line = sites[name].site.counterpart.partition(":")
        assert path == "program.py"
        assert lines[int(line) - 1].strip().startswith(text)


@pytest.mark.slow
def test_layouts_of_hand_made_migrations_are_told(right: Evidence) -> None:
    sites = by_name(right)
    assert [(one.name, one.layout) for one in sites["p_train_step"].arguments] == [
        ("state", "replicated"),
        ("batch", "split"),
        ("key", "stacked"),
    ]
    assert [one.layout for one in sites["p_observe"].results] == ["stacked"]


@pytest.mark.slow
@pytest.mark.parametrize("mistake", WRONGS, ids=[mistake.site for mistake in WRONGS])
def test_wrong_migrations_are_refuted(wrong: dict[str, SiteEvidence], mistake: Wrong) -> None:
    site = wrong[mistake.site]
    assert site.verdict is Verdict.DIFFERENT, site.message
    assert site.first is not None
    assert site.first.leaf == mistake.leaf
    assert mistake.says in site.message
    assert site.message.startswith("call ")
    assert mistake.hint in site.first.hint


_DONATES = """
import jax, numpy as np
def step(state, x):
    return state + x
"""
_DONATES_BEFORE = (
    _DONATES
    + """
p_step = jax.pmap(step, donate_argnums=0)
state, x = np.zeros((8, 2), 'f'), np.ones((8, 2), 'f')
for _ in range(3):
    state = p_step(state, x)
"""
)
_DONATES_AFTER = (
    _DONATES
    + """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), 'i')
p_step = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=P('i'), out_specs=P('i'), check_vma=False), donate_argnums=0)
state, x = (jax.device_put(a, NamedSharding(mesh, P('i'))) for a in (np.zeros((8, 2), 'f'), np.ones((8, 2), 'f')))
for _ in range(3):
    state = p_step(state, x)
"""
)


@pytest.mark.parametrize(
    ("right_text", "wrong_text", "verdicts", "says"),
    [
        ("state = p_step(state, x)", "other = p_step(state, x)", {Verdict.DIFFERENT, Verdict.FAILED}, "call 1"),
        ("range(3)", "range(2)", {Verdict.DIFFERENT}, "(3 calls in the original, 2 calls rewritten)"),
        ("jax.devices()", "jax.devices()[:4]", {Verdict.EQUAL}, "3 calls bitwise equal"),
        ("    state = p_step(state, x)", "    pass", {Verdict.DIFFERENT}, "none in the migrated program: no mapped"),
        ("return state + x", "return state + x * np.float32(1.0000001)", {Verdict.WITHIN}, "within rounding"),
    ],
    ids=["use after donation", "missing call", "fewer devices", "never called", "rounding"],
)  # fmt: skip
def test_whole_programs(tmp_path: Path, right_text: str, wrong_text: str, verdicts: set[Verdict], says: str) -> None:
    assert right_text in _DONATES_AFTER
    evidence = verified(tmp_path, _DONATES_BEFORE, _DONATES_AFTER.replace(right_text, wrong_text))
    (site,) = evidence.sites
    assert site.verdict in verdicts, site.message
    assert says in site.message


def test_files_that_only_the_migrated_program_writes_are_told(tmp_path: Path) -> None:
    after = _DONATES_AFTER + "    np.save(f'state_{_}.npy', np.asarray(state))\n"
    evidence = verified(tmp_path, _DONATES_BEFORE, after)
    assert evidence.verdict is Verdict.EQUAL
    told = "only the rewritten program writes state_0.npy, state_1.npy, state_2.npy"
    assert any(one == told for one in evidence.notes), evidence.notes


class TestMatching:
    """Which callee stands for which, from logs alone."""

    @staticmethod
    def leaf(*shape: int) -> list[object]:
        return [["", "array", "float32", [*shape], False]]

    def test_names_decide_where_shapes_do_not(self, tmp_path: Path) -> None:
        ours, theirs = Log(tmp_path / "a"), Log(tmp_path / "b")
        for log, names in ((ours, ("f1", "f2")), (theirs, ("f2", "f1"))):
            for name in names:
                log.call(f"at {name}", function=name)
        found = match(recording(tmp_path / "a"), recording(tmp_path / "b"))
        assert found == {("at f1", "f1"): "at f1", ("at f2", "f2"): "at f2"}

    def test_shapes_decide_where_there_are_no_names(self, tmp_path: Path) -> None:
        ours, theirs = Log(tmp_path / "a"), Log(tmp_path / "b")
        ours.call("one", leaves=self.leaf(8, 2), function="<lambda>")
        ours.call("two", leaves=self.leaf(8, 3, 2), function="<lambda>")
        theirs.call("x", leaves=self.leaf(24, 2), function="<lambda>")
        theirs.call("y", leaves=self.leaf(16, 5), function="<lambda>")
        theirs.call("z", leaves=self.leaf(2), function="<lambda>")
        found = match(recording(tmp_path / "a"), recording(tmp_path / "b"))
        assert found == {("x", "<lambda>"): "two", ("z", "<lambda>"): "one"}

    def test_functions_of_one_helper_are_told_apart(self, tmp_path: Path) -> None:
        ours, theirs = Log(tmp_path / "a"), Log(tmp_path / "b")
        for log, sites in ((ours, ("s1", "s2")), (theirs, ("helper", "helper"))):
            for number, site in enumerate(sites):
                log.call(site, function=f"f{number}")
        found = match(recording(tmp_path / "a"), recording(tmp_path / "b"))
        assert found == {("helper", "f0"): "s1", ("helper", "f1"): "s2"}

    def test_what_cannot_be_is_not_likely(self, tmp_path: Path) -> None:
        ours, theirs = Log(tmp_path / "a"), Log(tmp_path / "b")
        ours.call("one", leaves=self.leaf(8, 2), function="step")
        theirs.call("x", leaves=self.leaf(5, 5), function="init")
        (one,), (other,) = calls_of(recording(tmp_path / "a")), calls_of(recording(tmp_path / "b"))
        assert likeness(one, other) == 0


_REGRESSION = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
rng = np.random.RandomState(0)
params = {"w": rng.randn(6, 4).astype("f"), "b": rng.randn(4).astype("f")}
x, y = rng.randn(64, 6).astype("f"), rng.randn(64, 4).astype("f")

def loss_fn(params, x, y):
    return ((jnp.tanh(x @ params["w"]) + params["b"] - y) ** 2).mean()
"""
_PMAPPED = (
    _REGRESSION
    + """
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    grads = lax.pmean(grads, "i")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), lax.pmean(loss, "i")

p_step = jax.pmap(train_step, axis_name="i")
params = jax.tree.map(lambda leaf: np.stack([leaf] * 8), params)
for _ in range(3):
    params, loss = p_step(params, x.reshape(8, 8, 6), y.reshape(8, 8, 4))
"""
)
_COMPILED = (
    _REGRESSION
    + """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), ("data",))
batch, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())

@jax.jit
def init():
    return jnp.zeros(3)

@jax.jit
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

init()
params, (x, y) = jax.device_put(params, everywhere), jax.device_put((x, y), batch)
for _ in range(3):
    params, loss = train_step(params, x, y)
"""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right_text", "wrong_text", "right"),
    [("", "", True), ("** 2).mean()", "** 2).mean(-1).sum()", False)],
    ids=["right", "sum for mean"],
)
def test_migration_to_jit_alone(tmp_path: Path, right_text: str, wrong_text: str, right: bool) -> None:
    evidence = verified(tmp_path, _PMAPPED, _COMPILED.replace(right_text, wrong_text) if right_text else _COMPILED)
    (site,) = evidence.sites
    assert site.verdict.ok is right, site.message
    assert site.calls == 3
    assert [one.layout for one in (*site.arguments, *site.results)] == [
        "replicated",
        "split",
        "split",
        "replicated",
    ]
    if not right:
        assert site.message.startswith("call 0, result [0]['b'] (replicated)")


def test_sites_that_pytest_reaches(tmp_path: Path) -> None:
    tests = "\n\ndef test_step():\n    run()\n\n\ndef test_broken():\n    raise ValueError\n"
    before, after = (
        text.replace("for _ in range(3):\n    params, loss", "def run():\n    _, loss") + tests
        for text in (_PMAPPED, _COMPILED)
    )
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "program.py", "-k", "test_step")
    evidence = verified(tmp_path, before, after, command=command)
    assert evidence.ok, evidence.message
    assert [site.calls for site in evidence.sites] == [1]
