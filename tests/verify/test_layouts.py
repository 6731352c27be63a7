"""Calls whose two sides hold the same numbers in different layouts: told equal where they are, and only there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxmigrate.verify.align import align, named_path
from jaxmigrate.verify.case import Case
from jaxmigrate.verify.child.content import Content, Shape, content, differing_copies
from jaxmigrate.verify.child.log import is_detailed
from jaxmigrate.verify.compare import compare
from jaxmigrate.verify.judge import judge
from jaxmigrate.verify.layouts import Digests, Layout, agrees, explain, layout_of
from jaxmigrate.verify.model import Evidence, SeenLayout, SiteInfo, Verdict, VerifyRequest
from jaxmigrate.verify.recording import Leaf, Signature
from jaxmigrate.verify.run import verify
from jaxmigrate.verify.seen import against_plan
from tests.verify.logs import Log, recording
from tests.verify.marked import PROGRAMS, by_name

DEVICES = 8


def digests(array: Any, original: bool, pieces: int = 1, **known: Any) -> Digests:
    parts = np.split(array, pieces) if pieces > 1 else [array]
    places = pieces if pieces == DEVICES else 0
    found = content(parts, Shape(original, DEVICES, array.shape, places), **known)
    return Digests.parse(found.text())


def agree(original: Any, rewritten: Any, pieces: int = 1) -> bool | None:
    layout = layout_of(original.shape, rewritten.shape)
    if layout is None:
        return None
    return agrees(layout, digests(original, True), digests(rewritten, False, pieces))


NUMBERS = np.random.RandomState(0).randn(DEVICES, 2, 3).astype(np.float32)
LARGE = np.random.RandomState(0).randn(DEVICES, 16, 300).astype(np.float32)


READS = """
import itertools
import jax.numpy as jnp, numpy as np
from jaxmigrate.verify.child.shards import on_host
read = 0
dtypes = ["bool", "int4", "int8", "uint16", "int32", "bfloat16", "float16", "float32"]
for dtype, shape in itertools.product(dtypes, [(), (0, 4), (3, 5), (64, 300)]):
    value = jnp.arange(int(np.prod(shape)), dtype=jnp.float32).reshape(shape).astype(dtype)
    for one in (value, value.T):
        parts = [part if isinstance(part, bytes) else part.tobytes() for part in on_host([one, one])]
        assert parts == [np.asarray(one).tobytes()] * 2, (dtype, shape)
        read += 1
