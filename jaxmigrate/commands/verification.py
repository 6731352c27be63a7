"""From planned files to runs of both programs, for `verify` and for `fix --verify` alike."""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from jaxmigrate import records
from jaxmigrate.commands import Failure
from jaxmigrate.commands.interpreter import told_without_jax
from jaxmigrate.commands.notebooks import as_command, in_words, laid_out, unrun_lines
from jaxmigrate.commands.original import Origin
from jaxmigrate.commands.planning import PlannedFile
from jaxmigrate.commands.progress import progress_display
from jaxmigrate.commands.revisions import revisions
from jaxmigrate.commands.scope import located, project_root
from jaxmigrate.commands.several import with_two_processes
from jaxmigrate.config import CommandConfig, Config
from jaxmigrate.migrate import SitePlan
from jaxmigrate.program.old_names import old_names
from jaxmigrate.sources import NOTEBOOK, SourceFile
from jaxmigrate.terminal import note, say
from jaxmigrate.verify.merge import merge
from jaxmigrate.verify.model import CPU, Evidence, SiteInfo, Tolerance, VerifyError, VerifyRequest
from jaxmigrate.verify.observing import Seen, seen_in
from jaxmigrate.verify.run import verify, watch_original
from jaxmigrate.verify.session import Originals


def verify_planned(
    planned: Sequence[PlannedFile],
    rewritten: Collection[str],
    config: Config,
    options: argparse.Namespace,
    *,
    renewed: bool = False,
    originals: Originals | None = None,
) -> Evidence:
    """Runs a program as it was and with some of its files rewritten.

    `renewed` says that the original is known not to run before its old names are replaced; `originals` has runs of it.

    Raises:
        Failure: There is no command, or the verification could not be carried out.
    """
    root = _root(planned, options)
    unmarked = not any(file.sites for file in planned)
    request = VerifyRequest(
        root=root,
        original=_laid_out(planned, root),
        migrated=_laid_out(planned, root, rewritten),
        sites=tuple(_in_question(planned, rewritten)),
        by_hand=unmarked,
        unmarked=unmarked,
        others=() if unmarked else _others([file for file in planned if file.source.name in rewritten], root),
        passed_on=tuple(place for file in planned for place in _passed_on(file)),
        **_how_to_run(root, config, options),
    )
    sources = [file.source for file in planned]
    return _verified(request, config, options, sources, _renewal(planned, root), renewed, originals)


def _root(planned: Sequence[PlannedFile], options: argparse.Namespace) -> Path:
    """The folder to copy: with the files, the folders that the user has named, which may hold data besides."""
    named = map(Path, _named_paths(options))
    return project_root([*(Path(file.source.name) for file in planned), *(path for path in named if path.is_dir())])


def watch_planned(
    planned: Sequence[PlannedFile], config: Config, options: argparse.Namespace, originals: Originals
) -> tuple[Seen, Evidence]:
    """Runs a program as it is, to see what its mapped functions are given and give; `originals` keeps the runs.

    Returns:
        What was the case with all commands, and how the last of them went, or the first that failed.

    Raises:
        Failure: There is no command, or it cannot be run.
    """
    root = _root(planned, options)
    changed = [file for file in planned if file.plan.changed]
    request = VerifyRequest(
        root=root,
        original=_laid_out(planned, root),
        migrated={},
        sites=tuple(_in_question(planned, {file.source.name for file in changed})),
        others=_others(changed, root),
        **_how_to_run(root, config, options),
    )
    found, evidence = Seen(), None
    for one in commands(config, options):
        asked = replace(request, **_of_command(one, options))
        seen, evidence = _watched(asked, _renewal(planned, root), originals)
        without = told_without_jax(evidence, one.command, asked.original_python)
        if without:
            raise Failure(without)
        if evidence.original_failed:
            return seen, evidence
        found.add(seen)
    assert evidence is not None
    return found, evidence


