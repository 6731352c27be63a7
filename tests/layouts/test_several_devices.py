"""Programs that ask whether there is more than one device are followed for several; what one runs stays right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.flags import UNOPTIMISED
from tests.layouts.test_presumed import both, layouts, plan

GLOBAL = (["replicated", "split"], ["replicated", "replicated"])
MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def loss_fn(w, x):
    return jnp.mean((x @ w) ** 2)


"""
WRAPPERS = """\
def several():
    return jax.device_count() > 1


def replicate(x):
    return jax_utils.replicate(x) if several() else x


def unreplicate(x):
    return jax_utils.unreplicate(x) if several() else x


def pmean(x):
    return jax.lax.pmean(x, "batch") if several() else x


def compiled(f):
    return jax.pmap(f, axis_name="batch") if several() else jax.jit(f)


def step(w, x):
    loss, grad = jax.value_and_grad(loss_fn)(w, x)
    return w - 0.125 * pmean(grad), pmean(loss)


def train():
    w, run, told = replicate(jnp.ones(3)), compiled(step), []
    for epoch in range(2):
        x = X + epoch
        if several():
            x = x.reshape(jax.device_count(), -1, 3)
        w, loss = run(w, x)
        told.append(float(unreplicate(loss)))
    return told, np.asarray(unreplicate(w)).tolist()


RESULT = train()
"""
MAKER = """\
def number():
    return jax.local_device_count()


def make_step(rate):
    if number() > 1:

        def own(w, x):
            loss, grad = jax.value_and_grad(loss_fn)(w, x)
            return w - rate * jax.lax.pmean(grad, "batch"), jax.lax.pmean(loss, "batch")

        step = jax.pmap(own, axis_name="batch")
    else:

        @jax.jit
        def step(w, x):
            loss, grad = jax.value_and_grad(loss_fn)(w, x)
            return w - rate * grad, loss

    return step


def train():
    n = jax.local_device_count()
    multi = n > 1
    w, step, told = jnp.ones(3), make_step(0.125), []
    if multi:
        w = jax.tree.map(lambda x: jnp.broadcast_to(x, (jax.local_device_count(),) + x.shape), w)
        for epoch in range(2):
            w, loss = step(w, (X + epoch).reshape(n, -1, 3))
            told.append(float(loss[0]))
        w = w[0]
    else:
        for epoch in range(2):
            w, loss = step(w, X + epoch)
            told.append(float(loss))
    return told, np.asarray(w).tolist()


RESULT = train()
"""
TRAINER = """\
class Trainer:
    def __init__(self, rate=0.125):
        self.rate = rate
        self.n = jax.local_device_count()
        self.w = jnp.ones(3)
        if self.n > 1:
            self.w = jax_utils.replicate(self.w)
            self.step = jax.pmap(self._step, axis_name="batch")
        else:
            self.step = jax.jit(self._step)

    def _step(self, w, x):
        loss, grad = jax.value_and_grad(loss_fn)(w, x)
        if self.n > 1:
            grad, loss = jax.lax.pmean((grad, loss), "batch")
        return w - self.rate * grad, loss

    def fit(self, epochs):
        told = []
        for epoch in range(epochs):
            x = X + epoch
            if self.n > 1:
                x = x.reshape(self.n, -1, 3)
            self.w, loss = self.step(self.w, x)
            if self.n > 1:
                loss = loss[0]
            told.append(float(loss))
        return told

    def state(self):
        if self.n == 1:
            return self.w
        return jax_utils.unreplicate(self.w)


trainer = Trainer()
RESULT = trainer.fit(2), np.asarray(trainer.state()).tolist()
"""
EARLY = """\
def take(x):
    return x[0]


def make_step(n):
    if n <= 1:
        return jax.jit(lambda w, x: (w - 0.125 * jax.grad(loss_fn)(w, x), loss_fn(w, x)))

    def step(w, x):
        grad = jax.lax.pmean(jax.grad(loss_fn)(w, x), "batch")
        return w - 0.125 * grad, jax.lax.pmean(loss_fn(w, x), "batch")

    return jax.pmap(step, axis_name="batch")


def train():
    n = len(jax.devices())
    if 1 < n:
        sharded = X.reshape((n, X.shape[0] // n) + X.shape[1:])
    w = jax_utils.replicate(jnp.ones(3)) if n != 1 else jnp.ones(3)
    w, loss = make_step(n)(w, sharded if n >= 2 else X)
    return [float(take(loss)) if n > 1 else float(loss)], np.asarray(take(w) if n > 1 else w).tolist()


RESULT = train()
"""
WAYS = {"wrappers": WRAPPERS, "maker": MAKER, "trainer": TRAINER, "early": EARLY}


