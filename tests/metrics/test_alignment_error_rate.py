"""The alignment error rate by hand numbers."""

from __future__ import annotations

import pytest

from dragoman.errors import DataError
from dragoman.metrics.alignment_error_rate import GoldAlignment, alignment_score, read_gold

GOLD = read_gold("1-1 2-2 3p2 4-3")


def test_gold_links_are_sure_or_possible() -> None:
    assert GOLD.sure == {(0, 0), (1, 1), (3, 2)}
    assert GOLD.possible == GOLD.sure | {(2, 1)}
    assert read_gold("") == GoldAlignment(frozenset(), frozenset())


def test_the_error_rate_by_hand() -> None:
    found = alignment_score([[(0, 0), (2, 1), (3, 3), (1, 1)]], [GOLD])
    assert found.precision == pytest.approx(75)  # 3 of 4 are possible
    assert found.recall == pytest.approx(100 * 2 / 3)
    assert found.aer == pytest.approx(100 * (1 - (2 + 3) / (4 + 3)))


def test_possible_links_are_no_error_and_need_not_be_found() -> None:
    assert alignment_score([GOLD.possible], [GOLD]).aer == 0
    assert alignment_score([GOLD.sure], [GOLD]).aer == 0


def test_sentences_are_summed_before_they_are_divided() -> None:
    found = alignment_score([[(0, 0)], []], [GOLD, read_gold("1-1")])
    assert (found.links, found.sure) == (1, 4)
    assert found.aer == pytest.approx(100 * (1 - 2 / 5))
    assert alignment_score([[]], [read_gold("")]).aer == 100


@pytest.mark.parametrize("line", ["1-2 x", "0-1", "1–2", "1-2-3", "1-²"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(DataError, match="is not a link between two words"):
        read_gold(line)
