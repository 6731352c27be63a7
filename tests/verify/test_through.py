"""What is mapped through another name of a map is compared like a site, however the program comes by the name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import fix_files, plan_sources
from jaxmigrate.verify.model import Evidence, VerifyRequest
from jaxmigrate.verify.run import verify

SPREAD = """import functools

import jax

AXIS = "rows"
pmap = functools.partial(jax.pmap, axis_name=AXIS)
double = pmap(lambda x: 2 * x)
"""
STEPS = """import jax

import lab.tools as tools


def make_step():
    def centre(x):
        return x - jax.lax.pmean(x, tools.spread.AXIS)

    return tools.spread.pmap(centre)
"""
HIDDEN = """from lab.tools import spread


def apply(mapper, f):
    return mapper(f)


def halve(x):
    return x / 2


def shift(x):
    return x + 1


def by_argument(x):
    return apply(spread.pmap, halve)(x)


def by_name(x, first="pm"):
    return getattr(spread, first + "ap")(shift)(x)
"""
MAIN = """import jax.numpy as jnp

from lab import hidden
from lab.steps import make_step
from lab.tools.spread import double

x = jnp.arange(24.0).reshape(8, 3)
print(hidden.by_name(hidden.by_argument(make_step()(double(x)))).sum())
"""
LAB = {
    "lab/__init__.py": "",
    "lab/tools/__init__.py": "from . import spread\n",
    "lab/tools/spread.py": SPREAD,
    "lab/steps.py": STEPS,
    "lab/hidden.py": HIDDEN,
    "main.py": MAIN,
    "pyproject.toml": "",
}


@pytest.mark.parametrize(
    "use",
    [
        "import lab.tools as tools\n\nmapped = tools.spread.pmap(abs)\n",
        "import lab.tools\n\nmapped = lab.tools.spread.pmap(abs)\n",
        "from lab import tools\n\nmapped = tools.spread.pmap(abs)\n",
        "import bare.deep.again\n\nmapped = bare.deep.again.mapper(abs)\n",
        "from lab.tools import spread\n\nmapped = getattr(spread, 'pmap')(abs)\n",
        "from lab.tools import spread\n\nMAPS = {'p': spread.pmap}\nmapped = MAPS['p'](abs)\n",
        "from lab.tools import spread\n\n\nclass Maps:\n    p = spread.pmap\n\n\nmapped = Maps.p(abs)\n",
        "from lab.tools import spread\n\n\nclass Maps:\n    p = spread.pmap\n\n\nmapped = Maps().p(abs)\n",
        "from lab.again import mapper\n\nmapped = mapper(abs)\n",
    ],
)
def test_names_that_lead_to_a_map(use: str) -> None:
    again = "from lab.tools.spread import pmap as mapper\n"
    files = {**LAB, "lab/again/__init__.py": again, "bare/deep/again.py": again, "use.py": use}
    root = Path("/project")
    plan, _ = plan_sources([(name, root / name, text) for name, text in files.items()], PlanOptions("stacked"))
    (site,) = next(file.sites for file in plan.files if file.path == "use.py")
    assert (site.form, site.status, site.axis) == ("alias", "rewritten", "rows")
    compile(fix_files(files, "auto")["use.py"], "use.py", "exec")


def test_an_axis_is_named_by_the_module_that_has_it_and_by_nothing_else() -> None:
    use = "from lab.tools import spread\n\n\nclass Maps:\n    p = spread.pmap\n\n\nmapped = Maps.p(abs)\n"
    after = fix_files({**LAB, "use.py": use}, "auto")
    assert "Maps.AXIS" not in after["use.py"]
    assert "tools.spread.AXIS" in after["lab/steps.py"]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in LAB.items():
        (tmp_path / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lab" / name).write_text(text)
    monkeypatch.chdir(tmp_path / "lab")
    return tmp_path / "lab"


def test_calls_out_of_sight_are_compared_and_what_hands_a_map_on_is_named(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = [lab.parent / f"report.{kind}" for kind in ("json", "md", "html")]
    options = [option for one in reports for option in ("--report", str(one))]
    assert main(["fix", ".", "--verify", *options, "--", sys.executable, "main.py"]) == 0
    told = json.loads(reports[0].read_text())
    sites = {f"{s['site']['path']}:{s['site']['line']} {s['site']['name']}" for s in told["verification"]["sites"]}
    assert sites == {
        "lab/tools/spread.py:7 lambda x: 2 * x",
        "lab/steps.py:10 centre",
        "lab/hidden.py:5 halve",
        "lab/hidden.py:21 shift",
    }
    assert told["verification"]["coverage"] == {"sites": 4, "exercised": 4, "equal": 4, "within": 0}
    assert told["verification"]["passed_on"] == ["lab/hidden.py:17"]
    assert any(one.startswith("`lab/hidden.py:17` hands on a rewritten map") for one in told["not_covered"])
    texts = [" ".join(one.read_text().split()) for one in reports[1:]]
    assert "lab/hidden.py:17 hands on a rewritten map: calls of it that" in texts[0]
    assert "<code>lab/hidden.py:17</code> hands on a rewritten map: calls of it that" in texts[1]
    assert "further calls of the rewritten maps that are handed on at `lab/hidden.py:17`" in capsys.readouterr().out


def verified(root: Path, wrong: str, right: str) -> Evidence:
    """The verdict on the stacked rewrite of the program, in which one thing is put for another."""
    plan, _ = plan_sources(
        [(name, root / name, text) for name, text in LAB.items() if name.endswith(".py")],
        PlanOptions("stacked", marks=True),
    )
    original = {file.path: file.marked_before.encode() for file in plan.files if not file.new}
    migrated = {file.path: file.marked_after for file in plan.files}
    changed = [name for name, text in migrated.items() if right in text]
    assert changed, [*migrated.values()]
    return verify(
        VerifyRequest(
            root=root,
            command=(sys.executable, "main.py"),
            original=original,
            migrated={name: text.replace(right, wrong).encode() for name, text in migrated.items()},
            sites=(),
        )
    )


def test_what_is_wrong_out_of_sight_is_refuted_where_it_is(lab: Path) -> None:
    evidence = verified(lab, "return x / 3", "return x / 2")
    assert evidence.verdict.value == "different"
    site = next(site for site in evidence.sites if site.verdict.value == "different" and not site.follows)
    assert (site.site.path, site.site.line, site.site.name) == ("lab/hidden.py", 5, "halve")
    assert site.site.reference == "lab/tools/spread.py:6:26"


REACHED = """import jax

