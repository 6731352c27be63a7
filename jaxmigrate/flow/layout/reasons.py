"""The causes for which arrays stay stacked: what each means, and what a user can do about it.

The analysis says of each array why it stays, in words with names and lines. This table sorts these reasons: each row
has the beginnings of those that it stands for, as patterns, and the first row that fits counts. docs/stacked.md is
written from it by `python tools/docs.py`, and reports refer to it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class StackedCause(NamedTuple):
    """A cause: its anchor in docs/stacked.md, its title, the beginnings of its reasons, and two texts in Markdown."""

    anchor: str
    title: str
    begins: tuple[str, ...]
    means: str
    advice: str


CAUSES = (
    StackedCause(
        "random-key",
        "One random key per device",
        ("holds one random key per device",),
        "Each device has a key of its own, as it should: with one key for all, dropout and noise would be the same"
        " everywhere ([JM205](rules/JM205.md)).",
        "Nothing.",
    ),
    StackedCause(
        "per-device",
        "The values differ between devices",
        (
            "differs between devices",
            "is a scalar on each device",
            "holds one number per device",
            "is split over the devices, while",
        ),
        "The mapped function returns another value on each device: statistics that nothing averages, a buffer, a"
        " counter per device.",
        "Nothing, if that is intended. Otherwise reduce it before returning: `jax.lax.pmean(x, axis_name)`.",
    ),
    StackedCause(
        "not-proven",
        "Cannot prove that the result is replicated",
        (
            "cannot be proven replicated",
            "comes from a mapped function whose code",
            "fix cannot tell what the mapped",
            "an output under out_axes=None",
        ),
        "The result may well be the same on all devices, but `fix` cannot prove it. The reason names the call or the"
        " value that it may depend on.",
        "Reduce the value that the reason names with `jax.lax.pmean` or `psum`, or pass it with `in_axes=None`. If it"
        " names a function, give `fix` the file that defines it. Or record a run: `fix --observe -- COMMAND`.",
    ),
    StackedCause(
        "jaxline",
        "jaxline keeps it",
        (
            "is (listed in|passed by jaxline)",
            "is returned to jaxline",
            "is named in ",
            "is an attribute of an experiment",
            "may be (named in|read by) ",
        ),
        "jaxline passes or saves this array with one slice per device ([layouts](layouts.md#experiments-of-jaxline)).",
        "Write `CHECKPOINT_ATTRS` and `NON_BROADCAST_CHECKPOINT_ATTRS` as plain dictionaries in the class body.",
    ),
    StackedCause(
        "origin",
        "How the array is made is not known",
        (
            "might not hold one slice",
            "comes from code that fix",
            "the mapped function's arguments might not hold",
        ),
        "The array comes from a function that `fix` cannot read, or is made by hand for some number of devices. It may"
        " or may not have one slice per device.",
        "Record a run: `fix --observe -- COMMAND`. Or list the function that makes it under `replicates` or `splits` in"
        " [pyproject.toml](configuration.md). Or make it by `jax_utils.replicate` or `common_utils.shard`.",
    ),
    StackedCause(
        "map-stays",
        "Its mapped function keeps stacked arguments",
        (
            "reaches (a mapped function that stays|no mapped function)",
            "the mapped function",
            r"its (\S+ are|axis name|static arguments)",
            "what it donates",
            "is (passed to a mapped function|an argument for which|passed to pmap as)",
            "is passed in a container",
            "pmap is (called with|given)",
            "it (is called with|only gives back)",
            "is called with",
            "is mapped once more",
            "is bound to the mapped function by a partial",
            "is a method",
            "is stacked or unstacked in a function that is also",
            "is (used|passed on) in traced code",
        ),
        "The array is an argument of a mapped function whose arguments must stay stacked. The text after the colon says"
        " why: `in_axes` computed at run time, a method mapped in an unusual way, calls with different arguments.",
        "Write `in_axes`, `axis_name` and `static_broadcasted_argnums` as literals; map a function instead of a method;"
        " call the mapped function directly.",
    ),
    StackedCause(
        "read-on-host",
        "Host code reads the device axis",
        (
            "is iterated over",
            "is indexed",
            "has a method",
            "has its `",
            r"has \.",
            "is used as (an index|a condition|a context manager)",
            "is shown as text",
            "takes part in arithmetic on the host",
            "is unpacked",
            "is put into a set",
            "is a dictionary's key",
            "has an item or attribute deleted",
            "is unstacked twice",
            "is unstacked, and flax then",
            "is stacked (by code that also receives|from replicated arrays)",
            "gets a second device axis",
            "is read through",
        ),
        "Code outside of the map uses the array with its leading axis: a loop over the slices, a mean over devices,"
        " `print`.",
        "Nothing, if you want the slices. If one copy is enough, take it first: `jax_utils.unreplicate(x)` or `x[0]`,"
        " then read that. `fix` drops such an index together with the axis.",
    ),
    StackedCause(
        "passed-on",
        "Passed to code that fix cannot follow",
        (
            "is passed (to|with)",
            "is one argument more",
            "is spread into",
            "is returned by an asynchronous function",
            "is bound (by a partial that is stored|by partials|through too many nested partials)",
            "is a parameter's default",
            "is a base",
            "is yielded outside",
        ),
        "A function that `fix` cannot read gets the stacked array: a library, a callback, a call with `*args`. It may"
        " look at the leading axis.",
        "Pass one copy, `save(jax_utils.unreplicate(params))`; or pass the arguments by name and without a star; or"
        " give `fix` the file of the function.",
    ),
    StackedCause(
        "not-visible",
        "Callers or definitions are not visible",
        (
            "is returned (to callers|by a function without)",
            "comes from a function that is not called",
            "may be used in",
            "is stacked or unstacked in a file that was not",
            r"is an attribute of (?!an experiment)",
            "fix sees no call of the mapped function",
        ),
        "The array leaves the files that `fix` was given, or is made by a function that nothing there calls.",
        "Run `fix` on the whole project, with its entry point. For a library without one, use `--layout stacked`.",
    ),
    StackedCause(
        "reachable",
        "May be changed by code that fix cannot identify",
        (
            "may be read or changed through",
            r"\S+ is read (from an object|in traced code)",
            "is (read|replaced) (from|in) an object",
            "is stored in",
            "may depend on",
            "is changed by a decorator",
        ),
        "Attributes are accessed by computed names (`getattr`, `vars`, `sys.modules`) or on objects whose class `fix`"
        " does not know, or the program monkeypatches functions.",
        "Access the attribute as `obj.name`, on an object of a known class. Keep arrays out of objects that are changed"
        " through `getattr` or `vars`.",
    ),
    StackedCause(
        "mixed",
        "Used both stacked and otherwise",
        (
            "is (mixed with|put on the devices in one call)",
            "is a container in one place",
            "is used as stacked",
            "is split over the devices in one place",
            "is part of",
            "is mapped over together",
            "is unstacked .as by",
            "is stacked in some",
            "is a stacked array under",
        ),
        "Arrays that share a variable, a container or an argument must have one layout, and one of them might not be"
        " stacked.",
        "Give the stacked array a name of its own, or replicate on every path: `params = jax_utils.replicate(params)`"
        " in both branches.",
    ),
    StackedCause(
        "buffer",
        "A view of a buffer that is written again",
        ("is a view of a NumPy buffer",),
        "The program fills the buffer again while the device may still read it.",
        "Pass the view to the step in the very next statement, or copy it: `shard(buffer.copy())`.",
    ),
    StackedCause(
        "padding",
        "pad_shard_unpad",
        (r"is (padded and sharded|gathered and unpadded) by flax's pad_shard_unpad",),
        "flax's `pad_shard_unpad` calls the mapped function itself, with the batch padded and reshaped to"
        " `(devices, ...)`: so this argument keeps its device axis.",
        "Nothing. Other arguments, such as the parameters, can still lose their device axis.",
    ),
    StackedCause(
        "not-followed",
        "Code that fix cannot follow",
        (
            "is used in a statement",
            "changes in a loop",
            "is prefetched in a way",
            "following the program failed",
            "the program is too large",
            "its cells were last run",
        ),
        "The analysis ends here: an unusual statement, cells that ran in another order, a program that is too large,"
        " or a fault of jaxmigrate's.",
        "Write the line in a simpler way. Run the notebook from top to bottom and save it. Run `fix` on one program"
        " at a time. Report a fault.",
    ),
)

MEANT = frozenset({"random-key", "padding"})  # there is nothing to do about these


@cache
def cause_of(reason: str) -> StackedCause | None:
    """The cause that a reason stands for; None if the table has none, which a test excludes."""
    return next((one for one in CAUSES if re.match("|".join(one.begins), reason)), None)


def stacked_cause(anchor: str) -> StackedCause | None:
    """The cause with an anchor; None if there is none."""
    return next((one for one in CAUSES if one.anchor == anchor), None)
