"""What is rounding and what is not: trainers of one kind, migrated rightly and wrongly, each run as it would be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pytest

from jaxmigrate.verify.model import ORIGINAL, Evidence, Verdict, VerifyRequest
from jaxmigrate.verify.run import verify
from jaxmigrate.verify.session import Originals
from tests.verify.marked import marked, sites_of

HEAD = """
import jax, jax.numpy as jnp, numpy as np, optax
from jax import lax
rng = np.random.RandomState(0)
N, D, H = 8, 32, 64
DTYPE = jnp.float32
params = {"w": rng.randn(D, H).astype("f") * 0.1, "b": np.zeros(H, "f"), "v": rng.randn(H, 4).astype("f") * 0.1}
X, Y = rng.randn(10, 64, D).astype("f"), rng.randint(0, 4, (10, 64))
tx = optax.adamw(1e-3, weight_decay=0.01)


def loss_fn(params, x, y):
    p = jax.tree.map(lambda leaf: leaf.astype(DTYPE), params)
    h = jnp.tanh(x.astype(DTYPE) @ p["w"] + p["b"])
    return optax.softmax_cross_entropy_with_integer_labels((h @ p["v"]).astype("f"), y).mean()


def step(state, x, y):
    params, opt = state["params"], state["opt"]
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    grads = lax.pmean(grads, "i")
    updates, opt = tx.update(grads, opt, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "opt": opt}, {"loss": lax.pmean(loss, "i"), "rows": lax.psum(y.size, "i")}


state = {"params": params, "opt": tx.init(params)}
"""
BEFORE = f"""{HEAD}
p_step = jax.pmap(step, axis_name="i")
state = jax.tree.map(lambda leaf: jnp.stack([leaf] * N), state)
for t in range(6):
    x, y = X[t], Y[t]
    state, metrics = p_step(state, x.reshape(N, -1, D), y.reshape(N, -1))
    print(t, float(metrics["loss"][0]))
np.savez("params.npz", **jax.tree.map(lambda leaf: np.asarray(leaf[0]), state["params"]))
"""
LOOP = """
for t in range(6):
    x, y = X[t], Y[t]
    state, metrics = p_step(state, x, y)
    print(t, float(metrics["loss"]))
np.savez("params.npz", **jax.tree.map(np.asarray, state["params"]))
"""
MESH = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), ("i",))
"""
SPECS = 'in_specs=(P(), P("i"), P("i")), out_specs=P(), check_vma=False'
SHARD = f"{HEAD}{MESH}p_step = jax.jit(jax.shard_map(step, mesh=mesh, {SPECS}))\n{LOOP}"
MEANS = (
    ('    grads = lax.pmean(grads, "i")\n', ""),
    ('lax.pmean(loss, "i"), "rows": lax.psum(y.size, "i")', 'loss, "rows": y.size'),
)
Edits = Sequence[tuple[str, str]]


def edited(text: str, edits: Edits) -> str:
    for right, wrong in edits:
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    return text


JIT = f"""{edited(HEAD, MEANS)}{MESH}
everywhere, split = NamedSharding(mesh, P()), NamedSharding(mesh, P("i"))
p_step = jax.jit(step, in_shardings=(everywhere, split, split), out_shardings=everywhere)
{LOOP}"""
SGD = ("optax.adamw(1e-3, weight_decay=0.01)", "optax.sgd(1e-7)")
BFLOAT16 = ("DTYPE = jnp.float32", "DTYPE = jnp.bfloat16")
VMA = (
    ("check_vma=False", "check_vma=True"),
    ('    grads = lax.pmean(grads, "i")\n', "    grads = jax.tree.map(lambda g: g / N, grads)\n"),
)
RNGS = (
    (
        '    return {"params": params, "opt": opt}, {',
        '    rngs = jax.random.split(state["rngs"])[0]\n    return {"params": params, "opt": opt, "rngs": rngs}, {',
    ),
    ('"opt": tx.init(params)}', '"opt": tx.init(params), "rngs": jax.random.key(0)}'),
)


class Case(NamedTuple):
    """A migration: what the original is, what is migrated by hand, and what the verdict has to say.

    `or_within` where XLA cuts the products anew, which has the same bits on some processors only: how products are
    summed up goes by the size of their caches.
    """

    name: str
    verdict: Verdict
    after: str
    before: str = BEFORE
    says: str = ""
    hint: str = ""
    as_compiled: bool = False
    or_within: bool = False