print(read, "read")
"""


class TestDigests:
    """Digests of both sides, without JAX."""

    @pytest.mark.parametrize("array", [NUMBERS, LARGE], ids=["small", "large"])
    @pytest.mark.parametrize("original", [True, False])
    @pytest.mark.parametrize("pieces", [1, DEVICES])
    def test_bytes_are_digested_as_the_arrays_that_hold_them(self, array: Any, original: bool, pieces: int) -> None:
        for one in (array, np.stack([array[0]] * DEVICES)):
            parts = np.split(one, pieces)
            shape = Shape(original, DEVICES, one.shape, pieces if pieces == DEVICES else 0)
            assert content([part.tobytes() for part in parts], shape) == content(parts, shape)

    def test_copies_that_differ_are_told_of_bytes_and_of_arrays(self) -> None:
        wrong = NUMBERS.copy()
        wrong[0, 0, 0] = -wrong[0, 0, 0]
        copies = [NUMBERS, NUMBERS.copy(), wrong]
        assert differing_copies(copies) == differing_copies([copy.tobytes() for copy in copies]) == [2]
        assert differing_copies([np.zeros((0, 2)), np.zeros((0, 2))]) == differing_copies([b"", b""]) == []

    def test_what_a_device_has_is_read_as_its_array(self) -> None:
        child = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True, check=False)
        assert (child.stdout, child.stderr) == ("64 read\n", "")

    @pytest.mark.parametrize("array", [NUMBERS, LARGE], ids=["small", "large"])
    @pytest.mark.parametrize("devices", [DEVICES, 4, 2, 1])
    def test_every_layout_agrees(self, array: Any, devices: int) -> None:
        stacked = array[:devices]
        split = stacked.reshape(-1, *array.shape[2:])
        equal = np.stack([array[0]] * devices)
        assert agree(stacked, stacked)
        assert agree(stacked, stacked, pieces=devices)
        assert agree(stacked, split)
        assert agree(stacked, split, pieces=devices)
        assert agree(equal, array[0])
        assert agree(equal, equal, pieces=devices)

    @pytest.mark.parametrize("array", [NUMBERS, LARGE], ids=["small", "large"])
    @pytest.mark.parametrize("devices", [DEVICES, 4])
    def test_other_numbers_do_not(self, array: Any, devices: int) -> None:
        stacked = array[:devices]
        split = stacked.reshape(-1, *array.shape[2:])
        assert not agree(stacked, stacked[::-1])
        assert not agree(stacked, split[::-1])
        assert not agree(stacked, stacked[0])
        assert not agree(np.stack([array[0]] * devices), array[1])
        assert not agree(np.stack([array[0]] * (devices - 1) + [array[1]]), array[0])

    def test_arrays_with_an_axis_as_long_as_the_devices_are_many(self) -> None:
        weights = LARGE[0, :DEVICES]
        assert agree(np.stack([weights] * DEVICES), weights)
        assert agree(weights, weights)
        assert not agree(np.stack([weights] * DEVICES), weights + 1)

    @pytest.mark.parametrize("array", [np.zeros((DEVICES, 0, 3)), np.zeros((DEVICES, 1), bool), np.zeros(DEVICES)])
    def test_empty_and_scalar_slices(self, array: Any) -> None:
        assert agree(array, array)
        assert agree(array, array[0])
        if array.ndim > 1:
            assert agree(array, array.reshape(-1, *array.shape[2:]))

    def test_shapes_that_cannot_hold_the_same(self) -> None:
        assert agree(NUMBERS, NUMBERS[0, 0]) is None
        assert agree(NUMBERS, NUMBERS.reshape(DEVICES, 6)) is None
        assert layout_of((), ()) is Layout.SAME
        assert layout_of((), (1,)) is None

    def test_merged_axes(self) -> None:
        assert layout_of((8, 16, 2), (256,)) is None
        for shape in ((256,), (8, 32), (32, 8)):
            assert layout_of((8, 16, 2), shape, merged=True) is (Layout.MERGED if shape != (32, 8) else None)
        assert layout_of((8, 6, 5), (8, 2, 3, 5), merged=True) is Layout.MERGED
        assert layout_of((8, 6, 5), (6, 40), merged=True) is Layout.MOVED
        assert layout_of((8, 6, 5), (240, 2), merged=True) is None

    def test_copies_that_differ_never_agree(self) -> None:
        array = NUMBERS[0]
        ours = digests(np.stack([array] * DEVICES), True)
        theirs = digests(array, False, replicas="3,5")
        assert not agrees(Layout.REPLICATED, ours, theirs)
        assert "the copies on devices 3 and 5 differ" in explain(Layout.REPLICATED, ours, theirs)

    def test_the_slice_at_fault_is_named(self) -> None:
        changed = np.stack([NUMBERS[0]] * DEVICES)
        changed[3] += 1
        told = explain(Layout.REPLICATED, digests(changed, True), digests(NUMBERS[0], False))
        assert told == "slice 3 of the original differs from the replicated array"
        wrong = NUMBERS.copy()
        wrong[[1, 6]] += 1
        told = explain(Layout.SAME, digests(NUMBERS, True), digests(wrong, False))
        assert told == "slices 1 and 6 of 8 differ"
        told = explain(Layout.SPLIT, digests(NUMBERS, True), digests(wrong.reshape(-1, 3), False))
        assert told == "blocks 1 and 6 of 8 differ"

    def test_text_of_a_log(self) -> None:
        assert Content("a").text() == "a"
        assert Digests.parse(Content("a", parts="=d").text()) == Digests("a", "", "=d", "")


def signature(*paths: str, shape: tuple[int, ...] = (8, 2), nodes: str = "*") -> Signature:
    return Signature(nodes, tuple(Leaf(path, "array", "float32", shape, False) for path in paths))


class TestLeaves:
    """Which leaf stands for which."""

    def test_arguments_by_keyword_and_by_position(self) -> None:
        ours = signature("[0][0]", "[1]['x']['a']", "[1]['k']", nodes="a")
        theirs = signature("[0][0]", "[0][1]", "[0][2]['a']", nodes="b")
        found = align("input", ours, theirs, ("params", "k", "x"), ("params", "k", "x"))
        assert [(pair.ours, pair.theirs) for pair in found.pairs] == [(0, 0), (1, 2), (2, 1)]

    def test_arguments_without_names_are_taken_in_order(self) -> None:
        found = align("input", signature("[0][0]", "[1]['x']"), signature("[0][0]", "[0][1]"))
        assert [(pair.ours, pair.theirs) for pair in found.pairs] == [(0, 0), (1, 1)]
        assert align("input", signature("[0][0]", "[1]['x']"), signature("[0][0]", "[0][1]", shape=(3,))).structure

    def test_containers_of_results_count(self) -> None:
        assert align("output", signature("[0]", nodes="tuple(*)"), signature("[0]", nodes="list(*)")).structure
        assert align("input", signature("[0]", nodes="tuple(*)"), signature("[0]", nodes="list(*)")).structure is None

    @pytest.mark.parametrize(
        ("path", "name"),
        [("[0][1]['x']", "batch['x']"), ("[0][2]", "[0][2]"), ("[1]['lr']", "lr"), ("[0][0].params", "state.params")],
    )
    def test_names_of_arguments(self, path: str, name: str) -> None:
        assert named_path("input", path, ("state", "batch")) == name


Edit = tuple[str, str]


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Evidence]:
    def run(*edits: Edit, before: Edit | None = None, devices: int = 8) -> Evidence:
        original, rewritten = ((PROGRAMS / f"layouts_{side}.py").read_text() for side in ("before", "after"))
        for right, wrong in edits:
            assert rewritten.count(right) == 1, right
            rewritten = rewritten.replace(right, wrong)
        request = VerifyRequest(
            tmp_path_factory.mktemp("layouts"),
            (sys.executable, "program.py"),
            {"program.py": original.encode()},
            {"program.py": rewritten.encode()},
            (SiteInfo("step", name="step"), SiteInfo("evaluate", name="evaluate")),
            devices=devices,
        )
        return verify(request)

    return run


def test_global_arrays_are_bitwise_equal(migrated: Callable[..., Evidence]) -> None:
    evidence = migrated()
    assert (evidence.verdict, len(evidence.runs)) == (Verdict.EQUAL, 2), evidence.message
    assert {site.calls for site in evidence.sites} == {3}
    seen = {
        name: [(one.name, one.layout) for one in (*site.arguments, *site.results)]
        for name, site in by_name(evidence).items()
    }
    assert seen == {
        "step": [
            ("state", "replicated"),
            ("batch", "split"),
            ("key", "stacked"),
            ("scale", "broadcast"),
            ("[0]", "replicated"),
            ("[1]['loss']", "replicated"),
            ("[1]['own']", "stacked"),
            ("[1]['row']", "split"),
            ("[2]", "stacked"),
        ],
        "evaluate": [("params", "replicated"), ("x", "split"), ("[0]", "split"), ("[1]", "replicated")],
    }


def test_on_one_device_replicated_and_split_are_the_same(migrated: Callable[..., Evidence]) -> None:
    evidence = migrated(devices=1)
    assert evidence.verdict is Verdict.EQUAL, evidence.message
    arguments = {one.name: one.layout for site in evidence.sites for one in site.arguments}
    assert arguments["state"] == arguments["batch"] == "replicated or split"


def test_what_was_planned_and_did_not_come_is_said() -> None:
    seen = [
        SeenLayout("state", "replicated", 3, "0"),
        SeenLayout("batch['x']", "stacked", 1, "1"),
        SeenLayout("rate", "broadcast", 1, "2"),
        SeenLayout("mask", "replicated or split", 1, "3"),
    ]
    planned = (("state", "replicated"), ("1", "split"), ("batch", "split"), ("2", "replicated"), ("mask", "split"))
    site = SiteInfo("a", "x.py", 3, arguments=planned, outputs=(("[0]", "stacked"),))
    assert [*against_plan(site, seen, [])] == [
        "x.py:3: argument 1 is planned to be split, but was stacked in the run",
        "x.py:3: argument batch is planned to be split, but was stacked in the run",
    ]


def test_later_calls_are_recorded_in_ever_fewer_details() -> None:
    detailed = [call for call in range(100_000) if is_detailed(call, 1 << 12)]
    assert detailed[:64] == [*range(64)]
    assert detailed[64:66] == [64, 66]
    assert len(detailed) < 64 + 12 * 32


def test_calls_without_details_are_not_called_equal(tmp_path: Path) -> None:
    both = []
    for side, shape in (("original", [8, 2]), ("rewritten", [2])):
        log = Log(tmp_path / side)
        for number in range(2):
            order = log.enter("a")
            leaf = {"leaves": "w\t\t=x" if side == "original" else "x"} if not number else {}
            signature = log.signature([["", "array", "float32", shape, False]], "*")
            log.write(k="out", n=order, sig=signature, digest=f"{side} {number}", s=0.0, **leaf)
        both.append(recording(tmp_path / side))
    (evidence,) = judge(Case(compare(both[0], both[1]), {"a": SiteInfo("a")}, 8))
    assert (evidence.verdict, evidence.calls, evidence.unrecorded) == (Verdict.EQUAL, 1, 1)
    assert evidence.message == "1 call of 2 bitwise equal"
    assert [one.layout for one in evidence.results] == ["replicated"]


def test_lost_reductions_are_found_where_they_are(migrated: Callable[..., Evidence]) -> None:
    evidence = migrated(
        ('lax.pmean(loss, "batch") * scale', "loss * scale"), ("lax.psum(x.sum(), ", "lax.pmean(x.sum(), ")
    )
    assert [run.outcome for run in evidence.runs] == ["finished"] * 3, evidence.message
    sites = by_name(evidence)
    (first,) = (one for one in sites["step"].differences if one.call == 0)
    assert (first.kind, first.leaf, first.layout) == ("replicas", "[1]['loss']", "replicated")
    assert "the copies on devices 1, 2, 3, 4, 5, 6 and 7 differ from the first one" in first.message
    assert "declared replicated (`P()` in out_specs under check_vma=False)" in first.hint
    other = sites["evaluate"].first
    assert other is not None
    assert other.error is not None
    assert (other.leaf, other.error.factor, other.inputs_equal) == ("[1]", 1 / 8, True)


def test_permuted_batch_is_found_in_the_arguments(migrated: Callable[..., Evidence]) -> None:
    reverse = "jax.tree.map(lambda x: jax.make_array_from_process_local_data(split, x[::-1]), batch)"
    evidence = migrated(
        ("jax.tree.map(functools.partial(jax.make_array_from_process_local_data, split), batch)", reverse)
    )
    first = by_name(evidence)["step"].first
    assert first is not None
    assert (first.where, first.leaf, first.layout) == ("input", "batch['x']", "split")
    assert "the rows are the original's in another order" in first.hint


def test_leftover_replicate_and_lost_squeeze_show_in_the_shapes(migrated: Callable[..., Evidence]) -> None:
    replicated = 'p_evaluate(jax.tree.map(lambda p: jnp.stack([p] * 8), state["params"]), '
    evidence = migrated(
        ('p_evaluate(state["params"], ', replicated), ('"own": loss[None],', '"own": loss[None, None],')
    )
    found = {name: site.first for name, site in by_name(evidence).items()}
    assert found["evaluate"] is not None
    assert found["step"] is not None
    assert (found["evaluate"].kind, found["evaluate"].leaf) == ("shape", "[0]")
    assert (found["step"].kind, found["step"].leaf) == ("shape", "[1]['own']")
    assert "there is one more axis" in found["step"].hint
    seen = {one.name: one.layout for one in by_name(evidence)["evaluate"].arguments}
    assert seen["params"] == "stacked"


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_layouts_agree_if_and_only_if_all_bytes_do(data: st.DataObject) -> None:
    """Any stacked array against any way to hold it, exactly or with one byte changed."""
    devices = data.draw(st.sampled_from([1, 2, 4, 8]), "devices")
    rows = data.draw(st.sampled_from([devices, 1, 2, 8]), "rows of the mapped axis")
    inner = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 8, 1100]), max_size=2), "inner shape"))
    equal = data.draw(st.booleans(), "equal slices")
    dtype = data.draw(st.sampled_from(["uint8", "float32", "int16"]), "dtype")
    size = int(np.prod(inner, dtype=int))
    block = np.arange(size, dtype="uint32").astype(dtype).reshape(inner)
    original = np.stack([block if equal else (block + number).astype(dtype) for number in range(rows)])
    rewritten = data.draw(st.sampled_from([original, original.reshape(-1, *inner[1:]), original[0]]), "held")
    rewritten = np.array(rewritten)
    layout = layout_of(original.shape, rewritten.shape)
    assert layout is not None
    expected = np.broadcast_to(rewritten, original.shape) if layout is Layout.REPLICATED else rewritten
    if data.draw(st.booleans(), "changed"):
        rewritten.reshape(-1).view("uint8")[data.draw(st.integers(0, rewritten.nbytes - 1), "byte")] ^= 1
    same = original.tobytes() == np.ascontiguousarray(expected).tobytes()
    pieces = data.draw(st.sampled_from([1, devices]), "pieces") if rewritten.shape[:1] == (devices,) else 1
    contents = [
        content([original], Shape(True, devices, original.shape)),
        content(
            np.split(rewritten, pieces) if pieces > 1 else [rewritten],
            Shape(False, devices, rewritten.shape, pieces if pieces == devices else 0),
        ),
    ]
    ours, theirs = (Digests.parse(one.text()) for one in contents)
    held_in_pieces = pieces > 1 and layout is Layout.REPLICATED
    if not held_in_pieces:  # an array in as many pieces as there are devices is no replicated one
        assert agrees(layout, ours, theirs) == same


@pytest.mark.parametrize("size", [2, 300])
def test_copies_along_one_axis_of_a_mesh_agree_in_the_order_of_the_devices(size: int) -> None:
    blocks = np.random.RandomState(0).randn(4, 16, size).astype(np.float32)
    original = digests(np.concatenate([blocks, blocks]), True)
    for whole in (blocks, blocks.reshape(64, size)):
        layout = layout_of((8, 16, size), whole.shape, merged=True)
        assert layout is Layout.PARTLY
        part = (whole.shape[0] // 4, *whole.shape[1:])
        for order, right in (
            ([0, 1, 2, 3] * 2, True),
            ([0, 0, 1, 1, 2, 2, 3, 3], False),
            ([0, 1, 2, 3, 1, 0, 2, 3], False),
        ):
            held = [blocks[number].reshape(part) for number in order]
            stacked = content(held, Shape(False, DEVICES, (8, *part), 8)).whole
            assert agrees(layout, original, digests(whole, False)._replace(stacked=stacked)) is right
        assert not agrees(layout, original, digests(whole, False))
    assert layout_of((8, 16, size), (3, 16, size), merged=True) is None
    assert layout_of((8, 16, size), (4, 16, size)) is None
