"""Groups that differ, coverage, the two length norms, dead ends: what a beam may be asked for."""

from __future__ import annotations

import math

import pytest
import torch

from dragoman.config.load import validate
from dragoman.config.search import SearchConfig
from dragoman.errors import ConfigError, UsageError
from dragoman.protocols import State, Step
from dragoman.search.beam import BeamSearch
from dragoman.search.build import build
from dragoman.search.coverage import coverage_penalty
from dragoman.search.expand import continuations, diverse_continuations
from dragoman.search.scores import gnmt_normalised, length_normalised
from dragoman.text.specials import EOS
from support.steppers import Looking, Prefixes, Script, Table, rescore, sentences

A, B, C = 4, 5, 6


def test_groups_that_need_not_differ_are_beams_side_by_side() -> None:
    """λ = 0: every group finds what a beam of its size finds."""
    stepper, batch = Table(seed=1), sentences(*range(20))
    narrow = BeamSearch(size=2, max_length=7)(stepper, *batch)
    groups = BeamSearch(size=6, max_length=7, groups=3)(stepper, *batch)
    assert groups == narrow


def test_a_group_pays_for_what_the_groups_before_it_said() -> None:
    """Two groups of one, p = 0.5, 0.3, 0.2: the second takes B when A costs more than log 0.5 − log 0.3."""
    log_p = torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.5, 0.3, 0.2]]).log().expand(2, -1)
    p = torch.zeros(1, 2)
    gap = math.log(0.5 / 0.3)
    for diversity, second in ((gap - 0.01, A), (gap + 0.01, B)):
        found = diverse_continuations(p, log_p, 2, diversity)
        assert found.token[0, :, 0].tolist() == [A, second]
        assert found.parent[0, :, 0].tolist() == [0, 1]
        assert float(found.log_p[0, 1, 0]) == pytest.approx(math.log(0.5 if second == A else 0.3))


