"""Temperature scaling finds the temperature that a model was spoilt with."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.metrics.calibration import calibration_error
from dragoman.protocols import State, Step
from dragoman.search.forced import forced, tempered
from dragoman.search.temperature import LOG_T, References, fit_temperature, judge, lowest
from dragoman.text.specials import BOS, EOS
from search.steppers import Bigram, sentences


class TooSure:
    """A model whose probabilities are sharper, or flatter, than the truth."""

    def __init__(self, truth: Bigram, temperature: float) -> None:
        self.truth, self.temperature = truth, temperature
        self.start = truth.start

    def step(self, y: torch.Tensor, state: State) -> Step:
        step = self.truth.step(y, state)
        return step._replace(log_p=tempered(step.log_p, self.temperature))


def world() -> tuple[Bigram, list[References]]:
    """Outputs drawn from the truth, as references."""
    truth = Bigram(seed=3, vocabulary=12)
    truth.table[:, :, [0, 2]] = -torch.inf  # <pad> and <s> are never written
    truth.table = truth.table.log_softmax(-1)
    src, keep = sentences(*[source for source in range(16) for _ in range(60)])
    draw = torch.Generator().manual_seed(5)
    rows: list[list[int]] = [[BOS] for _ in src]
    for _ in range(8):
        p = truth.table[src.squeeze(1), [row[-1] for row in rows]].exp()
        for row, token in zip(rows, p.multinomial(1, generator=draw).squeeze(1).tolist(), strict=True):
            row.extend([token] if row[-1] != EOS else [])
    return truth, [(src, keep, [row[1:] for row in rows])]


@pytest.mark.parametrize("spoilt", [0.5, 1.0, 1.7])
def test_the_temperature_that_undoes_another(spoilt: float) -> None:
    truth, batches = world()
    model = TooSure(truth, spoilt)
    temperature = fit_temperature(model, batches)
    assert temperature == pytest.approx(1 / spoilt, rel=0.06)
    before, after = (calibration_error(*judge(model, batches, t)) for t in (1.0, temperature))
    assert after < 0.03
    assert before > 0.08 or spoilt == 1


def test_what_is_judged_is_the_models_own_choice() -> None:
    truth, batches = world()
    src, keep, rows = batches[0]
    sure, right = judge(truth, batches, 1.0)
    assert len(sure) == len(right) == sum(map(len, rows))
    first = truth.step(torch.full((len(src),), 2), truth.start(src, keep, 1)).log_p
    assert np.allclose(sure[: len(rows)], first.exp().amax(dim=1))
    assert right[: len(rows)].tolist() == [
        int(p.argmax()) == row[0] for p, row in zip(first, rows, strict=True)
    ]


def test_a_temperature_changes_confidence_and_nothing_else() -> None:
    stepper, outputs = Bigram(seed=1), [[4, 5, 3]]
    plain, cool = forced(stepper, *sentences(1), outputs), forced(stepper, *sentences(1), outputs, 0.5)
    assert torch.equal(plain.log_p, cool.log_p)
    assert torch.equal(plain.entropy, cool.entropy)
    assert torch.allclose(plain.confidence, plain.log_p.exp())
    by_hand = [float((2 * stepper.table[1, y]).softmax(-1)[v]) for y, v in ((2, 4), (4, 5), (5, 3))]
    assert cool.confidence[0].tolist() == pytest.approx(by_hand, abs=1e-6)


def test_the_lowest_point_lies_between_the_places_or_at_an_edge() -> None:
    assert lowest(LOG_T, (LOG_T - 0.1) ** 2) == pytest.approx(0.1)
    assert lowest(LOG_T, LOG_T) == LOG_T[0]
    assert lowest(LOG_T, np.zeros(len(LOG_T))) == LOG_T[0]
