"""Each flag by example, and what no flag may do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.inference.quality.flags import (
    FLAGS,
    FlagInput,
    Limits,
    compute_flags,
    is_copy,
    is_number_mismatch,
    is_repetition,
    length_ratio,
    numbers,
)

GOOD = FlagInput("A man is riding a bicycle.", "Ein Mann fährt auf einem Fahrrad.", False, (1, 1), -0.3)


def test_a_good_output_has_no_flag() -> None:
    assert compute_flags(GOOD, Limits(mean_log_p=-1.2)) == ()


@pytest.mark.parametrize(
    ("change", "flag"),
    [
        ({"truncated": True}, "truncated"),
        ({"repeats": (1, 3)}, "repetition"),
        ({"output": "A man is riding a bicycle."}, "copied"),
        ({"output": "Ein Mann " * 20}, "too_long"),
        ({"output": ""}, "too_short"),
        ({"source": "A man is riding a bicycle. " * 5}, "too_short"),
        ({"mean_log_p": -1.3}, "low_confidence"),
        ({"source": "A man of 45.", "output": "Ein Mann von 54."}, "number_mismatch"),
        ({"source": "Hi {name}, a man.", "output": "Hallo, ein Mann."}, "placeholder_mismatch"),
        ({"source": "It is %s <b>big</b>.", "output": "Es ist %s %s <b>groß</b>."}, "placeholder_mismatch"),
        ({"source": "A man.", "output": "Ein {name} Mann."}, "placeholder_mismatch"),
    ],
)
def test_each_flag_has_its_sign(change: dict[str, object], flag: str) -> None:
    seen = GOOD._replace(**change)
    assert compute_flags(seen, Limits(mean_log_p=-1.2)) == (flag,)
    assert compute_flags(seen, Limits(mean_log_p=-1.2, muted=frozenset([flag]))) == ()


def test_several_flags_stand_in_order() -> None:
    seen = FlagInput("Room 101.", "zimmer " * 30, True, (1, 30), -9.0)
    assert compute_flags(seen, Limits(mean_log_p=-1.2)) == (
        "truncated",
        "repetition",
        "too_long",
        "low_confidence",
        "number_mismatch",
    )


def test_a_model_without_a_calibration_is_never_of_low_confidence() -> None:
    assert compute_flags(GOOD._replace(mean_log_p=-99.0), Limits()) == ()


def test_a_loop_of_the_source_may_be_in_the_output() -> None:
    assert is_repetition(2, 3)
    assert not is_repetition(3, 3)
    assert not is_repetition(1, 2)


@pytest.mark.parametrize(
    ("source", "output", "copied"),
    [
        ("Tom, Mary and John.", "Tom, Mary und John.", False),
        ("Tom.", "Tom.", False),
        ("The dog sleeps here today.", "the DOG sleeps here, today", True),
        ("The dog sleeps here today.", "The dog sleeps hier heute.", False),
        ("彼は毎日この川の岸辺を犬と一緒に歩いている", "彼は毎日この川の岸辺を犬と一緒に歩いている", True),
        ("彼は毎日この川の岸辺を犬と一緒に歩いている", "他每天和狗一起在这条河边散步", False),
        ("https://example.com", "https://example.com", False),
    ],
)
def test_copies_are_told_from_names(source: str, output: str, copied: bool) -> None:
    assert is_copy(source, output) is copied


@pytest.mark.parametrize(
    ("source", "output", "differ"),
    [
        ("It costs 1,000.50 dollars.", "Es kostet 1.000,50 Dollar.", False),
        ("Two men and 3 dogs.", "2 Männer und drei Hunde.", True),  # 2 for 3, as far as digits tell
        ("3 dogs.", "Drei Hunde.", False),
        ("three dogs.", "3 Hunde.", False),
        ("In 1990 there were 12.", "1990 waren es 12.", False),
        ("In 1990.", "In jenem Jahr.", True),
        ("In that year.", "Im Jahr 1990.", True),
        ("10 or 20", "20 oder 10", False),
        ("10 and 10", "10", False),
        ("١٢٣ كتب", "123 books", False),
        ("1 234", "1 234", False),
    ],
)
def test_numbers_must_agree_where_digits_can_tell(source: str, output: str, differ: bool) -> None:
    assert is_number_mismatch(source, output) is differ


@given(st.text(), st.text())
def test_number_mismatch_knows_no_direction_and_no_text_disagrees_with_itself(a: str, b: str) -> None:
    assert is_number_mismatch(a, b) == is_number_mismatch(b, a)
    assert not is_number_mismatch(a, a)
    assert all(number.isascii() and number.isdigit() for number in numbers(a))


@given(st.text(), st.text(), st.booleans(), st.tuples(st.integers(1, 9), st.integers(1, 9)), st.floats(-9, 0))
def test_any_text_gets_known_flags_in_order(
    source: str, output: str, truncated: bool, repeats: tuple[int, int], log_p: float
) -> None:
    found = compute_flags(FlagInput(source, output, truncated, repeats, log_p), Limits(mean_log_p=-1))
    assert list(found) == [flag for flag in FLAGS if flag in found]
    assert ("truncated" in found) == truncated
    assert not {"too_long", "too_short"} <= set(found)


@given(st.text(min_size=1), st.text(min_size=1))
def test_the_ratio_of_lengths_turns_around(a: str, b: str) -> None:
    assert length_ratio(a, b) * length_ratio(b, a) == pytest.approx(1)
