"""Comments within the calls that a rewrite replaces stay beside what they are about."""

from __future__ import annotations

import io
import re
import tokenize

from tests.layouts.running import plan
from tests.layouts.table import provable


def test_comments_stay() -> None:
    files = provable()["comments_kept"]
    (after,) = [file.after for file in plan(files).files if file.path == "main.py"]
    comments = re.findall("#.*", files["main.py"])
    assert len(comments) == 8
    assert [one for one in comments if one not in after] == []


def test_hash_in_a_string_begins_no_comment() -> None:
    files = provable()["hashes_in_strings"]
    (after,) = [file.after for file in plan(files).files if file.path == "main.py"]
    comments = _comments(files["main.py"])
    assert len(comments) == 4
    assert _comments(after) == comments
    assert 'shard(BATCH["rows #1"], P("hosts\' #1"))' in after


def _comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sorted(token.string for token in tokens if token.type == tokenize.COMMENT)


NOTED = """\
import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard


def step(state, batch, size):
    return state - jax.lax.pmean(jnp.mean(batch), "batch") / size


p_step = jax.pmap(
    # what is mapped
    step,
    axis_name="batch",  # of the data
    static_broadcasted_argnums=(2,),  # a number
    # which nobody else has
    donate_argnums=(0,),
)
state = jax_utils.replicate(jnp.ones(3))
for i in range(2):
    state = p_step(state, shard(jnp.ones((16, 3))), 4.0)
print(jax_utils.unreplicate(state))
"""


ABOVE = """\
# what is mapped
# of the data
# a number
# which nobody else has
@functools.partial(jax.jit, static_argnums=2, donate_argnums=(0,))
def p_step(state, batch, size):
    return jax.shard_map(
"""


def test_comments_about_keywords_stand_above_the_map() -> None:
    (file,) = plan({"main.py": NOTED}).files
    assert f"\n\n{ABOVE}" in file.after


def test_a_comment_about_a_keyword_that_goes_stays() -> None:
    text = NOTED.replace("(2,),", "(),").replace(", size)", ", size=4.0)").replace(", 4.0)", ")")
    (file,) = plan({"main.py": text}).files
    assert ABOVE.partition("@")[0] in file.after
    assert "static" not in file.after


def test_comments_about_keywords_keep_the_indentation() -> None:
    lines = NOTED.splitlines()
    call = next(n for n, line in enumerate(lines) if line.startswith("p_step"))
    body = [f"    {line}" if line else "" for line in lines[call:]]
    (file,) = plan({"main.py": "\n".join([*lines[:call], "def main():", *body, "", "", "main()", ""])}).files
    assert "".join(f"    {line}" for line in ABOVE.splitlines(keepends=True)) in file.after


OWN_LINES = """\
    state = jax_utils.replicate(
        make(
            3,
        ),
        jax.local_devices(),
    )
"""
LONG = "    state = jax_utils.replicate(\n        make({0} + 3))\n"


def test_what_has_lines_of_its_own_keeps_them() -> None:
    def after(statement: str) -> str:
        start = NOTED.partition("p_step")[0].replace(", size)", ")").replace(" / size", "")
        step = 'p_step = jax.pmap(step, axis_name="batch")\n\n\ndef make(n):\n    return jnp.ones(n)\n\n\n'
        main = f"def main(a):\n{statement}    state = p_step(state, shard(jnp.ones((16, 3))))\n    return state[0]\n"
        (file,) = plan({"main.py": start + step + main + "\n\nprint(main(0))\n"}).files
        return file.after

    assert OWN_LINES.replace("jax_utils.replicate", "shard").replace("jax.local_devices()", "P()") in after(OWN_LINES)
    assert "    state = shard(make(0 + 3), P())\n" in after(LONG.format("0"))
    long = " + ".join(["a"] * 20)
    assert f"    state = shard(\n        make({long} + 3), P()\n    )\n" in after(LONG.format(long))
