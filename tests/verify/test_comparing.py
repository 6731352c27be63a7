"""Reading two logs, comparing them call by call, and judging what differs; all of it without JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.verify.case import Case
from jaxmigrate.verify.compare import compare
from jaxmigrate.verify.comparison import CallKey, Delta, SiteComparison
from jaxmigrate.verify.hints import factor_hint, hint
from jaxmigrate.verify.judge import judge
from jaxmigrate.verify.keep import choose, leaf_bytes, spread
from jaxmigrate.verify.measure import scalar_error, tolerance_of
from jaxmigrate.verify.messages import describe_run, tail
from jaxmigrate.verify.model import LeafError, SiteEvidence, SiteInfo, Tolerance, Verdict
from jaxmigrate.verify.process import Outcome
from jaxmigrate.verify.recording import StreamKey
from tests.verify.logs import ARRAY, Log, recording

A, B = SiteInfo("a", "x.py", 1, 1), SiteInfo("b", "x.py", 2, 1)
MAIN = StreamKey(0, "")
Write = Callable[[Log], Any]


@pytest.fixture
def compared(tmp_path: Path) -> Callable[[Write, Write], Mapping[str, SiteComparison]]:
    fresh = count()

    def run(original: Write, rewritten: Write) -> Mapping[str, SiteComparison]:
        folders = [tmp_path / f"{next(fresh)}" for _ in range(2)]
        for folder, write in zip(folders, (original, rewritten), strict=True):
            write(Log(folder))
        return compare(recording(folders[0]), recording(folders[1]))

    return run


def verdicts(case: Case) -> dict[str, Verdict]:
    return {site.site.id: site.verdict for site in judge(case)}


def one(comparisons: Mapping[str, SiteComparison], **known: Any) -> SiteEvidence:
    return judge(Case(comparisons, {"a": A}, 8, **known))[0]


def calls(*got: str, site: str = "a") -> Write:
    def write(log: Log) -> None:
        for digest in got:
            log.call(site, got=digest)

    return write


class TestReading:
    def test_log_that_stops_within_a_line_and_a_call(self, tmp_path: Path) -> None:
        log = Log(tmp_path)
        log.call("a")
        order = log.enter("a")
        log.values("in", order, "x")
        with log.path.open("a") as file:
            file.write('{"k":"out","n":1,"sig":0')
        found = recording(tmp_path)
        assert found.count() == 2
        assert [call.in_flight().stage for _, call in found.in_flight()] == ["running"]
        with log.path.open("a") as file:
            file.write(',"digest":"d","s":0.5}\n')
        found.read_on()
        assert found.in_flight() == ()
        last = found.last_call()
        assert last is not None
        assert last.seconds == 0.5

    def test_call_that_waits_for_its_arguments(self, tmp_path: Path) -> None:
        Log(tmp_path).enter("a")
        assert [call.in_flight().stage for _, call in recording(tmp_path).in_flight()] == ["reading its arguments"]

    def test_processes_are_matched_by_worker_and_start(self, tmp_path: Path) -> None:
        for pid, worker, started in ((7, "gw1", 1.0), (8, "gw0", 2.0), (9, "gw0", 1.5)):
            Log(tmp_path, pid, worker, started)
        assert [log.pid for log in recording(tmp_path).ordered()] == [9, 8, 7]


class TestComparing:
    def test_equal(self, compared: Any) -> None:
        found = compared(calls("1", "2"), calls("1", "2"))
        assert one(found).verdict is Verdict.EQUAL
        assert (one(found).calls, one(found).differing) == (2, 0)

    def test_first_difference(self, compared: Any) -> None:
        evidence = one(compared(calls("1", "2", "3"), calls("1", "x", "y")))
        assert evidence.verdict is Verdict.DIFFERENT
        assert evidence.first is not None
        assert (evidence.first.call, evidence.first.where, evidence.first.inputs_equal) == (1, "output", True)
        assert evidence.differing == 2

    def test_arguments_that_differ_are_told_first(self, compared: Any) -> None:
        evidence = one(compared(lambda log: log.call("a", "x", "y"), lambda log: log.call("a", "X", "Y")))
        assert [(d.where, d.inputs_equal) for d in evidence.differences] == [("input", False), ("output", False)]

    @pytest.mark.parametrize(
        ("leaf", "kind"),
        [
            (["", "array", "float32", [4], False], "shape"),
            (["", "array", "bfloat16", [8], False], "dtype"),
            (["", "none", "None", [], False], "structure"),
            (["['x']", "array", "float32", [8], False], "structure"),
            (["", "unreadable", "T: broken", [], False], "unreadable"),
        ],
    )
    def test_kinds(self, compared: Any, leaf: Any, kind: str) -> None:
        evidence = one(compared(calls("1"), lambda log: log.call("a", got="2", leaves=[leaf])))
        assert evidence.verdict is Verdict.DIFFERENT
        assert [d.kind for d in evidence.differences] == [kind]

    def test_containers(self, compared: Any) -> None:
        evidence = one(
            compared(
                lambda log: log.call("a", nodes="builtins.tuple(*)"),
                lambda log: log.call("a", nodes="builtins.list(*)"),
            )
        )
        assert [d.kind for d in evidence.differences] == ["structure"]
        assert "builtins.tuple(*) in the original, builtins.list(*) rewritten" in evidence.message

    def test_weak_types_are_noted_only(self, compared: Any) -> None:
        weak = ["", "array", "float32", [8], True]
        evidence = one(compared(calls("1"), lambda log: log.call("a", got="1", leaves=[weak])))
        assert (evidence.verdict, evidence.weak_types) == (Verdict.EQUAL, 1)

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ([ARRAY], ", from equal arguments"),
            ([["[0][0]", *ARRAY[1:]], ["[0][1]", *ARRAY[1:]]], ", but not all arguments could be compared"),
        ],
    )
    def test_arguments_are_only_called_equal_where_all_were_compared(
        self, tmp_path: Path, given: Any, says: str
    ) -> None:
        def call(folder: str, leaves: Any, got: str) -> None:
            log = Log(tmp_path / folder)
            order = log.enter("a")
            log.values("in", order, "\n".join("x" for _ in leaves), leaves)
            log.values("out", order, got)

        call("ours", [["[0][0]", *ARRAY[1:]]] if len(given) > 1 else given, "1")
        call("theirs", given, "2")
        found = compare(recording(tmp_path / "ours"), recording(tmp_path / "theirs"), lenient=True)
        far = LeafError(1.0, 1.0, 1e6, different_elements=8, elements=8)
        evidence = one(found, errors={(CallKey(MAIN, "a", 0), "output", 0): far})
        assert evidence.verdict is Verdict.DIFFERENT
        assert evidence.message.endswith(says), evidence.message

    def test_an_argument_in_a_layout_that_is_not_known_is_told(self, tmp_path: Path) -> None:
        for folder, shape in (("ours", [8, 2]), ("theirs", [5])):
            log = Log(tmp_path / folder)
            order = log.enter("a")
            log.values("in", order, "x", [["[0][0]", "array", "float32", shape, False]])
            log.values("out", order, "1")
        evidence = one(compare(recording(tmp_path / "ours"), recording(tmp_path / "theirs"), lenient=True))
        assert evidence.verdict is Verdict.EQUAL
        assert [array.layout for array in evidence.arguments] == ["unknown"]

    def test_objects_are_not_compared(self, compared: Any) -> None:
        def call(kind: str) -> Write:
            return lambda log: log.call("a", got="", leaves=[["", "static", kind, [], False]])

        assert one(compared(call("M.A"), call("M.B"))).verdict is Verdict.EQUAL

    def test_digest_of_the_whole_call_counts_without_those_of_leaves(self, compared: Any) -> None:
        def call(digest: str) -> Write:
            def write(log: Log) -> None:
                order = log.enter("a")
                log.write(k="out", n=order, sig=log.signature([ARRAY], "*"), digest=digest, s=0.0)

            return write

        assert one(compared(call("1"), call("1"))).verdict is Verdict.EQUAL
        assert one(compared(call("1"), call("2"))).verdict is Verdict.DIFFERENT

    def test_same_exception_is_equal_and_another_is_not(self, compared: Any) -> None:
        def fails(kind: str) -> Write:
            return lambda log: log.write(k="raised", n=log.enter("a"), type=kind, text="at 0x1234")

        assert one(compared(fails("ValueError"), fails("ValueError"))).verdict is Verdict.EQUAL
        assert (
            "ValueError: at 0x1234 in the original, no exception rewritten"
            in one(compared(fails("ValueError"), calls("1"))).message
        )

    def test_threads_are_compared_one_by_one(self, compared: Any) -> None:
        def interleaved(first: str, second: str) -> Write:
            def write(log: Log) -> None:
                for thread in (first, second):
                    log.call("a", got=f"of {thread}", thread=thread)

            return write

        assert one(compared(interleaved("t1", "t2"), interleaved("t2", "t1"))).verdict is Verdict.EQUAL


class TestOrder:
    def test_call_that_is_missing(self, compared: Any) -> None:
        evidence = one(compared(calls("1", "2"), calls("1")))
        assert evidence.verdict is Verdict.DIFFERENT
        assert (
            "mapped call 1 of the program is x.py:1 in the original and missing in the rewritten one"
            in evidence.message
        )
        assert "(2 calls in the original, 1 call rewritten)" in evidence.message

    def test_other_order_names_both_sites(self, compared: Any) -> None:
        def write(*sites: str) -> Write:
            def calls_in_turn(log: Log) -> None:
                for site in sites:
                    log.call(site)

            return calls_in_turn

        case = Case(compared(write("a", "a", "b"), write("a", "b", "a")), {"a": A, "b": B}, 8)
        assert verdicts(case) == {"a": Verdict.DIFFERENT, "b": Verdict.DIFFERENT}
        assert (
            "mapped call 1 of the program is x.py:1 in the original and x.py:2 in the rewritten one"
            in judge(case)[0].message
        )


class TestJudging:
    def test_failed_run_fails_what_it_did_not_reach(self, compared: Any) -> None:
        def both(log: Log) -> None:
            log.call("a")
            log.call("b")

        case = Case(compared(both, calls("out")), {"a": A, "b": B}, 8, failure="the rewritten program crashed")
        assert verdicts(case) == {"a": Verdict.EQUAL, "b": Verdict.FAILED}

    def test_difference_before_the_program_became_unstable_is_real(self, compared: Any) -> None:
        found = compared(calls("1", "2", "3"), calls("1", "x", "3"))
        assert one(found, unstable={"a": 2}).verdict is Verdict.DIFFERENT
        assert one(found, unstable={"a": 1}).verdict is Verdict.NONDETERMINISTIC
        assert one(found, unstable={"b": 0}).verdict is Verdict.DIFFERENT
        assert one(found, unstable_rewritten={"a": 0}).verdict is Verdict.NONDETERMINISTIC

    def test_program_that_differs_from_itself_by_luck_not_from_its_rewrite(self, compared: Any) -> None:
        assert one(compared(calls("1"), calls("1")), unstable={"a": 0}).verdict is Verdict.NONDETERMINISTIC

    def test_within_tolerance_needs_a_measurement(self, compared: Any) -> None:
        found = compared(calls("1", "2", "3"), calls("x", "y", "z"))
        assert one(found).verdict is Verdict.DIFFERENT
        small = LeafError(1e-7, 1e-7, 1, within=True, different_elements=1, elements=8)
        errors = {(CallKey(MAIN, "a", number), "output", 0): small for number in (0, 2)}
        evidence = one(found, errors=errors)
        assert evidence.verdict is Verdict.WITHIN
        assert (evidence.differing, evidence.measured, evidence.max_ulp) == (3, 2, 1)
        assert "1 call more that differ in bits were not measured" in evidence.message
        errors[CallKey(MAIN, "a", 1), "output", 0] = LeafError(1.0, 0.5, 1e6, within=False, elements=8)
        assert one(found, errors=errors).verdict is Verdict.DIFFERENT

    def test_site_inside_another_is_as_good_as_that(self, compared: Any) -> None:
        sites = {"a": A, "b": B}
        found = compared(calls("1"), calls("1"))
        assert verdicts(Case(found, sites, 8, traced={"b": [("a",)]})) == {"a": Verdict.EQUAL, "b": Verdict.EQUAL}
        assert verdicts(Case(found, sites, 8, traced={"b": [("a",), ()]}))["b"] is Verdict.NOT_EXERCISED
        assert verdicts(Case(found, sites, 8))["b"] is Verdict.NOT_EXERCISED
        broken = compared(calls("1"), calls("2"))
        assert verdicts(Case(broken, sites, 8, traced={"b": [("a",)]}))["b"] is Verdict.DIFFERENT


class TestKeeping:
    def test_every_beginning_is_spread(self) -> None:
        assert [*spread(5)] == [0, 4, 2, 1, 3]
        assert [*spread(1)] == [0]
        assert [*spread(0)] == []
        assert sorted(spread(100)) == [*range(100)]

    def test_first_call_is_chosen_whatever_its_size_and_others_while_there_is_room(self, compared: Any) -> None:
        found = compared(calls(*"abcdefgh"), calls(*"ABCDEFGH"))
        assert [*choose(found, 1)["a"]] == [0]
        size = leaf_bytes("float32", (8,))
        assert [*choose(found, 6 * size)["a"]] == [0, 7, 3]
        assert sorted(choose(found, 1 << 20)["a"]) == [*range(8)]

    @pytest.mark.parametrize(
        ("dtype", "size"),
        [("float32", 4), ("bfloat16", 2), ("float8_e4m3fn", 1), ("bool", 1), ("int4", 1), ("key<fry>", 16)],
    )
    def test_sizes(self, dtype: str, size: int) -> None:
        assert leaf_bytes(dtype, (3, 2)) == 6 * size


class TestTolerances:
    def test_longest_name_counts(self) -> None:
        tolerances = {"float8": Tolerance(0.1), "float8_e5m2": Tolerance(0.2), "float32": Tolerance(1e-5)}
        assert tolerance_of("float8_e4m3fn", tolerances).rtol == 0.1
        assert tolerance_of("float8_e5m2", tolerances).rtol == 0.2
        assert tolerance_of("int32", tolerances).rtol == 0.0

    def test_python_numbers(self, compared: Any) -> None:
        def call(number: str) -> Write:
            return lambda log: log.call("a", got=number, leaves=[["", "scalar", "float", [], False]])

        (pair,) = compared(call("1.0"), call("1.000001"))["a"].differing
        error = scalar_error(pair.deltas[0], Tolerance(1e-5))
        assert error is not None
        assert error.within
        assert error.absolute == pytest.approx(1e-6)
        (pair,) = compared(call("'a'"), call("'b'"))["a"].differing
        assert scalar_error(pair.deltas[0], Tolerance(1e-5)) is None


class TestHints:
    @pytest.mark.parametrize(
        ("factor", "says"),
        [
            (8.0, "8 times the original's, on 8 devices: summed once too often"),
            (0.125, "1/8 of the original's, on 8 devices: divided once too often"),
            (64.0, "64 times the original's, on 8 devices: summed twice too often"),
            (1 / 64, "1/64 of"),
            (-1.0, "has the other sign"),
            (0.5, "is 0.5 times the original's"),
        ],
    )
    def test_factors(self, factor: float, says: str) -> None:
        assert says in factor_hint("the result", factor, 8)

    def test_nothing_is_said_of_what_is_tolerated(self, compared: Any) -> None:
        (pair,) = compared(calls("1"), calls("2"))["a"].differing
        within = LeafError(1e-7, 1e-7, 1, within=True, factor=8.0)
        assert hint(pair.deltas[0], within, True, 8) == ""

    def test_a_batch_of_other_rows(self) -> None:
        told = Delta("output", "shape", 0, original="float32[8,3,4]", rewritten="float32[32,4]")
        assert "24 rows in the original, 32 rewritten" in hint(told, None, True, 8)
        assert hint(replace(told, original="float32[8,4]", rewritten="float32[3]"), None, True, 8) == "an axis is gone"

    def test_another_precision_is_only_told_where_something_is_computed_in_few_bits(self, compared: Any) -> None:
        (pair,) = compared(calls("1"), calls("2"))["a"].differing
        apart = LeafError(1e-3, 1e-3, 1e4, pattern="like bfloat16")
        step = LeafError(1e-3, 1e-3, 1e4, pattern="like bfloat16", step=True)
        assert "another precision" in hint(pair.deltas[0], apart, True, 8, coarse=True)
        assert hint(pair.deltas[0], apart, True, 8, coarse=False) == ""
        assert hint(pair.deltas[0], step, True, 8, coarse=True) == ""

    @pytest.mark.parametrize(
        ("where", "described", "pattern", "says"),
        [
            ("input", "uint32[8,2]", "first", "every device has device 0's key"),
            ("input", "key<fry>[8]", "permuted", "the devices have each other's keys"),
            (
                "input",
                "float32[8,2]",
                "first",
                "every device gets what the original gives to device 0: look for a P() that should split, or a [0]",
            ),
            ("input", "float32[8,2]", "rows permuted", "the devices get other rows of the batch"),
            ("input", "float32[8,2]", "mean", ""),
            ("output", "float32[8,2]", "coarser", "they passed through a lower precision"),
            ("output", "float32[8,2]", "finer", "a cast was lost"),
            ("output", "float32[8,2]", "mean lost", "a pmean was lost"),
            ("output", "float32[8,2]", "", ""),
        ],
    )
    def test_patterns(self, where: str, described: str, pattern: str, says: str) -> None:
        told = hint(Delta(where, "value", 0, original=described), LeafError(1.0, 1.0, 1.0, pattern=pattern), True, 8)
        assert says in told
        assert bool(told) is bool(says)
        assert where == "output" or "out_specs" not in told

    def test_a_step_of_zero(self) -> None:
        zero = LeafError(1.0, 1.0, 1.0, update_factor=0.0)
        assert "the argument comes back unchanged" in hint(Delta("output", "value", 0), zero, True, 8)

    def test_differing_arguments_are_pointed_at(self, compared: Any) -> None:
        (pair,) = compared(calls("1"), calls("2"))["a"].differing
        wrong = LeafError(1.0, 1.0, 1, pattern="first")
        assert "device 0's value" in hint(pair.deltas[0], wrong, True, 8)
        assert "look at what is computed before it" in hint(pair.deltas[0], wrong, False, 8)


class TestMessages:
    @pytest.mark.parametrize(
        ("stderr", "says"),
        [
            ("Traceback\nValueError: bad axis\n", "status 1: ValueError: bad axis"),
            ("pkg.MyError: odd\n--------------------\nFor simplicity, JAX has removed its frames.", "pkg.MyError: odd"),
            ("f = __jaxmigrate_transform__('x', jax.pmap)\nNameError: unbound axis name: i\n", "unbound axis name: i"),
            ("NameError: name '__jaxmigrate_mapped__' is not defined", "ignores PYTHONPATH"),
            ("no data\n", "status 1: no data"),
            ("", "exited with status 1"),
        ],
    )
    def test_why_a_program_exited(self, tmp_path: Path, stderr: str, says: str) -> None:
        told = describe_run("program", Outcome("exited", 1, "", 1.0), recording(tmp_path), {}, stderr, 60)
        assert told.endswith(says) or says in told.partition("status 1")[2]

    def test_what_a_program_printed_last_is_no_error(self, tmp_path: Path) -> None:
        outcome, record = Outcome("exited", 3, "", 1.0), recording(tmp_path)
        told = describe_run("program", outcome, record, {}, "", 60, "epoch 1\n(Array([0.64]), 1.4)\n")
        assert told.endswith("status 3; the last line that it printed is `(Array([0.64]), 1.4)`")
        told = describe_run("program", outcome, record, {}, "", 60, "epoch 1\nRuntimeError: too small\n")
        assert told.endswith("status 3: RuntimeError: too small")

    def test_a_folder_beside_the_project_is_not_in_its_copy(self, tmp_path: Path) -> None:
        said = "FileNotFoundError: [Errno 2] No such file or directory: '../data/x.npy'\n"
        told = describe_run("program", Outcome("exited", 1, "", 1.0), recording(tmp_path), {}, said, 60)
        assert told.endswith("in a copy of the project, outside of which `..` leads nowhere: verify the folder above")

    @pytest.mark.parametrize(
        ("kind", "signal", "says"),
        [
            ("timeout", "", "the program was stopped after 60 s (--timeout) in call 0 of x.py:1"),
            (
                "signal",
                "SIGSEGV",
                "the program crashed (SIGSEGV), as programs do that use a donated buffer again in call 0",
            ),
            ("signal", "SIGXCPU", "the program was ended by SIGXCPU in call 0 of x.py:1"),
            ("deadlock", "", "the program hung in call 0 of x.py:1: its devices wait for each other"),
        ],
    )
    def test_where_a_program_ended(self, tmp_path: Path, kind: str, signal: str, says: str) -> None:
        log = Log(tmp_path)
        log.values("in", log.enter("a"), "1")
        told = describe_run("program", Outcome(kind, None, signal, 1.0), recording(tmp_path), {"a": A}, "", 60)
        assert told.startswith(says)

    def test_the_call_that_donated_what_is_used_again(self, tmp_path: Path) -> None:
        log = Log(tmp_path)
        log.write(k="made", site="a", name="step", parameters=["state", "x"])
        log.call("a", function="step")
        log.write(k="donated", site="a", f="step", leaves=[["[0][0]['w']", "float32[8,2]"]])
        line = '  File "/tmp/jaxmigrate-1/tree/abc/main.py", line 7, in run\n'
        stderr = f"Traceback\n{line}RuntimeError: Array has been deleted with shape=float32[8,2].\n"
        told = describe_run("program", Outcome("exited", 1, "", 1.0), recording(tmp_path), {"a": A}, stderr, 60)
        assert "(at main.py:7, in run)" in told
        assert told.endswith("; call 0 of x.py:1 donated state['w']"), told

    def test_program_that_ended_between_calls(self, tmp_path: Path) -> None:
        Log(tmp_path).call("a")
        told = describe_run("program", Outcome("timeout", None, "", 1.0), recording(tmp_path), {"a": A}, "", 60)
        assert told.endswith("outside of any mapped call, after call 0 of x.py:1")

    def test_program_that_waits_for_arguments(self, tmp_path: Path) -> None:
        Log(tmp_path).enter("a")
        told = describe_run("program", Outcome("deadlock", None, "", 1.0), recording(tmp_path), {"a": A}, "", 60)
        assert "in call 0 of x.py:1 while it was reading its arguments" in told

    def test_collective_that_xla_names(self, tmp_path: Path) -> None:
        log = Log(tmp_path)
        log.enter("a")
        line = "[id={}] This thread has been waiting for `all reduce RendezvousKey{{x}}` for 4 s. Expected 8 threads to"
        stderr = "\n".join(line.format(number) for number in range(3))
        told = describe_run("program", Outcome("deadlock", None, "", 1.0), recording(tmp_path), {"a": A}, stderr, 60)
        assert told.endswith("its devices wait for each other in an all reduce that only 3 of 8 reach")
        aborted = Outcome("signal", -6, "SIGABRT", 1.0)
        gave_up = stderr + "\nF rendezvous.cc:161] Termination timeout for `all reduce` of 60 seconds exceeded."
        assert "hung" in describe_run("program", aborted, recording(tmp_path), {"a": A}, gave_up, 60)

    def test_tail_of_a_crash_is_its_head(self) -> None:
        text = "noise\n" * 50 + "Fatal Python error: Aborted\n" + "\n".join(map(str, range(100)))
        assert tail(text).startswith("Fatal Python error: Aborted\n0\n1\n")
        assert tail("a\n" * 100, lines=3) == "a\na\na"
