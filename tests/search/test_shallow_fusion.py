"""A language model in the search of another model: the sum of both, step by step and over all outputs."""

from __future__ import annotations

import pytest
import torch

from dragoman.protocols import Stepper
from dragoman.search.beam import BeamSearch
from dragoman.search.forced import forced
from dragoman.search.prefix_scorer import PrefixScorer
from dragoman.search.shallow_fusion import ShallowFusion
from support.exhaustive import exhaustive_search
from support.steppers import Prefixes, Table, sentences


def test_fused_beam_search_finds_what_exhaustive_search_finds() -> None:
    for seed in range(20):
        fused = ShallowFusion(Table(vocabulary=6, seed=seed), Prefixes(vocabulary=6, seed=seed + 1), 0.3)
        assert isinstance(fused, Stepper)
        batch = sentences(1, 2, 3, 4)
        every = exhaustive_search(fused, *batch, max_length=4)
        beam = BeamSearch(size=3**4, max_length=4, stop="all")(fused, *batch)
        for mine, all_ in zip(beam, every, strict=True):
            assert mine[0].score == pytest.approx(all_[0].score, abs=1e-5)


def test_the_score_is_the_sum_of_both_models() -> None:
    model, lm = Table(vocabulary=6, seed=1), Prefixes(vocabulary=6, seed=2)
    batch = sentences(1, 2)
    outputs = [[4, 5, 3], [5, 5, 3]]
    mine, theirs = (forced(stepper, *batch, outputs).log_p for stepper in (model, lm))
    fused = forced(ShallowFusion(model, lm, 0.3), *batch, outputs).log_p
    assert torch.allclose(fused, mine + 0.3 * theirs, atol=1e-6)


def test_no_weight_no_difference() -> None:
    model, batch = Table(vocabulary=6, seed=1), sentences(1, 2, 3, 4)
    search = BeamSearch(size=4, max_length=5)
    alone = search(model, *batch)
    fused = search(ShallowFusion(model, Prefixes(vocabulary=6, seed=2), 0.0), *batch)
    assert [[h.tokens for h in row] for row in alone] == [[h.tokens for h in row] for row in fused]


def test_prefixes_are_scored_in_any_order() -> None:
    lm = Prefixes(vocabulary=6, seed=3)
    scorer = PrefixScorer(lm)
    for prefix in [(4, 5, 5), (), (4,), (5, 4), (4, 5, 5, 4), (4, 5)]:
        expected = lm.log_p(0, (2, *prefix))
        assert torch.allclose(torch.from_numpy(scorer(prefix)).float(), expected, atol=1e-6)


def test_a_long_prefix_needs_no_recursion() -> None:
    assert len(PrefixScorer(Prefixes(vocabulary=6, seed=3))((4,) * 1500)) == 6
