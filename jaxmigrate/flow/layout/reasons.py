"""The causes for which arrays stay stacked: what each means, and what a user can do about it.

The analysis says of each array why it stays, in words with names and lines, and each of these reasons has one of these
causes. docs/stacked.md is written from this table by `python tools/docs.py`, and reports refer to it.
"""

from __future__ import annotations

from typing import NamedTuple

from jaxmigrate.flow.layout.causes import Stacked


class StackedCause(NamedTuple):
    """A cause: its anchor in docs/stacked.md, its title, and two texts in Markdown."""

    anchor: Stacked
    title: str
    means: str
    advice: str


CAUSES = (
    StackedCause(
        Stacked.RANDOM_KEY,
        "One random key per device",
        "Each device has a key of its own, as it should: with one key for all, dropout and noise would be the same"
        " everywhere ([JM205](rules/JM205.md)).",
        "Nothing.",
    ),
    StackedCause(
        Stacked.PER_DEVICE,
        "The values differ between devices",
        "The mapped function returns another value on each device: statistics that nothing averages, a buffer, a"
        " counter per device.",
        "Nothing, if that is intended. Otherwise reduce it before returning: `jax.lax.pmean(x, axis_name)`.",
    ),
    StackedCause(
        Stacked.NOT_PROVEN,
        "Cannot prove that the result is replicated",
        "The result may well be the same on all devices, but `fix` cannot prove it. The reason names the call or the"
        " value that it may depend on.",
        "Reduce the value that the reason names with `jax.lax.pmean` or `psum`, or pass it with `in_axes=None`. If it"
        " names a function, give `fix` the file that defines it. Or record a run: `fix --observe -- COMMAND`.",
    ),
    StackedCause(
        Stacked.JAXLINE,
        "jaxline keeps it",
        "jaxline passes or saves this array with one slice per device ([layouts](layouts.md#experiments-of-jaxline)).",
        "Write `CHECKPOINT_ATTRS` and `NON_BROADCAST_CHECKPOINT_ATTRS` as plain dictionaries in the class body.",
    ),
    StackedCause(
        Stacked.ORIGIN,
        "How the array is made is not known",
        "The array comes from a function that `fix` cannot read, or is made by hand for some number of devices. It may"
        " or may not have one slice per device.",
        "Record a run: `fix --observe -- COMMAND`. Or list the function that makes it under `replicates` or `splits` in"
        " [pyproject.toml](configuration.md). Or make it by `jax_utils.replicate` or `common_utils.shard`.",
    ),
    StackedCause(
        Stacked.MAP_STAYS,
        "Its mapped function keeps stacked arguments",
        "The array is an argument of a mapped function whose arguments must stay stacked. The text after the colon says"
        " why: `in_axes` computed at run time, a method mapped in an unusual way, calls with different arguments.",
        "Write `in_axes`, `axis_name` and `static_broadcasted_argnums` as literals; map a function instead of a method;"
        " call the mapped function directly.",
    ),
    StackedCause(
        Stacked.READ_ON_HOST,
        "Host code reads the device axis",
        "Code outside of the map uses the array with its leading axis: a loop over the slices, a mean over devices,"
        " `print`.",
        "Nothing, if you want the slices. If one copy is enough, take it first: `jax_utils.unreplicate(x)` or `x[0]`,"
        " then read that. `fix` drops such an index together with the axis.",
    ),
    StackedCause(
        Stacked.PASSED_ON,
        "Passed to code that fix cannot follow",
        "A function that `fix` cannot read gets the stacked array: a library, a callback, a call with `*args`. It may"
        " look at the leading axis.",
        "Pass one copy, `save(jax_utils.unreplicate(params))`; or pass the arguments by name and without a star; or"
        " give `fix` the file of the function.",
    ),
    StackedCause(
        Stacked.NOT_VISIBLE,
        "Callers or definitions are not visible",
        "The array leaves the files that `fix` was given, or is made by a function that nothing there calls.",
        "Run `fix` on the whole project, with its entry point. For a library without one, use `--layout stacked`.",
    ),
    StackedCause(
        Stacked.REACHABLE,
        "May be changed by code that fix cannot identify",
        "Attributes are accessed by computed names (`getattr`, `vars`, `sys.modules`) or on objects whose class `fix`"
        " does not know, or the program monkeypatches functions.",
        "Access the attribute as `obj.name`, on an object of a known class. Keep arrays out of objects that are changed"
        " through `getattr` or `vars`.",
    ),
    StackedCause(
        Stacked.MIXED,
        "Used both stacked and otherwise",
        "Arrays that share a variable, a container or an argument must have one layout, and one of them might not be"
        " stacked.",
        "Give the stacked array a name of its own, or replicate on every path: `params = jax_utils.replicate(params)`"
        " in both branches.",
    ),
    StackedCause(
        Stacked.BUFFER,
        "A view of a buffer that is written again",
        "The program fills the buffer again while the device may still read it. JAX reads a NumPy argument late,"
        " under `pmap` and under `shard_map`: such a program can compute with the wrong numbers before and after fix.",
        "Pass the view to the step in the very next statement, or copy it: `shard(buffer.copy())`.",
    ),
    StackedCause(
        Stacked.PADDING,
        "pad_shard_unpad",
        "flax's `pad_shard_unpad` calls the mapped function itself, with the batch padded and reshaped to"
        " `(devices, ...)`: so this argument keeps its device axis.",
        "Nothing. Other arguments, such as the parameters, can still lose their device axis.",
    ),
    StackedCause(
        Stacked.NOT_FOLLOWED,
        "Code that fix cannot follow",
        "The analysis ends here: an unusual statement, cells that ran in another order, a program that is too large,"
        " or a fault of jaxmigrate's.",
        "Write the line in a simpler way. Run the notebook from top to bottom and save it. Run `fix` on one program"
        " at a time. Report a fault.",
    ),
)

MEANT = frozenset({Stacked.RANDOM_KEY, Stacked.PADDING})  # there is nothing to do about these


def stacked_cause(anchor: str) -> StackedCause | None:
    """The cause with an anchor; None if there is none."""
    return next((one for one in CAUSES if one.anchor == anchor), None)