@pytest.mark.parametrize("name", WAYS)
def test_arrays_are_global_where_all_asks_for_several_devices(name: str) -> None:
    found = plan({"main.py": MAIN + WAYS[name]}, "auto")
    assert layouts(found) == GLOBAL
    assert not found.sites[0].assumed


def test_the_program_computes_the_same_on_several_devices() -> None:
    files = {"main.py": MAIN + WRAPPERS}
    before, after = both("wrappers", files, plan(files, "auto"))
    assert before["result"] == after["result"]


@pytest.mark.long
@pytest.mark.parametrize("name", WAYS)
def test_the_program_computes_the_same_on_one_device(name: str, tmp_path: Path) -> None:
    files = {"main.py": MAIN + WAYS[name]}
    texts = [files["main.py"], plan(files, "auto").files[0].after]
    assert texts[0] != texts[1]
    (tmp_path / "texts.py").write_text(f"import sys\nfor text in {texts!r}:\n    exec(text)\n    print(RESULT)\n")
    environment = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": " ".join(UNOPTIMISED), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "texts.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    before, after = ran.stdout.splitlines()
    assert before == after


# What is the same on several devices, and other on one

SHARED = """\
def step(w, x):
    y = w * x.sum(0)
    return (jax.lax.psum(y, "i") if jax.device_count() > 1 else y), x * 2


def train():
    w, x = jnp.ones(3), X
    if jax.device_count() > 1:
        w, x = jax_utils.replicate(w), x.reshape(jax.device_count(), -1, 3)
        run = jax.pmap(step, axis_name="i")
    else:
        run = jax.jit(step)
    w, y = run(w, x)
    return {read}


RESULT = train()
"""


@pytest.mark.parametrize("read", ["w[0]", "first(w)", "jax.tree.map(lambda a: a[0], w)", "[a[0] for a in (w, y)]"])
def test_what_one_device_reads_too_keeps_arrays_stacked(read: str) -> None:
    first = "def first(a):\n    return a[0]\n\n\n"
    found = plan({"main.py": MAIN + first + SHARED.format(read=read)}, "auto")
    assert layouts(found)[1][0] == "stacked"
    assert f"return {read}" in found.files[0].after
    assert "return a[0]" in found.files[0].after


def test_a_map_that_one_device_calls_too_keeps_its_arrays_stacked() -> None:
    text = """\
run = jax.pmap(lambda w, x: w + jax.lax.pmean(x.sum(0), "i"), axis_name="i")
n = jax.device_count()


def train():
    w, x = jnp.ones(3), X
    if n > 1:
        w, x = jax_utils.replicate(w), x.reshape(n, -1, 3)
    else:
        w, x = w[None], x[None]
    return run(w, x)[0]


RESULT = train()
"""
    assert layouts(plan({"main.py": MAIN + text}, "auto")) == (["stacked", "stacked"], ["stacked"])


HELPED = """\
def take(x):
    return x[0]


class Helper:
    def take(self, x):
        return x[0]


def step(w, x):
    loss, grad = jax.value_and_grad(loss_fn)(w, x)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), jax.lax.pmean(loss, "batch")


def train(name="take"):
    w, h = jnp.ones(3), Helper()
    if jax.device_count() > 1:
        w, loss = run(jax_utils.replicate(w), X.reshape(jax.device_count(), -1, 3))
        return {taken}
    return {other}


run = jax.pmap(step, axis_name="batch")
RESULT = train()
"""


@pytest.mark.parametrize(
    ("taken", "other"),
    [
        ("take(w), take(loss)", 'jax.tree.map(take, {"a": X})'),
        ("take(w), take(loss)", "jax.jit(take)(X)"),
        ("take(w), take(loss)", "jax.vmap(take)(X[None])"),
        ("take(w), take(loss)", "sorted([X], key=take)"),
        ("take(w), take(loss)", "{'take': take}[name](X)"),
        ("take(w), take(loss)", "globals()[name](X)"),
        ("h.take(w), h.take(loss)", "getattr(h, name)(X)"),
        ("h.take(w), h.take(loss)", "list(map(h.take, [X]))"),
    ],
)
def test_a_helper_that_one_device_calls_where_nobody_sees_it_stays(taken: str, other: str) -> None:
    found = plan({"main.py": MAIN + HELPED.format(taken=taken, other=other)}, "auto")
    assert found.files[0].after.count("return x[0]") == 2


@pytest.mark.parametrize(
    "other",
    ["[one for one in map(run, [w[None]], [X[None]])]", "run.lower(w[None], X[None]).compile()(w[None], X[None])"],
)
def test_a_map_that_one_device_hands_on_keeps_its_arrays_stacked(other: str) -> None:
    found = plan({"main.py": MAIN + HELPED.format(taken="w[0], loss[0]", other=other)}, "auto")
    assert {one.layout for one in (*found.sites[0].arguments, *found.sites[0].outputs)} == {"stacked"}