def _watched(asked: VerifyRequest, renewal: Mapping[str, bytes], originals: Originals) -> tuple[Seen, Evidence]:
    """One run of a program as it is, with its old names replaced where it does not run otherwise."""
    runs: list[Seen] = []

    def run(request: VerifyRequest) -> Evidence:
        recording, evidence = watch_original(request, progress, originals)
        runs.append(seen_in(recording))
        return evidence

    try:
        with progress_display() as progress:
            evidence = _with_an_original_that_runs(asked, renewal, run, renewed=False)
    except VerifyError as error:
        raise Failure(str(error)) from error
    except (KeyboardInterrupt, SystemExit):
        say("interrupted: the program was ended and its copy removed; no file of the project was changed")
        raise
    return runs[-1], evidence


def verify_by_hand(
    origin: Origin, migrated: Sequence[SourceFile], config: Config, options: argparse.Namespace
) -> Evidence:
    """Runs a program as it was and as somebody has migrated it; `migrated` are its files now.

    Raises:
        Failure: There is no command, or the verification could not be carried out.
    """
    root = project_root([Path(options.path)])
    top = located(Path(options.path)).relative_to(root)
    notebooks = [source for source in migrated if source.notebook is not None]
    unmarked = not any(file.sites for file in origin.planned)
    now = {source.name: source.raw for source in migrated}
    request = VerifyRequest(
        root=root,
        original={
            **{(top / name).as_posix(): raw for name, raw in origin.others.items()},
            **_laid_out(origin.planned, root),
        },
        migrated={
            name: raw
            for source in notebooks
            for name, raw in laid_out(source, _inside(source, root), source.text).items()
        },
        sites=tuple(
            replace(_site(site), arguments=(), outputs=(), changed=file.source.raw != now.get(file.source.name))
            for file in origin.planned
            for site in file.sites
        ),
        by_hand=True,
        unmarked=unmarked,
        others=()
        if unmarked
        else _others([file for file in origin.planned if file.source.raw != now.get(file.source.name)], root),
        **_how_to_run(root, config, options),
    )
    return _verified(request, config, options, notebooks, _renewal(origin.planned, root))


_SHARDED = re.compile(r"\b(?:shard_map|pjit|in_shardings|out_shardings)\b")


def _others(changed: Sequence[PlannedFile], root: Path) -> tuple[str, ...]:
    """The files among those that change which map with something else than pmap, or compile with shardings."""
    return tuple(_inside(file.source, root) for file in changed if _SHARDED.search(file.source.text))


def _how_to_run(root: Path, config: Config, options: argparse.Namespace) -> dict[str, Any]:
    """What the user says about the runs, whatever is verified and whichever command runs."""
    return {
        "cwd": located(Path.cwd()).relative_to(root).as_posix(),
        "command": (),
        "stdin": _standard_input(),
        "as_compiled": getattr(options, "as_compiled", False) or config.verify.as_compiled,
        "tolerances": _tolerances(config, options),
        "observe": bool(getattr(options, "observe", False)),
        **_given(
            twice=getattr(options, "twice", None),
            original_python=getattr(options, "original_python", None),
        ),
    }


def _tolerances(config: Config, options: argparse.Namespace) -> dict[str, Tolerance]:
    """What the user has given by dtype: on the command line, else in the configuration."""
    told = config.verify
    rtol: dict[str, float] = dict(getattr(options, "rtol", None) or told.rtol)
    atol: dict[str, float] = dict(getattr(options, "atol", None) or told.atol)
    return {
        dtype: Tolerance(rtol.get(dtype, rtol.get("", 0.0)), atol.get(dtype, atol.get("", 0.0)))
        for dtype in {**rtol, **atol}
    }


def _standard_input() -> bytes:
    """What the user has redirected from a file, for both programs; a terminal or a pipe might never end."""
    try:
        is_file = stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):
        return b""
    return sys.stdin.buffer.read() if is_file else b""


