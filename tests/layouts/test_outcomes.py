"""Programs with a flag that says whether to map: their arrays are global where the flag keeps its value."""

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


def update(w, x, axis):
    grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    if axis:
        grad = jax.lax.pmean(grad, axis)
    return w - 0.125 * grad, grad


def mapped(w, x):
    return update(w, x, "i")


def plain(w, x):
    return update(w, x, None)


"""
TRAIN = """\
def train({parameters}):
    w = jnp.ones(3)
    {first}
    if {flag}:
        w = jax_utils.replicate(w)
        step = jax.pmap(mapped, axis_name="i")
    else:
        step = jax.jit(plain)
    told = []
    for epoch in range(2):
        batch = X + epoch
        if {flag}:
            batch = shard(batch)
        w, grad = step(w, batch)
        {between}
        {taken}
        told.append(np.asarray(grad).tolist())
    return told, {last}


"""
TAKEN = "if {flag}: grad = jax_utils.unreplicate(grad)"
LAST = "np.asarray(jax_utils.unreplicate(w) if {flag} else w).tolist()"
CALLS = "RESULT = train(True), train(False)\n"
GLOBAL = (["replicated", "split"], ["replicated", "replicated"])


def program(
    flag: str = "use_pmap",
    parameters: str = "use_pmap=True",
    *,
    first: str = "pass",
    between: str = "pass",
    taken: str = TAKEN,
    last: str = LAST,
    above: str = "",
    calls: str = CALLS,
) -> dict[str, str]:
    taken, last = taken.format(flag=flag), last.format(flag=flag)
    train = TRAIN.format(flag=flag, parameters=parameters, first=first, between=between, taken=taken, last=last)
    return {"main.py": MAIN + above + train + calls}


OF_CLASS = """\
class Trainer:
    def __init__(self, multi: bool):
        self.multi = multi
        {more}

    def train(self):
        w = jax_utils.replicate(jnp.ones(3)) if self.multi else jnp.ones(3)
        step = jax.pmap(mapped, axis_name="i") if self.multi else jax.jit(plain)
        told = []
        for epoch in range(2):
            batch = shard(X + epoch) if self.multi else X + epoch
            w, grad = step(w, batch)
            {between}
            told.append(np.asarray(grad[0] if self.multi else grad).tolist())
        return told, np.asarray(jax_utils.unreplicate(w) if self.multi else w).tolist()


RESULT = Trainer(True).train(), Trainer(False).train()
"""
NEGATED = """\
def train(single: bool):
    w = jnp.ones(3)
    step = jax.jit(plain) if single else jax.pmap(mapped, axis_name="i")
    if not single:
        w = jax_utils.replicate(w)
    told = []
    for epoch in range(2):
        w, grad = step(w, X + epoch if single else shard(X + epoch))
        told.append(np.asarray(grad if single else grad[0]).tolist())
    return told, evaluate(w, single)


def evaluate(w, single):
    return np.asarray(w if single else w[0]).tolist()


RESULT = train(False), train(True)
"""
PROVEN = {
    "parameter": program(),
    "annotated": program(parameters="use_pmap: bool"),
    "count": program("n > 1", "n"),
    "count in sight": program("n > 1", "", first="n = jax.local_device_count()", calls="RESULT = train()\n"),
    "devices": program("len(jax.devices()) > 1", "", calls="RESULT = train()\n"),
    "constant": program("MULTI", "", above="MULTI = jax.device_count() > 1\n\n\n", calls="RESULT = train()\n"),
    "asked for none": program("axis is not None", "axis", calls="RESULT = train('i'), train(None)\n"),
    "with more": program("use_pmap and epochs > 0", "use_pmap=True", first="epochs = 2"),
    "attribute": {"main.py": MAIN + OF_CLASS.format(more="pass", between="pass")},
    "negated": {"main.py": MAIN + NEGATED},
}


@pytest.mark.parametrize("name", PROVEN)
def test_arrays_are_global_where_a_flag_decides_whether_to_map(name: str) -> None:
    found = plan(PROVEN[name], "auto")
    assert layouts(found) == GLOBAL
    before, after = both("program", PROVEN[name], found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


SETTINGS = "class Settings:\n    pass\n\n\ncfg = Settings()\ncfg.pmap = True\n\n\n"
CHANGES = {
    "bound again": program(between="use_pmap = use_pmap and epoch < 5"),
    "turned": program(first="use_pmap = bool(use_pmap)"),
    "list": program("extra", "extra", between="extra.append(1)", calls="RESULT = train([1])\n"),
    "first element of either": program(taken="grad = grad[0]"),
    "first slice of either": program(last="np.asarray(w[0]).tolist()", taken="grad = grad if use_pmap else grad"),
    "property": {
        "main.py": MAIN
        + OF_CLASS.format(more="self.asked = 0", between="self.asked += 1")
        .replace(
            "    def train",
            "    @property\n    def mode(self):\n        return self.multi and self.asked < 2\n\n    def train",
        )
        .replace("grad[0] if self.multi", "grad[0] if self.mode or self.multi")
        .replace("shard(X + epoch) if self.multi", "shard(X + epoch) if self.mode or self.multi")
    },
    "array in place": program(
        "n > 0",
        "n",
        between="pass",
        first="n = n",
        calls="RESULT = train(np.array(1)), train(np.array(0))\n",
    ),
    "list in an attribute": {
        "main.py": MAIN
        + OF_CLASS.replace("self.multi", "self.done")
        .replace("Trainer(True).train(), Trainer(False).train()", "Trainer([1]).train(), Trainer([]).train()")
        .replace("multi: bool", "multi")
        .format(more="pass", between="w = w if self.done else jnp.asarray(w)")
    },
    "lists compared": program(
        "done != none", "done, none", between="done.append(1)", calls="RESULT = train([1], [])\n"
    ),
    "number compared as its class says": program(
        "count > 1",
        "count",
        above="class Count(int):\n    def __gt__(self, other):\n        return True\n\n\n",
        calls="RESULT = train(Count(0))\n",
    ),
    "attribute set later": {"main.py": MAIN + OF_CLASS.format(more="pass", between="self.multi = self.multi")},
    "setting that changes": program(
        "cfg.pmap", "", above=SETTINGS, between="cfg.pmap = True", calls="RESULT = train()\n"
    ),
}


ANOTHER = """\
import collections
import dataclasses


