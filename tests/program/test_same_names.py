"""Files of one name: beside a module, and above the folder that it lies in."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.program.modules import Project, parse_module
from tests.layouts.test_carried import both, plan

ROOT = Path("/project")
FILES = {"utils.py": "", "models/utils.py": "", "models/net.py": "from utils import prep\n"}
RUN = "from utils import prep\nif __name__ == '__main__':\n    prep()\n"
ABOVE = "import os, sys\nsys.path.append(os.path.dirname(os.path.dirname(__file__)))\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"main.py": "import models.net\n"}, "utils.py"),
        ({"main.py": "from models import net\n", "models/__init__.py": ""}, "utils.py"),
        ({"main.py": "from models.net import run\n"}, "utils.py"),
        ({"models/__init__.py": "from .net import run\n"}, "utils.py"),
        ({"main.py": "from models import (\n    other,\n    net,\n)\n"}, "utils.py"),
        ({"main.py": "from models import other, \\\n    net\n"}, "utils.py"),
        ({"main.py": "from models import other\nnet = 1\n"}, "models/utils.py"),
        ({"models/train.py": "from net import run\n"}, "models/utils.py"),
        ({"models/net.py": "from utils import prep\nif __name__ == '__main__':\n    prep()\n"}, "models/utils.py"),
        ({}, "models/utils.py"),
        ({"main.py": "import models.net\n", "models/train.py": "import net\n"}, ""),
        ({"main.py": "print('models.network')\n"}, "models/utils.py"),
        ({"models/__init__.py": ""}, ""),
        ({"main.py": "import importlib\nimportlib.import_module(f'models.{name}')\n"}, "utils.py"),
        ({"main.py": "import importlib\nimportlib.import_module('models.' + name)\n"}, "utils.py"),
        ({"models/__init__.py": "", "models/net.py": RUN}, ""),
        ({"main.py": "import models.net\n", "a/main.py": "import models.net\n"}, "utils.py"),
        ({"main.py": "import sys\nsys.path.insert(0, 'alt')\nimport models.net\n", "alt/utils.py": ""}, ""),
        ({"main.py": "import sys\nsys.path.insert(0, 'alt')\nimport models.net\n", "old/utils.py": ""}, "utils.py"),
        ({"main.py": "import sys\nsys.path.append('alt')\nimport models.net\n", "alt/utils.py": ""}, "utils.py"),
        ({"app/main.py": ABOVE + "import models.net\n", "app/utils.py": ""}, ""),
    ],
)
def test_who_imports_a_module_says_what_it_finds(files: dict[str, str], found: str) -> None:
    modules = {ROOT / name: parse_module(ROOT / name, text) for name, text in {**FILES, **files}.items()}
    project = Project(modules.values(), lambda path: None)
    path = project.find(modules[ROOT / "models/net.py"], "utils")
    assert path == (ROOT / found if found else None)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"main.py": "import a.b.net\n"}, "utils.py"),
        ({"main.py": "from a.b import other, net\n"}, "utils.py"),
        ({"a/main.py": "from b.net import run\n"}, "a/utils.py"),
        ({"main.py": "import a.b.net\n", "a/main.py": "import b.net\n"}, ""),
        ({}, ""),
    ],
)
def test_a_file_that_stands_between_is_on_no_path(files: dict[str, str], found: str) -> None:
    given = {"utils.py": "", "a/utils.py": "", "a/b/net.py": "from utils import prep\n", **files}
    modules = {ROOT / name: parse_module(ROOT / name, text) for name, text in given.items()}
    path = Project(modules.values(), lambda path: None).find(modules[ROOT / "a/b/net.py"], "utils")
    assert path == (ROOT / found if found else None)


SHARDS = "from flax.training import common_utils\n\n\ndef prep(x):\n    return common_utils.shard(x{})\n"
NET = """\
import jax
import numpy as np
from utils import prep

X = np.arange(48, dtype=np.float32).reshape(16, 3)
step = jax.pmap(lambda x: jax.lax.psum(x.sum(), "b"), axis_name="b")


def run():
    return step(prep(X))[0].tolist()
"""


@pytest.mark.parametrize(("folder", "package"), [("models", {}), ("nets", {"nets/__init__.py": ""})])
def test_a_split_of_the_file_beside_is_not_that_of_the_one_above(folder: str, package: dict[str, str]) -> None:
    files = {
        "main.py": f"from {folder}.net import run\n\nRESULT = run()\n",
        "utils.py": SHARDS.format(" / 2"),
        f"{folder}/utils.py": SHARDS.format(""),
        f"{folder}/net.py": NET,
        **package,
    }
    before, after = both(files, plan(files, "auto"))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