CASES = (
    Case("shard_map", Verdict.EQUAL, SHARD),
    Case("jit on global arrays", Verdict.EQUAL, JIT, or_within=True),
    Case("jit on global arrays as compiled", Verdict.WITHIN, JIT, as_compiled=True),
    Case("jit in bfloat16", Verdict.WITHIN, edited(JIT, [BFLOAT16]), edited(BEFORE, [BFLOAT16])),
    Case("check_vma in bfloat16", Verdict.WITHIN, edited(SHARD, [*VMA, BFLOAT16]), edited(BEFORE, [BFLOAT16])),
    Case("psum for pmean in bfloat16", Verdict.DIFFERENT,
         edited(SHARD, [("lax.pmean(grads", "lax.psum(grads"), BFLOAT16]), edited(BEFORE, [BFLOAT16]), "call 0"),
    Case("another schedule in bfloat16", Verdict.DIFFERENT,
         edited(SHARD, [("adamw(1e-3", "adamw(1.1e-3"), BFLOAT16]), edited(BEFORE, [BFLOAT16]), "call 0"),
    Case("a field beside the state", Verdict.EQUAL, SHARD, edited(BEFORE, RNGS), "only the original program returns"),
    Case("old parameters at a tiny rate", Verdict.DIFFERENT,
         edited(SHARD, [SGD, ('return {"params": params', 'return {"params": state["params"]')]), edited(BEFORE, [SGD]),
         "call 0, result [0]['params']", "comes back unchanged"),
    Case("psum for pmean at a tiny rate", Verdict.DIFFERENT,
         edited(SHARD, [SGD, ("lax.pmean(grads", "lax.psum(grads")]), edited(BEFORE, [SGD]), "call 0", "is 8 times"),
    Case("another weight decay", Verdict.DIFFERENT, edited(SHARD, [("decay=0.01", "decay=0.01001")]), says="call 0"),
    Case("a fraction of the step", Verdict.DIFFERENT, edited(JIT, [("adamw(1e-3", "adamw(0.99997e-3")]), says="call 0"),
    Case("8 times with a field beside the state", Verdict.DIFFERENT,
         edited(SHARD, [("lax.pmean(grads", "lax.psum(grads")]), edited(BEFORE, RNGS), "call 0", "is 8 times"),
    Case("another number printed", Verdict.DIFFERENT,
         edited(SHARD, [('float(metrics["loss"])', 'float(state["params"]["b"][3])')]),
         says="it prints something else: line 1: '0 1.4"),
    Case("another file written", Verdict.DIFFERENT,
         edited(SHARD, [("map(np.asarray, ", "map(lambda p: 8 * np.asarray(p), ")]),
         says="it writes something else: params.npz: ['b'] "),
)  # fmt: skip


LONG = frozenset(
    {
        *("another schedule in bfloat16", "check_vma in bfloat16", "a fraction of the step"),
        *("jit on global arrays", "jit on global arrays as compiled", "8 times with a field beside the state"),
        *("psum for pmean in bfloat16", "another weight decay"),
    }
)


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Case], tuple[Evidence, int]]]:
    """Verifies cases, those of one original with the same runs of it; says how many runs a case took besides."""
    root = tmp_path_factory.mktemp("judging")
    there: dict[tuple[str, bool], int] = {}
    with Originals() as originals:

        def of_case(case: Case) -> tuple[Evidence, int]:
            request = VerifyRequest(
                root=root,
                command=(sys.executable, "program.py"),
                original={"program.py": marked(case.before, "jax.pmap").encode()},
                migrated={"program.py": case.after.encode()},
                sites=sites_of(case.before),
                by_hand=True,
                as_compiled=case.as_compiled,
            )
            evidence = verify(request, originals=originals)
            known = there.get((case.before, case.as_compiled), 0)
            there[case.before, case.as_compiled] = sum(run.side == ORIGINAL for run in evidence.runs)
            return evidence, len(evidence.runs) - known

        yield of_case


@pytest.fixture(autouse=True)
def _flags_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XLA_FLAGS", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.long] if case.name in LONG else [], id=case.name) for case in CASES]
)
def test_verdicts(case: Case, verified: Callable[[Case], tuple[Evidence, int]]) -> None:
    evidence, runs = verified(case)
    told = Verdict.EQUAL if case.or_within and evidence.verdict is Verdict.WITHIN else evidence.verdict
    assert told is case.verdict, evidence.message
    assert case.says in evidence.message + "".join(site.message for site in evidence.sites)
    hints = [one.hint for site in evidence.sites for one in site.differences]
    assert any(case.hint in hint for hint in hints) or not case.hint
    assert runs <= (3 if case.verdict is Verdict.DIFFERENT else 4)
