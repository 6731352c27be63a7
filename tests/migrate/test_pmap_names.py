"""What a rewrite made of pmap's maps is not called after it any more, where nothing else may go by the name."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files

HEAD = """\
import jax


def f(x):
    return jax.lax.pmean(x, "i")


"""
RENAMED = {
    "a variable, read in a function within": """
def main(x):
    pmapped_f = jax.pmap(f, "i")
    def again(y):
        return pmapped_f(y)
    return again(pmapped_f(x))
""",
    "a function": """
def main(x):
    @jax.pmap
    def sum_pmap(x):
        return x + 1
    return sum_pmap(x)
""",
    "what only the script has": """
if __name__ == "__main__":
    pmap_f = jax.pmap(f, "i")
    print(pmap_f(read()))
""",
}
NEW = {
    "a variable, read in a function within": ["    def sharded_f(x):", "return sharded_f(y)", "again(sharded_f(x))"],
    "a function": ["    def sum_sharded(x):", "    return sum_sharded(x)"],
    "what only the script has": ["    def sharded_f(x):", "    print(sharded_f(read()))"],
}
KEPT = {
    "of the module": """
pmapped_f = jax.pmap(f, "i")
""",
    "found by its name": """
def main(x):
    pmapped_f = jax.pmap(f, "i")
    return locals()["pmapped" + "_f"](x)
""",
    "in a string": """
def main(x, e):
    pmapped_f = jax.pmap(f, "i")
    return pmapped_f(x), e.run("pmapped_f(x)")
""",
    "in an f-string": """
def main(x):
    pmapped_f = jax.pmap(f, "i")
    print(f"{pmapped_f=}")
    return pmapped_f(x)
""",
    "of a parameter within": """
def main(x):
    pmapped_f = jax.pmap(f, "i")
    return (lambda pmapped_f: pmapped_f(x))(pmapped_f)
""",
    "set by a function within": """
def main(x):
    pmapped_f = jax.pmap(f, "i")
    def other():
        nonlocal pmapped_f
        pmapped_f = None
    other()
    return pmapped_f(x)
""",
    "that may hold another map": """
def main(x, other):
    pmapped_f = jax.pmap(f, "i")
    if other:
        pmapped_f = other
    return pmapped_f(x)
""",
    "beside one of that name": """
def main(x, sharded_f):
    pmapped_f = jax.pmap(f, "i")
    return pmapped_f(x), sharded_f
""",
    "beside a map that stays": """
def main(x):
    pmapped_f = jax.pmap(f, "i")
    return pmapped_f(x), jax.pmap(f, "i")(x)  # jaxmigrate: ignore[JM491]
""",
}
PROSE = '''\
"""Rows are pmapped here."""
def other(keys):
    """Splits keys, for pmapping.

    >>> other(pmapped)
    """
    return keys  # they're pmap'ed by main

    # what was pmapped, pmap did
'''


@pytest.mark.parametrize("name", RENAMED)
def test_variables_are_called_after_what_they_hold(name: str) -> None:
    after = fix_files({"main.py": HEAD + RENAMED[name]})["main.py"]
    assert "pmap" not in after
    assert all(line in after for line in NEW[name]), after


@pytest.mark.parametrize("name", KEPT)
def test_names_stay_that_something_else_may_go_by(name: str) -> None:
    after = fix_files({"main.py": HEAD + KEPT[name]})["main.py"]
    assert "jax.shard_map(" in after
    assert after.count("pmapped_f") >= KEPT[name].count("pmapped_f")


def test_comments_and_docstrings_of_the_file_say_sharded() -> None:
    program = PROSE + HEAD + "p_f = jax.pmap(f, 'i')\n"
    after = fix_files({"main.py": program})["main.py"]
    assert after.startswith('"""Rows are sharded here."""')
    assert "Splits keys, for sharding." in after
    assert ">>> other(pmapped)" in after
    assert "# they're sharded by main" in after
    assert "# what was pmapped, pmap did" in after
    kept = fix_files({"main.py": program + "g = jax.pmap(f, 'i')  # jaxmigrate: ignore[JM491]\n"})["main.py"]
    assert "Splits keys, for pmapping." in kept
