"""Numbers against numbers: how far apart, where, whether that is tolerable, and what the difference looks like."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from jaxmigrate.verify.child.errors import Beside, compare, compare_files, load


def errors(a: Any, b: Any, rtol: float = 1e-5, atol: float = 0.0, devices: int = 8) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        return compare(np.asarray(a), np.asarray(b), rtol, atol, devices)


def f32(*numbers: float) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.float32)


def test_largest_error_and_where() -> None:
    found = errors(f32(1, 2, 3, 4).reshape(2, 2), f32(1, 2, 3.5, 4).reshape(2, 2))
    assert (found["absolute"], found["index"], found["different_elements"]) == (0.5, [1, 0], 1)
    assert (found["original"], found["rewritten"]) == ("3.0", "3.5")
    assert found["relative"] == pytest.approx(0.5 / 3.5)
    assert not found["within"]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_neighbouring_numbers_are_one_ulp_apart(dtype: Any) -> None:
    # Through zero: the smallest negative number, zero, and the smallest positive one.
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    sign = 1 << (8 * np.dtype(dtype).itemsize - 1)
    negative, zero, positive, one = (np.array([code], bits).view(dtype) for code in (sign + 1, 0, 1, 2))
    assert errors(zero, positive)["ulp"] == errors(positive, one)["ulp"] == 1
    assert errors(negative, positive)["ulp"] == 2


def test_complex_numbers_are_compared_by_component() -> None:
    a = np.array([1 + 1j, 2], np.complex64)
    b = np.array([1 + 1j, np.nextafter(f32(2)[0], f32(3)[0])], np.complex64)
    found = errors(a, b)
    assert (found["ulp"], found["index"], found["within"]) == (1, [1], True)


def test_nan_where_a_number_was() -> None:
    found = errors(f32(1, np.nan, 3), f32(1, np.nan, np.nan))
    assert found["nan_mismatch"]
    assert (found["nan_original"], found["nan_rewritten"], found["index"]) == (1, 2, [2])
    assert not found["within"]


def test_nan_payloads_and_signs_of_zero_are_equal_numbers() -> None:
    a = np.array([0x7FC00000, 0x80000000], np.uint32).view(np.float32)
    b = np.array([0x7FC00001, 0x00000000], np.uint32).view(np.float32)
    found = errors(a, b)
    assert found["within"]
    assert found["different_elements"] == 0


def test_infinity_is_not_a_large_number() -> None:
    assert not errors(f32(1e38, 1), f32(np.inf, 1))["within"]
    assert errors(f32(np.inf, 1), f32(np.inf, 1.000001))["within"]
    assert not errors(f32(np.inf), f32(-np.inf))["within"]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, bool])
def test_integers_must_be_equal(dtype: Any) -> None:
    found = errors(np.array([1, 0], dtype), np.array([1, 1], dtype), rtol=1.0)
    assert not found["within"]
    assert found["different_elements"] == 1


def test_large_integers_keep_their_digits() -> None:
    assert errors(np.array([2**62]), np.array([2**62 + 1]))["absolute"] == 1


def test_tolerance_does_not_depend_on_scale() -> None:
    a = np.random.RandomState(0).randn(100).astype(np.float32)
    for scale in (1e-20, 1.0, 1e20):
        assert errors(a * np.float32(scale), a * np.float32(scale * (1 + 2e-6)))["within"]
        assert not errors(a * np.float32(scale), a * np.float32(scale * (1 + 2e-4)))["within"]


def test_one_huge_number_does_not_excuse_the_others() -> None:
    a = f32(*([1.0] * 9), -1e9)
    b = a.copy()
    b[0] = 1.5
    assert not errors(a, b)["within"]


def test_rounding_near_zero_is_tolerated_in_a_leaf_of_larger_numbers() -> None:
    assert errors(f32(1, 2, 1e-9), f32(1, 2, 3e-9))["within"]
    assert not errors(f32(1e-9), f32(3e-9))["within"]


@pytest.mark.parametrize(("factor", "known"), [(8, 8.0), (1 / 8, 0.125), (64, 64.0), (-1, -1.0), (3, 3.0)])
def test_constant_factor(factor: float, known: float) -> None:
    a = np.random.RandomState(1).randn(8, 5).astype(np.float32)
    assert errors(a, a * np.float32(factor))["factor"] == pytest.approx(known)


def test_factor_needs_more_than_one_number_unless_it_is_a_known_one() -> None:
    assert errors(f32(2, 2), f32(5, 5))["factor"] is None
    assert errors(f32(2, 2), f32(16, 16))["factor"] == 8.0
    assert errors(f32(1, 2, 3), f32(8, 16, 25))["factor"] is None


def stack(rows: int = 8) -> np.ndarray[Any, Any]:
    return np.random.RandomState(2).randn(rows, 3).astype(np.float32)


@pytest.mark.parametrize(
    ("pattern", "original", "rewritten"),
    [
        ("first", stack(), np.broadcast_to(stack()[:1], (8, 3))),
        ("mean", stack(), np.broadcast_to(stack().mean(0), (8, 3))),
        ("sum", stack(), np.broadcast_to(stack().sum(0), (8, 3))),
        ("mean lost", np.broadcast_to(stack().mean(0), (8, 3)), stack()),
        ("sum lost", np.broadcast_to(stack().sum(0), (8, 3)), stack()),
        ("permuted", stack(), stack()[::-1]),
        ("", np.ones((8, 3), np.float32), np.zeros((8, 3), np.float32)),
        ("", np.ones((8, 3), np.float32), stack()),
        ("finer", np.float32(stack().astype(ml_dtypes.bfloat16)), stack()),
        ("coarser", stack(), np.float32(stack().astype(ml_dtypes.bfloat16))),
        ("", stack(), stack() + stack()[::-1]),
    ],
)
def test_patterns_along_the_mapped_axis(pattern: str, original: Any, rewritten: Any) -> None:
    assert errors(original, np.ascontiguousarray(rewritten))["pattern"] == pattern


def test_step_that_is_too_large(tmp_path: Path) -> None:
    before = np.random.RandomState(3).randn(8, 20).astype(np.float32)
    step = np.float32(1e-3) * np.random.RandomState(4).randn(8, 20).astype(np.float32)
    stored = {}
    for name, array in (("before", before), ("original", before - step), ("rewritten", before - 8 * step)):
        array.tofile(tmp_path / name)
        stored[name] = (str(tmp_path / name), 0, array.nbytes)
    pair = {
        **stored,
        "original_dtype": "float32",
        "rewritten_dtype": "float32",
        "shape": [8, 20],
        "rewritten_shape": [8, 20],
        "layout": "same",
        "rtol": 1e-5,
        "atol": 0,
    }
    assert compare_files(pair, 8)["update_factor"] == 8.0
    assert compare_files(pair, 4)["update_factor"] is None


def test_other_dtype_is_compared_by_value() -> None:
    found = errors(f32(1, 1.001), f32(1, 1.001).astype(ml_dtypes.bfloat16), rtol=1e-2)
    assert found["within"]
    assert found["absolute"] > 0


def test_keys_and_flat_parts_are_read(tmp_path: Path) -> None:
    np.arange(12, dtype=np.uint32).tofile(tmp_path / "arrays")
    stored = (str(tmp_path / "arrays"), 8, 32)
    assert load(stored, "key<fry>", [4]).tolist() == [[2, 3], [4, 5], [6, 7], [8, 9]]
    assert load(stored, "uint32", [16]).shape == (8,)


def test_empty_arrays() -> None:
    found = errors(np.zeros((8, 0), np.float32), np.zeros((8, 0), np.float32))
    assert found["within"]
    assert found["index"] == []


FLOATS = st_numpy.arrays(np.float32, st_numpy.array_shapes(max_dims=3, max_side=4), elements=st.floats(width=32))


@settings(deadline=None, max_examples=150)
@given(FLOATS)
def test_nothing_differs_from_itself(a: Any) -> None:
    found = errors(a, a.copy())
    assert found["within"]
    assert (found["absolute"], found["ulp"], found["different_elements"], found["pattern"]) == (0, 0, 0, "")


@settings(deadline=None, max_examples=150)
@given(FLOATS, st.data())
def test_a_changed_number_is_found_where_it_is(a: Any, data: Any) -> None:
    position = data.draw(st.integers(0, a.size - 1))
    b = a.copy()
    b.reshape(-1)[position] = data.draw(st.floats(width=32).filter(lambda x: x != a.reshape(-1)[position]))
    if math.isnan(a.reshape(-1)[position]) and math.isnan(b.reshape(-1)[position]):
        return
    found = errors(a, b)
    assert found["different_elements"] == 1
    assert tuple(found["index"]) == np.unravel_index(position, a.shape)


def test_a_step_in_another_precision_is_measured_from_its_own_argument(tmp_path: Path) -> None:
    """The argument that a float32 result replaces is float32 too, whatever the original's is."""
    before, after = np.linspace(1, 2, 12), np.linspace(1, 2, 12) - 0.125
    files: dict[str, np.ndarray[Any, Any]] = {
        "original": np.stack([after] * 2),
        "before": np.stack([before] * 2),
        "rewritten": after.astype(np.float32),
        "rewritten_before": before.astype(np.float32),
    }
    for name, array in files.items():
        (tmp_path / name).write_bytes(array.tobytes())
    pair = {
        **{name: (str(tmp_path / name), 0, array.nbytes) for name, array in files.items()},
        "original_dtype": "float64",
        "rewritten_dtype": "float32",
        "shape": [2, 12],
        "rewritten_shape": [12],
        "rewritten_before_shape": [12],
        "layout": "replicated",
        "before_layout": "replicated",
        "rtol": 1e-12,
        "atol": 0.0,
    }
    found = compare_files(pair, 2)
    assert not found["within"]
    assert found["update_factor"] is None  # the step is as long, to float32's last places
    assert found["absolute"] < 1e-7


