"""Beam search against exhaustive search, greedy search and forced decoding, on a thousand random models."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from dragoman.search.beam import BeamSearch
from dragoman.search.forced import forced
from dragoman.search.greedy import greedy_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import Normalise, gnmt_normalised, length_normalised
from dragoman.search.stopping import Stop
from dragoman.text.specials import EOS, PAD
from support.exhaustive import exhaustive_search
from support.steppers import Bigram, Prefixes, Table, rescore, sentences

MODELS = 1000
SPECIALS = 3  # <pad>, <s> and </s> are not written
NORMS: dict[str, Normalise] = {
    "sum": partial(length_normalised, alpha=0.0),
    "mean": length_normalised,
    "gnmt": partial(gnmt_normalised, alpha=0.6),
}


def same_optimum(beam: list[list[Hypothesis]], every: list[list[Hypothesis]]) -> int:
    """How many sentences have the best there is; by score, so that a tie is no failure."""
    pairs = list(zip(beam, every, strict=True))
    for mine, all_ in pairs:
        assert mine[0].score == pytest.approx(all_[0].score, abs=1e-5)
    return sum(mine[0].tokens == all_[0].tokens for mine, all_ in pairs)


def found(
    stepper: Table, first: int, count: int, *, size: int, length: int, norm: str
) -> tuple[list[list[Hypothesis]], list[list[Hypothesis]]]:
    batch = sentences(*range(first, first + count))
    normalise = NORMS[norm]
    beam = BeamSearch(size=size, max_length=length, normalise=normalise, stop="all")(stepper, *batch)
    return beam, exhaustive_search(stepper, *batch, max_length=length, normalise=normalise)


@pytest.mark.parametrize(
    ("vocabulary", "length", "norm"),
    [(6, 4, "mean"), pytest.param(6, 4, "gnmt", marks=pytest.mark.slow), (5, 6, "sum")],
)
def test_a_beam_as_wide_as_the_tree_finds_the_optimum(vocabulary: int, length: int, norm: str) -> None:
    stepper = Table(vocabulary=vocabulary, seed=length)
    width = (vocabulary - SPECIALS) ** length
    beam, every = found(stepper, 0, MODELS, size=width, length=length, norm=norm)
    assert same_optimum(beam, every) == MODELS


@pytest.mark.slow
def test_a_beam_of_all_there_could_be_finds_the_optimum() -> None:
    """V = 6 and T = 6, as wide as Vᵀ, whatever can be written."""
    stepper, right = Table(seed=6), 0
    for first in range(0, MODELS, 5):
        right += same_optimum(*found(stepper, first, 5, size=6**6, length=6, norm="mean"))
    assert right == MODELS


def test_a_narrow_beam_does_not_always_find_it() -> None:
    """Else the tests above would show nothing."""
    beam, every = found(Table(seed=4), 0, 250, size=1, length=4, norm="mean")
    assert sum(b[0].tokens == e[0].tokens for b, e in zip(beam, every, strict=True)) < 240
    pairs = [(b[0], e[0]) for b, e in zip(beam, every, strict=True) if b[0].finished]
    assert all(b.score <= e.score + 1e-5 for b, e in pairs)


def test_exhaustive_search_has_every_output_with_its_probability() -> None:
    stepper = Prefixes(seed=1)
    (every,) = exhaustive_search(stepper, *sentences(3), max_length=3)
    assert len(every) == len({(h.tokens, h.finished) for h in every}) == 1 + 3 + 9 + 27
    assert sum(h.finished for h in every) == 1 + 3 + 9
    for h in every:
        assert h.log_p == pytest.approx(rescore(stepper, 3, h.tokens, finished=h.finished), abs=1e-5)
        assert h.score == pytest.approx(h.log_p / (len(h.tokens) + h.finished))
    assert [h.score for h in every] == sorted((h.score for h in every), reverse=True)


@pytest.mark.parametrize("norm", NORMS)
def test_a_beam_of_one_is_greedy_on_a_thousand_models(norm: str) -> None:
    batch, normalise = sentences(*range(MODELS)), NORMS[norm]
    stepper = Table(seed=2)
    narrow = BeamSearch(size=1, max_length=12, normalise=normalise, stop="n_best")(stepper, *batch)
    greedy = greedy_search(stepper, *batch, max_length=12, normalise=normalise)
    assert [n[0].tokens for n in narrow] == [g[0].tokens for g in greedy]
    assert [n[0].score for n in narrow] == pytest.approx([g[0].score for g in greedy], abs=1e-5)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("norm", NORMS)
def test_the_careful_search_is_never_worse_than_greedy_on_a_thousand_models(norm: str, size: int) -> None:
    batch, normalise = sentences(*range(MODELS)), NORMS[norm]
    stepper = Table(seed=2)
    greedy = greedy_search(stepper, *batch, max_length=12, normalise=normalise)

    def worse(stop: Stop) -> int:
        beam = BeamSearch(size=size, max_length=12, normalise=normalise, stop=stop)(stepper, *batch)
        return sum(b[0].score < g[0].score - 1e-6 for b, g in zip(beam, greedy, strict=True))

    assert worse("heuristic") == 0
    assert worse("n_best") > 0, "else the plain beam would do"


@pytest.mark.parametrize("groups", [1, 2])
def test_scores_are_those_of_forced_decoding_on_hundreds_of_models(groups: int) -> None:
    stepper, batch = Table(seed=7), sentences(*range(300))
    search = BeamSearch(size=4, max_length=9, stop="all", groups=groups, diversity=0.7)
    results = search(stepper, *batch)
    for rank in range(min(map(len, results))):
        hypotheses = [mine[rank] for mine in results]
        outputs = [[*h.tokens, EOS] if h.finished else h.tokens for h in hypotheses]
        again = forced(stepper, *batch, outputs).log_p.double().sum(dim=1)
        assert torch.allclose(again, torch.tensor([h.log_p for h in hypotheses]).double(), atol=1e-5)
        lengths = [len(output) for output in outputs]
        scores = [h.log_p / n for h, n in zip(hypotheses, lengths, strict=True)]
        assert [h.score for h in hypotheses] == pytest.approx(scores, abs=1e-5)


def test_the_wide_vocabulary_is_searched_like_the_narrow_one() -> None:
    """Blocks of tokens are a shortcut: a table of 300 tokens by the definition gives the same n best."""
    stepper, batch = Bigram(vocabulary=300, seed=1), sentences(*range(16))
    found = BeamSearch(size=5, max_length=8, stop="length")(stepper, *batch)
    for source, hypotheses in enumerate(found):
        open_ = [((), 0.0)]
        ended: list[tuple[float, tuple[int, ...]]] = []
        for length in range(1, 9):
            rows = [(p + stepper.table[source, (*y, 2)[-1] if not y else y[-1]], y) for y, p in open_]
            every = [(float(row[t]), (*y, t)) for row, y in rows for t in range(300) if t not in (PAD, 2)]
            best = sorted(every, key=lambda pair: -pair[0])[:10]
            ended += [
                (p / length, y[:-1] if y[-1] == EOS else y)
                for p, y in best[:5]
                if y[-1] == EOS or length == 8
            ]
            open_ = [(y, p) for p, y in best if y[-1] != EOS][:5]
        want = sorted(ended, key=lambda pair: -pair[0])[:5]
        assert [h.tokens for h in hypotheses] == [y for _, y in want]
