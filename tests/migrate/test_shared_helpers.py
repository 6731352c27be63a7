"""A helper of an old name stands once in a package that gets a module for its maps."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files

PUTS = """import jax
from pack.models import init


def start(x):
    return jax.device_put_replicated(init(x), jax.local_devices())
"""
MAPS = """import jax
import jax.numpy as jnp
from pack.models import init

n = jax.device_count()


def main():
    step = jax.pmap(lambda x: x + jax.lax.psum(x, "i"), axis_name="i")
    return step(jax.random.split(jax.random.key(0), n)), jnp.ones(3)
"""
FILES = {
    "pack/__init__.py": "",
    "pack/models.py": "def init(x):\n    return x\n",
    "pack/one.py": MAPS,
    "pack/two.py": MAPS,
    "pack/first.py": PUTS,
    "pack/second.py": PUTS,
}


def test_files_that_get_nothing_else_share_it_too() -> None:
    after = fix_files(FILES, "auto")
    assert "def put_replicated(" in after["pack/sharding.py"]
    for name in ("pack/first.py", "pack/second.py"):
        assert "from pack.sharding import put_replicated" in after[name]
        assert "def " not in after[name].replace("def start", "")


@pytest.mark.parametrize(
    "imports", ["", "from .models import init\n", "put_replicated = 3\nfrom pack.models import init\n"]
)
def test_a_file_that_may_not_import_it_has_its_own(imports: str) -> None:
    other = PUTS.replace("from pack.models import init\n", imports)
    after = fix_files({**FILES, "pack/third.py": other}, "auto")
    assert "def _put_replicated(" in after["pack/third.py"]


def test_a_package_with_a_file_of_its_name_is_imported_as_one() -> None:
    files = {
        name: text
        for name, text in FILES.items()
        if name not in ("pack/first.py", "pack/second.py", "pack/__init__.py")
    }
    text = MAPS.replace("from pack.models import init", "from pack import models")
    files |= {"pack/pack.py": "", "pack/one.py": text, "pack/two.py": text}
    files["pack/data.py"] = "import sys\n\nsys.path.append('pack')\nfrom pack import pack as of_all\n"
    after = fix_files(files, "auto")
    for name in ("pack/one.py", "pack/two.py"):
        assert "from pack.sharding import " in after[name]