class Flag:
    def __init__(self, done: bool):
        self.done = done


Flag(True)
W = jax_utils.replicate(jnp.ones(2))
p = jax.pmap(lambda w, x: w + jax.lax.psum(x.sum(), "i"), axis_name="i")


{above}class Trainer{bases}:
    {body}

    def run(self):
        told, acc = [], np.zeros((8, 2))
        for epoch in range(3):
            if self.done:
                told.append(float(acc.sum()))
            else:
                acc = p(W, shard(X + epoch))
            {changes}
        return told


RESULT = Trainer({given}).run()
"""
FIELD = "done: list = dataclasses.field(default_factory=list)"
COUNTED = "def __init__(self):\n        self.n = 0"
OWN = "def __init__(self, done: bool = False):\n        self.done = done"
UNLIKE = {
    "list of the class": ("", "", "done = []", "self.done.append(1)"),
    "field": ("@dataclasses.dataclass\n", "", FIELD, "self.done.append(1)"),
    "named tuple": ("", "(collections.namedtuple('T', 'done', defaults=([],)))", "pass", "self.done.append(1)"),
    "property": ("", "", f"done = property(lambda s: s.n > 0)\n    {COUNTED}", "self.n += 1"),
    "property of a base": (
        "",
        "(collections.UserList)",
        "done = property(lambda s: len(s) > 0)",
        "self.data.append(1)",
    ),
    "descriptor": (
        "class Asked:\n    def __get__(self, owner, cls):\n        return owner.n > 0\n\n\n",
        "",
        f"done = Asked()\n    {COUNTED}",
        "self.n += 1",
    ),
    "made anew": ("", "", OWN, "self.__init__(True)"),
    "made anew by its class": ("", "", OWN, "Trainer.__init__(self, True)"),
    "made anew in a method": (
        f"class Base:\n    {OWN}\n\n\n",
        "(Base)",
        "def reset(self):\n        super().__init__(True)",
        "self.reset()",
    ),
}


@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("layout", ["auto", "likely"])
def test_what_has_the_name_of_another_classs_flag_is_none(name: str, layout: str) -> None:
    above, bases, body, changes = UNLIKE[name]
    text = ANOTHER.format(above=above, bases=bases, body=body, changes=changes, given="")
    files = {"main.py": MAIN + text}
    before, after = both("program", files, plan(files, layout))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("layout", ["auto", "likely"])
def test_flags_that_may_change_and_what_both_ways_do_are_no_proof(name: str, layout: str) -> None:
    found = plan(CHANGES[name], layout)
    assert layouts(found) != GLOBAL
    before, after = both("program", CHANGES[name], found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


UNPROVEN = {
    "by its name": {"main.py": MAIN + OF_CLASS.format(more="setattr(self, 'mult' + 'i', multi)", between="pass")},
    "twice": {"main.py": MAIN + OF_CLASS.format(more="self.multi = self.multi and multi", between="pass")},
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_attributes_that_may_be_set_again_are_no_proof(name: str) -> None:
    assert layouts(plan(UNPROVEN[name], "auto")) != GLOBAL
    found = plan(UNPROVEN[name])
    assert {one.says for site in found.sites for one in site.assumed} == {
        "`self.multi` does not change while the program runs"
    }
    before, after = both("program", UNPROVEN[name], found)
    assert before["result"] == after["result"]


COPIED = """\
class Config:
    def __init__(self, multi: bool):
        self.multi = multi


