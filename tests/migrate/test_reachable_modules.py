"""Which files of a project are followed: those that name something that leads to stacked arrays, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import fix_files, plan_sources
from jaxmigrate.program import modules

TRAINING = """
import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard

RATE = 0.1


def helper(x):
    return x


class Trainer:
    def __init__(self):
        self.state = jax_utils.replicate(jnp.ones(3))
        self.p_step = jax.pmap(lambda w, x: w - RATE * jax.lax.pmean(x.mean(0), "batch"), axis_name="batch")

    def step(self, x):
        self.state = self.p_step(self.state, shard(x))
"""

MAIN = """
import numpy as np
from training import Trainer

trainer = Trainer()
trainer.step(np.ones((16, 3)))
print(trainer.state[0])
"""


def _is_global(others: dict[str, str]) -> bool:
    after = fix_files({"training.py": TRAINING, "main.py": MAIN, **others}, layout="auto")["training.py"]
    assert after.count("jax.shard_map(") == 1
    return re.search(r'mesh=\S+,\s+in_specs=\(P\(\), P\("batch"\)\)', after) is not None


def test_a_file_that_runs_in_no_process_with_it_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"training.py": TRAINING, "main.py": MAIN, "other.py": "def helper(x):\n    return x\n"}
    files |= {f"use{i}.py": "from other import helper\nprint(helper(1))\n" for i in range(40)}
    parsed: list[str] = []
    parse = modules.parse_module

    def noted(path: Path, text: str, **more: bool) -> modules.Module:
        parsed.append(path.name)
        return parse(path, text, **more)

    monkeypatch.setattr(modules, "parse_module", noted)
    root = Path("/project")
    plan, errors = plan_sources(
        [(name, root / name, text) for name, text in files.items()], PlanOptions("auto", marks=True)
    )
    assert not errors
    assert [a.layout for site in plan.sites for a in site.arguments] == ["replicated", "split"]
    assert not [name for name in parsed if name.startswith("use")]


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nfrom main import trainer\nprint(np.asarray(trainer.state))\n",
        "import numpy as np\nimport main\nprint(np.asarray(main.trainer.state))\n",
        'import numpy as np\nimport main\nprint(np.asarray(getattr(main, "trainer").state))\n',
        "import sys\nimport numpy as np\nimport main\nprint(np.asarray(getattr(main, sys.argv[1]).state))\n",
        "import numpy as np\nimport between\nprint(np.asarray(between.again().state))\n",
        (
            "import numpy as np\nfrom training import Trainer\nclass T(Trainer):\n    def show(self):\n"
            "        return np.asarray(self.state)\nprint(T().show())\n"
        ),
        "import numpy as np\nfrom main import *\nprint(np.asarray(globals()[input()].state))\n",
        'import importlib\nimport numpy as np\nprint(np.asarray(importlib.import_module("main").trainer.state))\n',
    ],
)
def test_whoever_looks_at_a_whole_array_is_found(text: str) -> None:
    between = {"between.py": "import main\n\n\ndef again():\n    return main.trainer\n"} if "between" in text else {}
    assert _is_global({})
    assert not _is_global({**between, "look.py": text})


@pytest.mark.parametrize("text", ["import once\nprint(once.w)\n", "from once import w as weights\nprint(weights)\n"])
def test_a_variable_that_no_function_reads_is_found_too(text: str) -> None:
    once = """
import jax
import jax.numpy as jnp
from flax import jax_utils

w = jax_utils.replicate(jnp.ones(3))
w = jax.pmap(lambda w: w + 1, axis_name="batch")(w)
print(w[0])
"""
    assert "in_specs=P()," in fix_files({"once.py": once}, layout="auto")["once.py"]
    after = fix_files({"once.py": once, "look.py": text}, layout="auto")
    assert "in_specs=P()," not in after["once.py"] or "print(stack(weights))" in after["look.py"]


def test_a_helper_that_others_call_too_stays_as_it_is() -> None:
    shared = "import jax\nimport jax.numpy as jnp\n\n\ndef copies(x):\n    return jnp.stack([x] * jax.device_count())\n"
    training = TRAINING.replace("jax_utils.replicate(", "copies(").replace(
        "import jax\n", "import jax\nfrom shared import copies\n", 1
    )
    other = "import numpy as np\nfrom shared import copies\nprint(np.asarray(copies(np.ones(2))).shape)\n"
    before = {"training.py": training, "main.py": MAIN, "shared.py": shared, "other.py": other}
    after = fix_files(before, layout="auto")
    assert after["shared.py"] == shared
    assert after["other.py"] == other