def test_a_reduction_may_have_moved_to_the_other_side_of_the_call() -> None:
    each = np.random.RandomState(0).randn(8, 3).astype(np.float32)
    mean, total = (np.broadcast_to(reduced, each.shape) for reduced in (each.mean(0), each.sum(0)))
    for reduced, name in ((mean, "mean"), (total, "sum")):
        assert errors(reduced, each)["reduced"] == name
        assert errors(each, reduced)["reduced"] == f"{name} inside"
    assert errors(each, 2 * mean)["reduced"] == ""
    assert errors(each, each[:1] + 0 * each)["reduced"] == ""


@pytest.mark.parametrize(("places", "within"), [(3, True), (16, False)])
def test_some_last_places_of_what_a_step_ends_in_are_rounding(places: int, within: bool) -> None:
    """A step whose own rounding does not show where arguments move by one, as that of a normalised gradient."""
    before = np.linspace(0.6, 0.72, 40)
    after = before - 0.01
    other = after + np.resize([places, -places], 40) * np.spacing(after)
    beside = Beside(before, before, after, before)
    assert compare(after, other, 1e-12, 0.0, 8, beside)["within"] is within


@pytest.mark.parametrize("places", [0.5, 1, 3])
def test_how_much_is_used_of_what_rounding_allows(places: float) -> None:
    before = np.linspace(0.6, 0.72, 40)
    after = before - 0.01
    beside = Beside(before, before, after, before)
    used = compare(after, after + np.resize([places, -places], 40) * 2.0**-52, 1e-12, 0.0, 8, beside)["used"]
    assert used == pytest.approx(places / (4 * 0.72), rel=0.25)
    assert compare(after, after.copy(), 1e-12, 0.0, 8, beside)["used"] == 0