def _verified(
    request: VerifyRequest,
    config: Config,
    options: argparse.Namespace,
    sources: Sequence[SourceFile],
    renewal: Mapping[str, bytes],
    renewed: bool = False,
    originals: Originals | None = None,
) -> Evidence:
    """What all commands together show; each runs both programs, which `sources` are read from."""
    found: dict[str, Evidence] = {}
    chosen = commands(config, options)
    try:
        for one in chosen:
            if len(chosen) > 1:
                note(f"verifying with {one.name}: {in_words(one.command)}")
            asked = replace(request, **_of_command(one, options))
            _check_processes(config, [str(asked.processes)])
            told = _run(asked, renewal, renewed, originals)
            renewed = told.renewed
            without = told_without_jax(told, one.command, asked.original_python)
            if without:
                raise Failure(without)
            again = partial(_run_again, told, renewal=renewal, originals=originals)
            _check_processes(config, {run.versions.get("processes", "1") for run in told.runs})
            is_said = _processes(one, options) or config.declared.processes
            both = {"": told} if is_said else with_two_processes(asked, told, again)
            found |= {", ".join(filter(None, (one.name, name))): evidence for name, evidence in both.items()}
    except VerifyError as error:
        raise Failure(str(error)) from error
    except (KeyboardInterrupt, SystemExit):
        say("interrupted: the programs were ended and their copies removed; no file of the project was changed")
        raise
    evidence = merge(found)
    unrun = [note for one in chosen for note in unrun_lines(one.command, {s.name: s for s in sources})]
    return replace(evidence, notes=(*evidence.notes, *unrun), revisions=revisions(request.root, options))


def _run(asked: VerifyRequest, renewal: Mapping[str, bytes], renewed: bool, originals: Originals | None) -> Evidence:
    with progress_display() as progress:
        run = partial(verify, progress=progress, originals=originals)
        return _with_an_original_that_runs(asked, renewal, run, renewed=renewed)


def _run_again(
    told: Evidence, asked: VerifyRequest, renewal: Mapping[str, bytes], originals: Originals | None
) -> Evidence:
    """The same for another request for a program; why its old names were replaced is said as it was before."""
    found = _run(asked, renewal, told.renewed, originals)
    why = [text for text in told.notes if text.startswith(_RENEWED)]
    return replace(found, notes=(*why, *(text for text in found.notes if not why or not text.startswith(_RENEWED))))


_RENEWED = "the original does not run on this JAX"


def _renewal(planned: Sequence[PlannedFile], root: Path) -> dict[str, bytes]:
    """The original's files that have old names, with these replaced, by path."""
    found: dict[str, bytes] = {}
    for file in planned:
        if file.plan.marked_renewed:
            found |= laid_out(file.source, _inside(file.source, root), file.plan.marked_renewed)
    return found


def _lacks_a_name(evidence: Evidence) -> bool:
    """Whether the original did not run and what it said about it names something that JAX has renamed or removed."""
    if not evidence.original_failed or evidence.runs[0].outcome != "exited":
        return False
    said = set(re.findall(r"\w+(?:\.\w+)*", evidence.message))
    lasts = {word.rpartition(".")[2] for word in said}
    modules = tuple(f"{word}." for word in said if word.startswith("jax."))
    names = (name.partition("(")[0] for name in old_names())
    return any(name.rpartition(".")[2] in lasts or name.startswith(modules) for name in names)


def _with_an_original_that_runs(
    request: VerifyRequest, renewal: Mapping[str, bytes], run: Callable[[VerifyRequest], Evidence], *, renewed: bool
) -> Evidence:
    """Verifies against the original as it is or, where it does not run on today's JAX, with its old names replaced.

    What takes the place of these names is then on both sides, and not compared; a note says so.
    """
    why = ""
    if not renewed:
        evidence = run(request)
        if request.original_python or not renewal or not _lacks_a_name(evidence):
            return evidence
        why = f" ({evidence.message.removesuffix('.')})"
        say(f"{evidence.message.removesuffix('.')}; running it again with its old names of JAX replaced")
    evidence = run(replace(request, original={**request.original, **renewal}))
    note = (
        f"{_RENEWED}{why}, so it ran with its old names replaced as `fix` replaces them: "
        "that replacement itself is not verified; --original-python EXE runs the original as it is on an older JAX"
    )
    return replace(evidence, renewed=True, notes=(*evidence.notes, note))


def _of_command(one: CommandConfig, options: argparse.Namespace) -> dict[str, Any]:
    platform = getattr(options, "platform", None) or CPU
    return {
        "command": one.command,
        "devices": options.devices or (one.devices if platform == CPU else 0),
        "platform": platform,
        "processes": _processes(one, options) or 1,
        "environment": dict(one.environment),
        **_given(timeout=options.timeout or one.timeout),
    }


