"""Comments and docstrings say shard_map where a program holds no pmap any more, and READMEs with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.migrate import fix_files

STEP = """\
import jax


@jax.pmap
def step(x):
    return 2 * x
"""
OTHER = """\
import jax.numpy as jnp


def init(n):
    \"\"\"{docstring}\"\"\"
    {comment}
    return jnp.zeros(n)
"""
USUAL = {"docstring": "Numbers.", "comment": "# the numbers"}


def other(**words: str) -> str:
    return OTHER.format(**(USUAL | words))


@pytest.mark.parametrize(
    ("word", "before", "after"),
    [
        ("comment", "# we compile this with pmap", "# we compile this with shard_map"),
        ("docstring", "Replicates the state (for pmap).", "Replicates the state (for shard_map)."),
        ("docstring", "Numbers of the jax.pmap path.", "Numbers of the jax.shard_map path."),
        ("docstring", "Numbers for pmapped axes.", "Numbers for mapped axes."),
    ],
)
def test_a_file_that_holds_no_map_says_so_too(word: str, before: str, after: str) -> None:
    made = fix_files({"step.py": STEP, "other.py": other(**{word: before})})
    assert made["other.py"] == other(**{word: after})


@pytest.mark.parametrize(
    "words",
    [
        {"comment": "# the leading axis is for pmap"},
        {"comment": "# made once, as pmap does"},
        {"comment": "# pmap doesn't take lists"},
        {"comment": "# x = jax.pmap(f)(x)"},
        {"comment": "# see https://example.com/pmap"},
        {"docstring": "Call `jax.pmap(f)` with it."},
    ],
)
def test_what_holds_of_pmap_or_is_code_stays(words: dict[str, str]) -> None:
    assert fix_files({"step.py": STEP, "other.py": other(**words)})["other.py"] == other(**words)


def test_a_program_that_keeps_a_pmap_keeps_its_words() -> None:
    said, kept = other(comment="# for pmap"), f"{STEP}\n\nold = [jax.pmap]  # jaxmigrate: ignore\n"
    assert fix_files({"step.py": kept, "other.py": said})["other.py"] == said


def test_a_file_without_jax_may_mean_another_pmap() -> None:
    said = "# a pmap holds probabilities\n"
    assert fix_files({"step.py": STEP, "other.py": said})["other.py"] == said


def test_a_file_with_a_pmap_of_its_own_means_that() -> None:
    own = "def pmap_multi(f, data):\n    return list(map(f, data))\n"
    said = f"{other(docstring='Extends the pmap of a library.')}\n\n{own}"
    assert fix_files({"step.py": STEP, "other.py": said})["other.py"] == said


RESHAPES = """\
import jax
import jax.numpy as jnp

n = jax.device_count()


def main(w, x):
    w = jnp.broadcast_to(w, (n, *w.shape))
    step = jax.pmap(lambda w, x: w + jax.lax.pmean((x @ w).mean(), "i"), axis_name="i")
    for _ in range(3):
        COMMENT
        x_by_device = jnp.reshape(x, (n, -1, *x.shape[1:]))
        w = step(w, x_by_device)
    return w[0]


print(main(jnp.ones(3), jnp.ones((16, 3))))
"""


@pytest.mark.parametrize(
    ("comment", "stays"),
    [
        ("# Reshape to [n_devices, batch_size]", False),
        ("# reshape for all devices", False),
        ("# reshape for all devices; 16 rows are enough", True),
        ("# the data", True),
    ],
)
def test_a_comment_on_a_reshape_goes_with_it(comment: str, *, stays: bool) -> None:
    after = fix_files({"main.py": RESHAPES.replace("COMMENT", comment)}, "auto")["main.py"]
    assert "reshape(" not in after
    assert (comment in after) is stays


def test_a_readme_says_it_in_prose_and_fix_tells_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text(f"{STEP}\n\nprint('PMAP')\n")
    page = "# Steps\n\nThey run under `{one}`.\n\n```python\nrun = jax.pmap(step)\n```\n"
    (tmp_path / "README.md").write_text(page.format(one="jax.pmap"))
    main(["fix", "--check", "."])
    assert "README.md: would say shard_map where it said pmap" in capsys.readouterr().out
    assert (tmp_path / "README.md").read_text() == page.format(one="jax.pmap")
    main(["fix", "."])
    told = capsys.readouterr()
    assert (tmp_path / "README.md").read_text() == page.format(one="jax.shard_map")
    assert "README.md: says shard_map where it said pmap" in told.out
    line = (tmp_path / "step.py").read_text().split("\n").index("print('PMAP')") + 1
    assert f"words still say pmap, reword them by hand: step.py:{line}, README.md:6" in told.out + told.err


def test_a_readme_stays_where_a_map_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text(f"{STEP}\n\nkept = [jax.pmap]  # jaxmigrate: ignore\n")
    (tmp_path / "README.md").write_text("It needs pmap.\n")
    main(["fix", "."])
    assert (tmp_path / "README.md").read_text() == "It needs pmap.\n"


@pytest.mark.parametrize("heading", ["## `pmap`", "What pmap does\n=============="])
def test_a_page_that_explains_pmap_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heading: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text(STEP)
    page = f"# Steps\n\n{heading}\n\nWith pmap, each device has a slice.\n"
    (tmp_path / "README.md").write_text(page)
    main(["fix", "."])
    assert (tmp_path / "README.md").read_text() == page