def test_a_call_by_names_that_one_device_makes_too_stays() -> None:
    text = WRAPPERS.replace("run(w, x)", "run(w=w, x=x)")
    found = plan({"main.py": MAIN + text}, "auto")
    assert "run(w=w, x=x)" in found.files[0].after


@pytest.mark.parametrize(
    "asked",
    [
        "jax.device_count() > 2",
        "jax.device_count() > count",
        "jax.process_count() > 1",
        "len(X) > 1",
        "jax.device_count() // 2 > 1",
        "(jax.device_count() > 1) is True",
    ],
)
def test_other_questions_are_none(asked: str) -> None:
    text = WRAPPERS.replace("return jax.device_count() > 1", f"return {asked}")
    found = plan({"main.py": "count = 3\n" + MAIN + text}, "auto")
    assert layouts(found) != GLOBAL


@pytest.mark.parametrize(
    "change",
    [
        "\n\ndef alone():\n    global several\n    several = lambda: False\n",
        "\n\nimport main as this\nthis.several = lambda: False\n",
        "\n\nimport other\n",
    ],
)
def test_a_question_that_something_replaces_is_none(change: str) -> None:
    other = "import main\n\nmain.several = lambda: False\n"
    found = plan({"main.py": MAIN + WRAPPERS + change, "other.py": other}, "auto")
    assert layouts(found) != GLOBAL


def test_a_flag_that_is_set_again_is_no_such_question() -> None:
    text = MAKER.replace("    multi = n > 1\n", "    multi = n > 1\n    multi = False\n")
    found = plan({"main.py": MAIN + text}, "auto")
    assert layouts(found) != GLOBAL


def test_a_count_by_its_name_is_likely_and_named() -> None:
    text = WRAPPERS.replace("jax.device_count()", "config.num_devices")
    files = {"main.py": "from settings import config\n" + MAIN + text}
    assert layouts(plan(files, "auto")) != GLOBAL
    found = plan(files)
    assert layouts(found) == GLOBAL
    assert any("`config.num_devices` is the number of all devices" in one.says for one in found.sites[0].assumed)


PUT = """\
{multi}


{put}


run = jax.pmap(lambda w: w * 2, axis_name="i")


def main():
    a, b = jnp.arange(3.0) + 1, jnp.arange(3.0) + 5
    a, b = {given}
    if jax.device_count() > 1:
        return jax_utils.unreplicate(run(a)), jax_utils.unreplicate(b)
    return a, b


RESULT = main()
"""
OWN = """\
class Base:
    def several(self):
        return jax.device_count() > 1

    def put(self, x):
        return jax_utils.replicate(x) if self.several() else x
"""
KEPT = """\
class Base:
    def __init__(self):
        self.multi = jax.device_count() > 1

    def put(self, x):
        return jax_utils.replicate(x) if self.multi else x
"""
OF_ANY = "def put(x):\n    return jax_utils.replicate(x) if multi(x) else x"


@pytest.mark.parametrize(
    ("multi", "put", "given"),
    [
        ("def multi(x):\n    if x[0] < 3:\n        return jax.device_count() > 1\n", OF_ANY, "put(a), put(b)"),
        (
            (
                "def multi(x):\n    try:\n        assert x[0] < 3\n        return jax.device_count() > 1\n"
                "    except AssertionError:\n        pass\n"
            ),
            OF_ANY,
            "put(a), put(b)",
        ),
        (OWN, "class Small(Base):\n    def several(self):\n        return False", "Base().put(a), Small().put(b)"),
        (
            KEPT,
            (
                "class Small(Base):\n    @property\n    def multi(self):\n        return False\n\n"
                "    @multi.setter\n    def multi(self, value):\n        pass"
            ),
            "Base().put(a), Small().put(b)",
        ),
        (
            (
                "from types import SimpleNamespace\n\n\nclass T:\n    def __init__(self):\n"
                "        self.multi = jax.device_count() > 1\n"
            ),
            "def put(self, x):\n    return jax_utils.replicate(x) if self.multi else x",
            "put(T(), a), put(SimpleNamespace(multi=False), b)",
        ),
        (
            'MULTI = jax.device_count() > 1\n\n\ndef change():\n    globals()["MULTI"] = False\n',
            "def put(x):\n    return jax_utils.replicate(x) if MULTI else x",
            "put(a), change() or put(b)",
        ),
    ],
)
def test_a_question_that_may_have_another_answer_is_none(multi: str, put: str, given: str) -> None:
    found = plan({"main.py": MAIN + PUT.format(multi=multi, put=put, given=given)}, "auto")
    assert "unreplicate(b)" in found.files[0].after or "b[0]" in found.files[0].after