def _check_processes(config: Config, counts: Collection[str]) -> None:
    """Refuses to run a program as several processes that is declared to be one."""
    most = max(map(int, counts), default=1)
    if config.declared.processes == 1 and most > 1:
        raise Failure(
            f"{config.file} says tool.jaxmigrate.processes = 1, and this program runs as {most}: take that out, "
            "or run it as one process"
        )


def _processes(one: CommandConfig, options: argparse.Namespace) -> int:
    """How many processes the user wants, 0 where nobody has said."""
    return getattr(options, "processes", None) or one.processes


def commands(config: Config, options: argparse.Namespace) -> tuple[CommandConfig, ...]:
    """The commands that run the program: the one behind `--`, else those that the project names, else its only one.

    A notebook is a command too: a verification of one that names no command runs its cells.

    Raises:
        Failure: There is none, or none of a name that was asked for.
    """
    told = config.verify
    shared = CommandConfig("", told.command, told.devices, told.timeout, told.processes, told.environment)
    any_python = getattr(options, "original_python", None) is not None
    if options.program:
        return (as_command(records.replace(shared, command=tuple(options.program)), any_python),)
    wanted = getattr(options, "run", None) or ()
    unknown = [name for name in wanted if name not in {one.name for one in told.commands}]
    if unknown:
        named = ", ".join(one.name for one in told.commands) or "none"
        raise Failure(f"no command is called {unknown[0]!r} under tool.jaxmigrate.verify.commands; there is: {named}")
    chosen = tuple(one for one in told.commands if not wanted or one.name in wanted)
    if not chosen and not told.command:
        if len(notebook := _named_paths(options)) == 1 and notebook[0].endswith(NOTEBOOK):
            return (as_command(records.replace(shared, command=tuple(notebook)), any_python),)
        notebooks = [one for path in _named_paths(options) for one in sorted(Path(path).glob(f"*{NOTEBOOK}"))]
        cells = f"; or name {notebooks[0]}, whose cells then run" if notebooks else ""
        told_how = "give the program's command behind `--`, or as tool.jaxmigrate.verify.command"
        raise Failure(f"nothing to run: {told_how}{cells}")
    return tuple(as_command(one, any_python) for one in chosen or (shared,))


def _named_paths(options: argparse.Namespace) -> list[str]:
    return [options.path] if hasattr(options, "path") else list(options.paths)


def _given(**values: Any) -> dict[str, Any]:
    """The values that somebody set; the others keep the request's own defaults."""
    return {name: value for name, value in values.items() if value is not None}


def _inside(source: SourceFile, root: Path) -> str:
    return located(Path(source.name)).relative_to(root).as_posix()


def _laid_out(planned: Sequence[PlannedFile], root: Path, rewritten: Collection[str] = ()) -> dict[str, bytes]:
    """The marked files of one side, by path; `rewritten` are the names of those that are on it."""
    found: dict[str, bytes] = {}
    for file in planned:
        if file.plan.new and not file.plan.users & set(rewritten):
            continue
        text = file.plan.marked_after if file.plan.new or file.source.name in rewritten else file.plan.marked_before
        found |= laid_out(file.source, _inside(file.source, root), text)
    return found


def _in_question(planned: Sequence[PlannedFile], rewritten: Collection[str]) -> Iterator[SiteInfo]:
    """The sites that a run must reach: all rewritten ones but those of files that stay as they are by choice."""
    for file in planned:
        if file.source.name in rewritten or not file.plan.changed:
            yield from (_site(site) for site in file.sites if site.status == "rewritten")


def _passed_on(file: PlannedFile) -> Iterator[str]:
    """Where a file hands on a map that is rewritten; of a notebook only its name, whose lines are those of cells."""
    name = file.source.name
    yield from dict.fromkeys(name if file.source.notebook else f"{name}:{line}" for line in file.plan.passed_on)


def _site(site: SitePlan) -> SiteInfo:
    arguments, outputs = (
        tuple((array.name, array.layout) for array in arrays) for arrays in (site.arguments, site.outputs)
    )
    return SiteInfo(
        site.id, site.path, site.line, site.column, site.axis or "", site.mapped, arguments, outputs, cell=site.cell
    )
