"""A number of devices in a dictionary, a list or an attribute counts as that where nothing gives it another value."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.layouts.test_carried import both, plan

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np

X = np.arange(48, dtype=np.float32).reshape(16, 3)
step = jax.pmap(lambda w, x: (w + jax.lax.psum(jnp.ones_like(w), "b"), jax.lax.pmean(x.max(0), "b")), axis_name="b")


"""
BODY = """\
    w, m = step(jnp.stack([jnp.ones(2)] * N), X.reshape((N, -1) + X.shape[1:]))
    return np.asarray(w[0]).tolist(), np.asarray(m[0]).tolist()


"""


def of_dict(change: str, above: str = "", made: str = '{"n": jax.local_device_count(), "lr": 0.1}') -> str:
    """A program with a dictionary that is changed before its entry is used."""
    return (
        f"{HEAD}{above}def main(over):\n    cfg = {made}\n    {change}\n" + BODY.replace("N", 'cfg["n"]')
    ) + 'RESULT = main({"n": 4})\n'


def of_object(change: str, body: str = "pass", kind: str = "Trainer", above: str = "") -> str:
    """A program with an object whose attribute is changed."""
    made = f"""\
class Trainer:
    def __init__(self):
        self.n = jax.local_device_count()

    def halve(self):
        {body}

    def main(self):
{indent(BODY.replace("N", "self.n"), "    ")}
"""
    return f"{HEAD}{made.rstrip()}\n\n\n{above}t = {kind}()\n{change}\nRESULT = t.main()\n"


DERIVED = "class Derived(Trainer):\n    BODY\n\n\n"
CHANGES = {
    "entry": of_dict('cfg["n"] = 4'),
    "updated": of_dict("cfg.update(over)"),
    "each": of_dict("for key, value in over.items():\n        cfg[key] = value"),
    "others behind it": of_dict("pass", made='{"n": jax.local_device_count(), **over}'),
    "by a function": of_dict("change(cfg)", "def change(settings):\n    settings['n'] = 4\n\n\n"),
    "by another name": of_dict('other = cfg\n    other["n"] = 4'),
    "deleted": of_dict('del cfg["n"]\n    cfg.setdefault("n", 4)'),
    "list": of_dict("cfg[0] = 4", made="[jax.local_device_count(), 2]").replace('cfg["n"]', "cfg[0]"),
    "inserted": of_dict("cfg.insert(0, 4)", made="[jax.local_device_count(), 2]").replace('cfg["n"]', "cfg[0]"),
    "method": of_object("t.halve()", "self.n //= 2"),
    "from outside": of_object("t.n = 4"),
    "loop": of_object("for t.n in (2, 4): pass"),
    "several": of_object("t.n, k = 4, 5"),
    "setattr": of_object("setattr(t, 'n', 4)"),
    "__dict__": of_object("t.__dict__['n'] = 4"),
    "derived": of_object(
        "pass",
        kind="Derived",
        above=DERIVED.replace("BODY", "def __init__(self):\n        super().__init__()\n        self.n = 4"),
    ),
    "derived class's": of_object(
        "pass", kind="Derived", above=DERIVED.replace("BODY", "n = 4\n\n    def __init__(self):\n        pass")
    ),
}
KEPT = {
    "entry": of_dict("print(cfg['lr'], len(cfg))"),
    "spread": of_dict("dict(**cfg)"),
    "others before it": of_dict("pass", made='{**over, "n": jax.local_device_count()}'),
    "attribute": of_object("t.halve()", "self.m = self.n"),
    "set once more": of_object("t.halve()", "self.n = jax.local_device_count()"),
    "given": HEAD
    + "def train(n):\n"
    + BODY.replace("N", "n")
    + "cfg = {'n': jax.local_device_count()}\nRESULT = train(cfg['n'])\n",
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_count_that_is_changed_is_none(name: str) -> None:
    files = {"main.py": CHANGES[name]}
    before, after = both(files, plan(files, "auto"))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize("name", KEPT)
def test_a_count_that_is_only_read_is_one(name: str) -> None:
    files = {"main.py": KEPT[name]}
    found = plan(files, "auto")
    assert [one.layout for one in found.sites[0].arguments] == ["replicated", "split"]
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
