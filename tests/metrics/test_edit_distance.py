"""Edit distance is a metric, and the alignment replays its edits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.metrics.edit_distance import Costs, align, distances, edit_distance

COSTS = [Costs(), Costs(1, 1, 2), Costs(2, 3, 4)]
texts = st.lists(st.sampled_from("abc"), max_size=8)


@pytest.mark.parametrize(
    ("wanted", "output", "costs", "cost"),
    [
        ("kitten", "sitting", Costs(), 3),
        ("kitten", "sitting", Costs(1, 1, 2), 5),
        ("intention", "execution", Costs(), 5),  # Jurafsky & Martin, Speech and Language Processing
        ("intention", "execution", Costs(1, 1, 2), 8),
        ("", "abc", Costs(2, 1, 1), 6),
        ("abc", "", Costs(1, 3, 1), 9),
        ("same", "same", Costs(), 0),
    ],
)
def test_known_distances(wanted: str, output: str, costs: Costs, cost: int) -> None:
    assert edit_distance(wanted, output, costs) == distances(wanted, output, costs)[-1][-1] == cost


@pytest.mark.parametrize("costs", COSTS)
@given(wanted=texts, output=texts)
def test_the_fast_distance_is_the_definition(costs: Costs, wanted: list[str], output: list[str]) -> None:
    assert edit_distance(wanted, output, costs) == distances(wanted, output, costs)[-1][-1]


@pytest.mark.parametrize("costs", COSTS)
@given(wanted=texts, output=texts)
def test_the_alignment_replays_the_edits_at_their_cost(
    costs: Costs, wanted: list[str], output: list[str]
) -> None:
    edits = align(wanted, output, costs)
    assert [edit.wanted for edit in edits if edit.kind != "I"] == wanted
    assert [edit.output for edit in edits if edit.kind != "D"] == output
    assert all((edit.wanted == edit.output) == (edit.kind == "=") for edit in edits)
    price = {"=": 0, "S": costs.substitution, "D": costs.deletion, "I": costs.insertion}
    assert sum(price[edit.kind] for edit in edits) == edit_distance(wanted, output, costs)


@pytest.mark.parametrize("costs", [Costs(), Costs(1, 1, 2)])
@given(a=texts, b=texts, c=texts)
def test_it_is_symmetric_and_a_detour_is_not_shorter(
    costs: Costs, a: list[str], b: list[str], c: list[str]
) -> None:
    assert edit_distance(a, b, costs) == edit_distance(b, a, costs)
    assert (edit_distance(a, b, costs) == 0) == (a == b)
    assert edit_distance(a, c, costs) <= edit_distance(a, b, costs) + edit_distance(b, c, costs)