def test_one_group_is_a_plain_beam() -> None:
    log_p = torch.randn(12, 200, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    p = -torch.rand(3, 4, generator=torch.Generator().manual_seed(1))
    plain, one = continuations(p, log_p), diverse_continuations(p, log_p, 1, 0.9)
    assert all(torch.equal(x, y) for x, y in zip(plain, one, strict=True))


def test_groups_find_more_different_outputs_and_each_once() -> None:
    stepper, batch = Table(seed=3, vocabulary=12), sentences(*range(30))
    plain = BeamSearch(size=6, max_length=8)(stepper, *batch)
    diverse = BeamSearch(size=6, max_length=8, groups=3, diversity=2.0)(stepper, *batch)
    firsts = [sum(len({h.tokens[:1] for h in row}) for row in found) for found in (plain, diverse)]
    assert firsts[1] > firsts[0]
    for source, row in enumerate(diverse):
        assert len({(h.tokens, h.finished) for h in row}) == len(row) <= 6
        assert [h.score for h in row] == sorted((h.score for h in row), reverse=True)
        alone = BeamSearch(size=6, max_length=8, groups=3, diversity=2.0)(stepper, *sentences(source))
        assert alone == [row]


def test_length_norms_by_hand() -> None:
    assert length_normalised(-6.0, 4) == -1.5
    assert gnmt_normalised(-6.0, 7, alpha=1.0) == -3.0
    assert gnmt_normalised(-6.0, 1, alpha=0.6) == -6.0  # (5 + 1) / 6 = 1
    assert gnmt_normalised(-6.0, 13, alpha=2.0) == pytest.approx(-6.0 / 9)


def test_coverage_by_hand() -> None:
    seen = torch.tensor([[0.5, 2.0, 0.0], [1.0, 0.25, 0.0]])
    keep = torch.tensor([[True, True, False], [True, True, False]])
    assert coverage_penalty(seen, keep).tolist() == pytest.approx([math.log(0.5), math.log(0.25)])
    assert coverage_penalty(torch.zeros(1, 2), torch.ones(1, 2).bool()).isfinite().all()


def test_coverage_counts_the_looks_of_each_hypothesis() -> None:
    """Looks follow the token that was read: even ones the first source token, odd ones the second."""
    stepper = Looking(Table(seed=5))
    src, keep = torch.tensor([[3, 4], [5, 6], [7, 8]]), torch.ones(3, 2, dtype=torch.bool)
    found = BeamSearch(size=4, max_length=7, stop="all", coverage=0.3)(stepper, src, keep)
    for row in found:
        for h in row:
            read = [2, *h.tokens] if h.finished else [2, *h.tokens[:-1]]
            looks = torch.tensor([[sum(y % 2 == side for y in read) for side in (0, 1)]]).float()
            penalty = float(coverage_penalty(looks, torch.ones(1, 2).bool()))
            length = len(h.tokens) + h.finished
            assert h.score == pytest.approx(h.log_p / length + 0.3 * penalty, rel=1e-5)


def test_coverage_prefers_what_looks_at_all() -> None:
    stepper, src = Looking(Table(seed=5)), torch.arange(80).view(40, 2)
    keep = torch.ones_like(src, dtype=torch.bool)

    def one_sided(beta: float) -> int:
        found = BeamSearch(size=4, max_length=7, coverage=beta)(stepper, src, keep)
        return sum(len({y % 2 for y in (2, *row[0].tokens)}) == 1 for row in found)

    assert one_sided(1.0) < one_sided(0.0)


def test_coverage_of_a_model_that_looks_nowhere_is_refused() -> None:
    with pytest.raises(UsageError, match="has no attention"):
        BeamSearch(size=2, max_length=3, coverage=0.1)(Table(), *sentences(1))
    part = {"kind": "rnn", "form": "sutskever"}
    table = {"data": {"train": "x.tsv"}, "model": {"encoder": {"kind": "rnn"}, "decoder": part}}
    with pytest.raises(ConfigError, match=r"search\.coverage_penalty needs attention"):
        validate({**table, "search": {"coverage_penalty": 0.2}})


class DeadEnd:
    """After A nothing is possible."""

    def start(self, src: torch.Tensor, keep: torch.Tensor, width: int) -> State:
        return State(src, torch.zeros(len(src) * width))

    def step(self, y: torch.Tensor, state: State) -> Step:
        log_p = torch.full((len(y), 6), -torch.inf)
        log_p[y == 2, A] = -0.5
        return Step(log_p, state, None)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_dead_end_gives_what_stood_before_it(groups: int) -> None:
    found = BeamSearch(size=2, max_length=5, groups=groups)(DeadEnd(), *sentences(1, 2))
    assert [[(h.tokens, h.score, h.finished) for h in row] for row in found] == [[((A,), -0.5, False)]] * 2


def test_stopping_at_the_length_goes_on_to_it() -> None:
    stepper = Script([0.0, 0.0, 0.0, 0.6, 0.4, 0.0])
    BeamSearch(size=2, max_length=9, stop="length")(stepper, *sentences(1))
    assert stepper.calls == 9


def test_settings_build_every_search() -> None:
    stepper, batch = Prefixes(seed=8), sentences(1, 2)
    config = SearchConfig(
        size=4, groups=2, diversity=0.3, length_norm="gnmt", length_penalty=0.6, max_length=5, stop="all"
    )
    for source, row in enumerate(build(config)(stepper, *batch), start=1):
        for h in row:
            again = rescore(stepper, source, h.tokens, finished=h.finished)
            assert h.score == pytest.approx(again / ((5 + len(h.tokens) + h.finished) / 6) ** 0.6, abs=1e-5)
    samples = build(SearchConfig(kind="sample", n_best=3, max_length=5))(stepper, *batch)
    assert [len(row) for row in samples] == [3, 3]
    assert [
        len(row) for row in build(SearchConfig(kind="mbr", samples=9, max_length=5))(stepper, *batch)
    ] == [9, 9]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"size": 5, "groups": 2}, "set search.size = 6"),
        ({"n_best": 6}, "set search.size = 6"),
        ({"kind": "greedy", "n_best": 2}, "set search.kind = beam"),
        ({"kind": "mbr", "samples": 4, "n_best": 5}, "set search.samples = 5"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        validate({"data": {"train": "x.tsv"}, "search": settings})


def test_ends_are_counted_among_what_groups_said() -> None:
    log_p = torch.tensor([[0.0, 0.0, 0.0, 0.6, 0.4, 0.0]]).log().expand(2, -1)
    found = diverse_continuations(torch.zeros(1, 2), log_p, 2, 1.0)
    assert found.token[0, :, 0].tolist() == [EOS, A]
