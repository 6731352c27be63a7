"""How a run ended, said to a person: which side, which site, which call, and what it was about."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jaxmigrate.verify.align import named_path
from jaxmigrate.verify.model import InFlight, SiteInfo
from jaxmigrate.verify.process import Outcome
from jaxmigrate.verify.recording import Recording

_STUCK = re.compile(r"has been waiting for `(?P<what>[a-z -]+?) RendezvousKey.*Expected (?P<expected>\d+) threads")
_UNLOADED = re.compile(r"NameError: name '__jaxmigrate_(transform|mapped)__' is not defined")
# JAX puts a remark about its traceback behind the exception.
_RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit|Warning)\b")
_CAUSES = {
    "SIGKILL": "was killed (SIGKILL), which the kernel does when memory runs out",
    "SIGABRT": "aborted (SIGABRT)",
    "SIGSEGV": "crashed (SIGSEGV), as programs do that use a donated buffer again",
    "SIGBUS": "crashed (SIGBUS)",
    "SIGFPE": "crashed (SIGFPE)",
    "SIGILL": "crashed (SIGILL)",
    "SIGTERM": "was ended from outside (SIGTERM)",
}


def describe_run(
    side: str,
    outcome: Outcome,
    recording: Recording,
    sites: Mapping[str, SiteInfo],
    stderr: str,
    timeout: float,
    stdout: str = "",
) -> str:
    """One sentence about how a run ended; a program without a word on `stderr` may have said why on `stdout`."""
    if outcome.kind == "finished":
        return f"the {side} finished in {outcome.seconds:.1f} s"
    where = _where(recording, sites)
    if outcome.kind == "exited":
        said = stderr if stderr.strip() else stdout
        where = f"{_line(said)}{_donor(said, recording, sites)}"
        why = _because(said) if stderr.strip() or _raises(said) else _last_line(said)
        return f"the {side} exited with status {outcome.status}{why}{where}"
    if outcome.kind == "deadlock" or is_rendezvous(stderr):
        return f"the {side} hung {where}: {_waiting(stderr)}"
    if outcome.kind == "timeout":
        return f"the {side} was stopped after {timeout:g} s (--timeout) {where}"
    return f"the {side} {_CAUSES.get(outcome.signal, f'was ended by {outcome.signal}')} {where}"


def is_rendezvous(stderr: str) -> bool:
    """Whether XLA aborted because not all devices came to a collective."""
    return "rendezvous" in stderr.lower() and "Termination timeout" in stderr


def _waiting(stderr: str) -> str:
    stuck = [*_STUCK.finditer(stderr)]
    if not stuck:
        return "its devices wait for each other in a collective that only some of them reach"
    what, expected = stuck[0]["what"], stuck[0]["expected"]
    return f"its devices wait for each other in an {what} that only {len(stuck)} of {expected} reach"


def _where(recording: Recording, sites: Mapping[str, SiteInfo]) -> str:
    flying = [call for _, call in recording.in_flight()]
    if flying:
        return "in " + describe_call(flying[-1].in_flight(), sites)
    last = recording.last_call()
    if last is None:
        return "before its first mapped call"
    return "outside of any mapped call, after " + describe_call(last.in_flight(), sites)


def describe_call(call: InFlight, sites: Mapping[str, SiteInfo]) -> str:
    """A call with its place, as in `call 3 of train.py:30 (step)`."""
    stage = f" while it was {call.stage}" if call.stage == "reading its arguments" else ""
    return f"call {call.call} of {sites.get(call.site, SiteInfo(call.site))}{stage}"


def _raises(said: str) -> bool:
    """Whether some line of a text is that of an exception."""
    return any(_RAISED.match(line.strip()) for line in said.splitlines())


def _last_line(stdout: str) -> str:
    """What a program printed last that says nothing of an error."""
    lines = [line.strip() for line in stdout.splitlines() if line.strip()]
    return f"; the last line that it printed is `{lines[-1][:300]}`" if lines else ""


def _because(stderr: str) -> str:
    if _UNLOADED.search(stderr):
        return (
            ": the recorder was not loaded, because the command starts a Python that ignores PYTHONPATH (-I, -E, -S, "
            "an environment of its own), or sets PYTHONPATH itself: set that in front of jaxmigrate"
        )
    lines = [line.strip() for line in of_the_project(stderr).splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    last = (raised or lines)[-1][:300] if lines else ""
    if last.startswith("EOFError"):
        last += "; it reads standard input, which is empty: pass a file, jaxmigrate verify ... < FILE"
    if last.startswith("FileNotFoundError") and re.search(r"['\"]\.\./", last):
        last += "; it runs in a copy of the project, outside of which `..` leads nowhere: verify the folder above"
    return f": {last}" if last else ""


_FRAME = re.compile(r'^  File "(?P<path>[^"]*)", line (?P<line>\d+), in (?P<name>.*)$', re.MULTILINE)
_IN_COPY = re.compile(r"/jaxmigrate-[^/]+/tree/[^/]+/(?P<path>.*)$")
_DELETED = re.compile(r"Array has been deleted with shape=(?P<shape>[\w\[\],]+)|donated")


def _line(said: str) -> str:
    """The line of the project itself that an error came through last."""
    found = ""
    for frame in _FRAME.finditer(said):
        inside = _IN_COPY.search(frame["path"])
        if inside is not None and "site-packages" not in frame["path"]:
            found = f" (at {inside['path']}:{frame['line']}, in {frame['name']})"
    return found


def _donor(said: str, recording: Recording, sites: Mapping[str, SiteInfo]) -> str:
    """Where an array was given away that a program used once more: in the last call that donates such ones."""
    deleted = _DELETED.search(said)
    if deleted is None or "deleted" not in said:
        return ""
    calls = ((log, call) for log in recording.ordered() for call in reversed(log.calls))
    for log, call in calls:
        gone = log.donated.get((call.site, call.function), ())
        leaves = [path for path, shape in gone if deleted["shape"] in (None, shape)]
        if call.ended and leaves:
            name = named_path("input", leaves[0], recording.parameters(call.site))
            place = sites.get(call.site) or f"{call.site} ({call.function})"
            return f"; call {call.number} of {place} donated {name}"
    return ""


_FRAME_LINE = re.compile(r'^ *(?:\| )? *File "(?P<path>[^"]*)", line \d+')
_COPY = re.compile(r"/\S*/jaxmigrate-[^/\s]+/tree/[^/\s]+/")
# What is installed, Python's own library, and the recorder.
_LIBRARY = re.compile(r"/site-packages/|^<frozen |/lib(?:64)?/python\d[.\d]*/|/jaxmigrate_child/")
_REMARK = "For simplicity, JAX has removed its internal frames"


def of_the_project(text: str) -> str:
    """A traceback without the frames of libraries, with the files of the project by their own paths."""
    lines, inside, depth = [], False, 0
    for line in text.splitlines():
        frame = _FRAME_LINE.match(line)
        indent = len(line) - len(line.lstrip())
        if frame is not None:
            inside, depth = _is_of_a_library(frame["path"]), indent
        elif indent <= depth:
            inside = False
        if not inside and not line.startswith((_REMARK, "-" * 20)):
            lines.append(_COPY.sub("", line))
    return "\n".join(lines)


def _is_of_a_library(path: str) -> bool:
    return _LIBRARY.search(path) is not None


def tail(text: str, lines: int = 40, characters: int = 4000) -> str:
    """The end of a text, in whole lines where possible; of a crash, what faulthandler says first."""
    crash = text.rfind("Fatal Python error: ")
    if crash >= 0:
        return "\n".join(text[crash:].splitlines()[:lines])[:characters]
    return "\n".join(text[-characters:].splitlines()[-lines:])