"""


@pytest.mark.parametrize("named", ["multi", "many"])
def test_an_attribute_that_is_copied_from_one_of_its_name_ends_no_search(named: str) -> None:
    of_class = OF_CLASS.replace("self.multi = multi", "self.multi = config.multi").replace("multi: bool", "config")
    text = MAIN + COPIED + of_class.format(more="pass", between="pass").replace("Trainer(", "Trainer(Config")
    text = text.replace("ConfigTrue)", "Config(True))").replace("ConfigFalse)", "Config(False))")
    files = {"main.py": text.replace("multi", named)}
    assert layouts(plan(files, "auto")) != GLOBAL
    found = plan(files)
    before, after = both("program", files, found)
    assert before["error"] == after["error"] == ""
    assert before["result"] == after["result"]


def test_a_dictionary_of_dictionaries_made_by_one_function_ends_no_search() -> None:
    text = """\
def divide(tree):
    def rows(x):
        return x.reshape((8, -1) + x.shape[1:])

    if isinstance(tree, dict):
        return {name: divide(inner) for name, inner in tree.items()}
    return rows(tree)


step = jax.pmap(lambda w, tree: w + jnp.mean(tree["x"]["y"]), axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
for epoch in range(2):
    w = step(w, divide({"x": {"y": X + epoch}}))
RESULT = np.asarray(w).tolist()
"""
    files = {"main.py": MAIN + text}
    found = plan(files)
    before, after = both("program", files, found)
    assert before["error"] == after["error"] == ""
    assert before["result"] == after["result"]


def test_a_setting_is_taken_to_stay_and_that_is_told() -> None:
    above = "from types import SimpleNamespace\n\n\n"
    calls = "RESULT = train(SimpleNamespace(pmap=True)), train(SimpleNamespace(pmap=False))\n"
    files = program("cfg.pmap", "cfg", above=above, calls=calls)
    assert layouts(plan(files, "auto")) != GLOBAL
    found = plan(files)
    assert layouts(found) == GLOBAL
    told = {one.says for site in found.sites for one in site.assumed}
    assert told == {"`cfg.pmap` does not change while the program runs"}
    before, after = both("program", files, found)
    assert before["result"] == after["result"]


def test_a_batch_that_both_ways_are_given_is_not_presumed_to_be_split() -> None:
    files = program(parameters="loader, use_pmap=True", calls="RESULT = train([X, X + 1]), train([X, X + 1], False)\n")
    text = (
        files["main.py"].replace("for epoch in range(2):", "for batch in loader:").replace("batch = X + epoch", "pass")
    )
    files = {"main.py": text.replace("batch = shard(batch)", "pass")}
    found = plan(files)
    assert layouts(found)[0] != ["replicated", "split"]


def test_nothing_is_left_of_what_only_took_a_slice() -> None:
    after = plan(PROVEN["parameter"], "auto").files[0].after
    assert "grad = grad" not in after
    assert "w = w" not in after
    assert "np.asarray(w).tolist()" in after


def test_a_parameter_with_the_name_of_a_flag_is_taken_for_one_and_that_is_told() -> None:
    files = program("use_pmap", "use_pmap", calls="RESULT = train(True), train(False)\n")
    assert layouts(plan(files, "auto")) != GLOBAL
    found = plan(files)
    assert layouts(found) == GLOBAL
    told = {one.says for site in found.sites for one in site.assumed}
    assert told == {"`use_pmap` does not change while the program runs"}
    before, after = both("program", files, found)
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    ("flag", "first"),
    [("count", ""), ("use_pmap", "use_pmap = len(X) > 3"), ("use_pmap", "if len(X) < 3: use_pmap.append(1)")],
)
def test_other_parameters_are_no_flags(flag: str, first: str) -> None:
    files = program(flag, flag, first=first or "pass", calls="RESULT = train(True), train(False)\n")
    assert layouts(plan(files)) != GLOBAL


def test_a_variable_with_the_name_of_a_flag_is_taken_for_one_whatever_it_is_made_of() -> None:
    above = "from types import SimpleNamespace\n\n\n"
    calls = "RESULT = train(SimpleNamespace(force=True)), train(SimpleNamespace(force=False))\n"
    first = "use_pmap = cfg.force or len(X) > 16"
    files = program("use_pmap", "cfg", first=first, above=above, calls=calls)
    assert layouts(plan(files, "auto")) != GLOBAL
    found = plan(files)
    assert layouts(found) == GLOBAL
    told = {one.says for site in found.sites for one in site.assumed}
    assert told == {"`use_pmap` does not change while the program runs"}
    before, after = both("program", files, found)
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "first",
    [
        "count = cfg.force or len(X) > 16",
        "use_pmap = cfg.force\n    use_pmap = use_pmap or len(X) > 16",
        "use_pmap, _ = cfg.force, 0",
        "for use_pmap in (cfg.force,): pass",
        "use_pmap = [1] if cfg.force else []\n    use_pmap.append(1)",
        "use_pmap = list(cfg.several)",
        "def flip():\n        nonlocal use_pmap\n        use_pmap = not use_pmap\n    use_pmap = cfg.force or cfg.pmap",
    ],
)
def test_other_variables_are_no_flags(first: str) -> None:
    above = "from types import SimpleNamespace\n\n\n"
    calls = "RESULT = train(SimpleNamespace(force=True)), train(SimpleNamespace(force=False))\n"
    flag = "count" if first.startswith("count") else "use_pmap"
    assert layouts(plan(program(flag, "cfg", first=first, above=above, calls=calls))) != GLOBAL
