"""`host_callback`: which calls are left; tests/campaigns/old_names.py runs those that are rewritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files, plan_sources
from jaxmigrate.migrate.options import PlanOptions

OPENING = "import jax\nfrom jax.experimental import host_callback as hcb\n\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hcb.id_tap(f, x, tap_with_device=True)\n", "tap_with_device"),
        ("hcb.id_print(x, output_stream=stream)\n", "output_stream"),
        ("hcb.call(f, x, result_shape=x, device_index=1)\n", "device_index"),
        ("hcb.call(f, x, result_shape=1.0)\n", "ShapeDtypeStruct"),
        ("hcb.call(f, x, **options)\n", "**kwargs"),
        ("tap = hcb.id_tap\n", "is passed as a value"),
        ("g = jax.vmap(lambda x: hcb.id_tap(f, x))\n", "under vmap"),
        ("hcb.stop_outfeed_receiver()\n", "drop it"),
        ("try:\n    f()\nexcept hcb.CallbackException:\n    pass\n", "JaxRuntimeError"),
    ],
)
def test_what_is_left(text: str, told: str) -> None:
    plan, errors = plan_sources([("a.py", Path("/project/a.py"), OPENING + text)], PlanOptions(marks=True))
    assert not errors
    assert plan.files[0].after == OPENING + text
    assert any(told in one.reason for one in plan.files[0].names if one.status == "left")


def test_a_helper_is_named_once_and_keywords_follow_it() -> None:
    before = OPENING + "a = hcb.id_tap(tap_func=f, arg=x)\nb = hcb.id_tap(g, x, result=y)\nhcb.barrier_wait('b')\n"
    after = fix_files({"a.py": before})["a.py"]
    assert after.count("def _tap(") == 1
    assert after.endswith("\n\na = _tap(function=f, arg=x)\nb = _tap(g, x, result=y)\njax.effects_barrier()\n")
    assert "host_callback" not in after
    assert fix_files({"a.py": after})["a.py"] == after


BATCHES = {
    "another function": ("y = jax.vmap(abs_of)(x)\n\n\ndef abs_of(x):\n    return abs(x)\n", True),
    "a lambda": ("y = jax.vmap(lambda v: v + 1)(x)\n", True),
    "a decorated function": ("@functools.partial(jax.vmap, in_axes=0)\ndef g(v):\n    return v + 1\n", True),
    "the function": ("y = jax.vmap(log)(x)\n", False),
    "a function that calls it": ("def g(v):\n    return log(v)\n\n\ny = jax.vmap(g)(x)\n", False),
    "its name in a table": ("TABLE = {'a': log}\ny = jax.vmap(lambda v: TABLE['a'](v))(x)\n", False),
    "a function that is given": ("def g(abs_of, x):\n    return jax.vmap(abs_of)(x)\n\n\ndef abs_of(x): ...\n", False),
    "what is out of sight": ("y = jax.vmap(model.apply)(x)\n", False),
    "the function, decorated": ("@jax.vmap\ndef g(v):\n    return log(v)\n", False),
    "the function, by another name": ("vmap = jax.vmap\n", False),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_tap_stays_only_where_vmap_may_reach_it(name: str) -> None:
    text, goes = BATCHES[name]
    before = OPENING + "def log(x):\n    return hcb.id_tap(print, x)\n\n\n" + text
    after = fix_files({"a.py": before, "b.py": "from a import log\n"})["a.py"]
    assert ("_tap(print, x)" in after and "hcb" not in after) is goes


def test_a_tap_stays_where_another_file_maps_what_calls_it() -> None:
    before = OPENING + "def log(x):\n    return hcb.id_tap(print, x)\n"
    users = {"b.py": "import jax\nfrom a import log\ny = jax.vmap(log)(x)\n", "c.py": "import jax\njax.vmap(abs)(x)\n"}
    assert fix_files({"a.py": before, **users})["a.py"] == before
