"""Several models as one stepper."""

from __future__ import annotations

import pytest
import torch

from dragoman.search.beam import BeamSearch
from dragoman.search.ensemble import Average, Ensemble, mean_of_log_p, mean_of_p
from dragoman.search.greedy import greedy_search
from support.steppers import Looking, Prefixes, Script, Table, sentences

ONE, OTHER = [0.0, 0.0, 0.0, 0.1, 0.8, 0.1], [0.0, 0.0, 0.0, 0.4, 0.2, 0.4]


def averaged(average: Average) -> list[float]:
    ensemble = Ensemble([Script(ONE), Script(OTHER)], average)
    step = ensemble.step(torch.tensor([2]), ensemble.start(*sentences(1), 1))
    found: list[float] = step.log_p[0].exp().tolist()
    return found


def test_averages_by_hand() -> None:
    assert averaged(mean_of_p)[3:] == pytest.approx([0.25, 0.5, 0.25])
    assert averaged(mean_of_log_p)[3:] == pytest.approx([0.2 / 0.8, 0.4 / 0.8, 0.2 / 0.8])


def test_one_model_twice_is_that_model() -> None:
    stepper, batch = Prefixes(seed=3), sentences(1, 2, 3)
    alone = BeamSearch(size=3, max_length=6)(stepper, *batch)
    for average in (mean_of_p, mean_of_log_p):
        twice = BeamSearch(size=3, max_length=6)(Ensemble([stepper, stepper], average), *batch)
        assert [[h.tokens for h in row] for row in twice] == [[h.tokens for h in row] for row in alone]
        assert twice[0][0].score == pytest.approx(alone[0][0].score, abs=1e-5)


def test_the_states_of_all_models_are_reordered() -> None:
    """A beam over two models with memory equals a beam over the model that averages their tables."""
    one, other = Table(seed=1), Table(seed=2)
    both = Table(seed=1)
    both.table = torch.logaddexp(one.table, other.table) - torch.tensor(2.0).log()
    batch = sentences(*range(40))
    found = BeamSearch(size=4, max_length=8, stop="all")(Ensemble([one, other], mean_of_p), *batch)
    want = BeamSearch(size=4, max_length=8, stop="all")(both, *batch)
    assert [[h.tokens for h in row] for row in found] == [[h.tokens for h in row] for row in want]
    greedy = greedy_search(Ensemble([one, other], mean_of_p), *batch, max_length=8)
    assert [row[0].tokens for row in greedy] == [
        row[0].tokens for row in greedy_search(both, *batch, max_length=8)
    ]


def test_attention_is_averaged_where_all_have_it() -> None:
    src, keep = torch.tensor([[3, 4], [5, 6]]), torch.ones(2, 2, dtype=torch.bool)
    looking = Looking(Table())
    step = looking.step(torch.tensor([4, 5]), looking.start(src, keep, 1))
    both = Ensemble([looking, looking], mean_of_p)
    found = both.step(torch.tensor([4, 5]), both.start(src, keep, 1))
    assert found.attention is not None
    assert torch.equal(found.attention, step.attention)
    mixed = Ensemble([looking, Table()], mean_of_p)
    assert mixed.step(torch.tensor([4, 5]), mixed.start(src, keep, 1)).attention is None