from lab.tools import spread


def reached(x):
    return spread.pmap(lambda x: x + jax.lax.psum(x, "rows"))(x)


def unreached(x):
    return spread.pmap(lambda x: x - 1)(x)
"""
FILES = {
    "lab/__init__.py": "",
    "lab/tools/__init__.py": "from . import spread\n",
    "lab/tools/spread.py": SPREAD.partition("double")[0],
    "lab/part.py": REACHED,
    "lab/other.py": "from lab.tools.spread import pmap\n\n\ndef never(x):\n    return pmap(lambda x: x + 7)(x)\n",
    "main.py": "import jax.numpy as jnp\n\nfrom lab import other, part\n\nprint(part.reached(jnp.ones((8, 3))))\n",
    "pyproject.toml": "",
}


def test_a_name_of_a_map_keeps_its_meaning_for_calls_that_were_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lab" / name).write_text(text)
    monkeypatch.chdir(tmp_path / "lab")
    report = tmp_path / "report.json"
    assert main(["fix", ".", "--verify", "--report", str(report), "--", sys.executable, "main.py"]) == 1
    told = json.loads(report.read_text())
    assert told["verification"]["verdict"] == "bitwise equal"
    statuses = {f"{site['path']}:{site['line']}": site["status"] for site in told["sites"]}
    assert statuses == {"lab/part.py:7": "rewritten", "lab/part.py:11": "left", "lab/other.py:5": "left"}
    assert Path("lab/tools/spread.py").read_text() == FILES["lab/tools/spread.py"]
    assert Path("lab/other.py").read_text() == FILES["lab/other.py"]
    text = Path("lab/part.py").read_text()
    assert "jax.shard_map" in text
    assert "return spread.pmap(lambda x: x - 1)(x)" in text
