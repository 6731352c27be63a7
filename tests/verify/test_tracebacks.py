"""A traceback shows the lines of the project, by their own paths, and not those of libraries."""

from __future__ import annotations

from jaxmigrate.verify.messages import _because, of_the_project

CRASH = """\
first words
Traceback (most recent call last):
  File "/tmp/jaxmigrate-1a2b/tree/after/main.py", line 41, in <module>
    state = train_step(state, x)
            ^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/importlib/__init__.py", line 126, in import_module
    return _bootstrap._gcd_import(name)
  File "<frozen importlib._bootstrap>", line 1147, in _find_and_load
  File "/tmp/jaxmigrate-1a2b/boot/jaxmigrate_child/recorder.py", line 70, in call
    return function(*args)
  File "/tmp/jaxmigrate-1a2b/tree/after/lib/step.py", line 9, in train_step
    key, sub = jax.random.split(key)
  File "/usr/lib/python3.11/site-packages/jax/_src/random/core.py", line 330, in split
    typed = _check("split", key)
            ^^^^^^^^^^^^^^^^^^^^
ValueError: split accepts a single key, but was given a key array
--------------------
For simplicity, JAX has removed its internal frames from the traceback of the following exception.
last words"""


def test_frames_of_libraries_are_left_out() -> None:
    assert of_the_project(CRASH).splitlines() == [
        "first words",
        "Traceback (most recent call last):",
        '  File "main.py", line 41, in <module>',
        "    state = train_step(state, x)",
        "            ^^^^^^^^^^^^^^^^^^^^",
        '  File "lib/step.py", line 9, in train_step',
        "    key, sub = jax.random.split(key)",
        "ValueError: split accepts a single key, but was given a key array",
        "last words",
    ]


def test_other_text_stays_as_it_is() -> None:
    text = "a line\n  another\n\nloss 0.1"
    assert of_the_project(text) == text


def test_what_was_raised_is_told_and_not_a_remark_behind_it() -> None:
    remark = "--------------------\nFor simplicity, JAX has removed its internal frames from the traceback."
    assert _because(f"flax.errors.ScopeNotFound: no such collection\n{remark}") == (
        ": flax.errors.ScopeNotFound: no such collection"
    )
