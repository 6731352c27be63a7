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
