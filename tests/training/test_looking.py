"""Terms over the attention: they add to the loss, and lessen what they punish."""

import pytest
import torch

from dragoman.config.load import load
from dragoman.config.objective import TeacherForcingPart
from dragoman.config.parts.recurrent import RNNDecoderPart
from dragoman.errors import ConfigError
from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.build import build_objective
from dragoman.training.flat import FlatParameters
from dragoman.training.objectives.looking import seen_twice
from dragoman.training.objectives.objective import Objective, teacher_forcing
from dragoman.training.objectives.step_by_step import Term, walk
from dragoman.training.optim import Adam
from models.test_battery import batch_of, model_of

BATCH = batch_of([(7, 6), (3, 2), (5, 4)])


def train(objective: Objective, model: Seq2Seq, updates: int) -> None:
    flat = FlatParameters(model, torch.float32)
    adam = Adam(flat, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, decoupled=True)
    gradient = torch.empty(len(flat))
    for step in range(updates):
        objective(model, BATCH, step).loss.backward()
        flat.take_gradient(gradient)
        adam.step(gradient, 0.02)


def measured(term: Term, model: Seq2Seq) -> float:
    with torch.no_grad():
        attention = walk(model, BATCH, lambda reference, h: reference).attention
        assert attention is not None
        return float(term(BATCH, attention))


def test_without_weights_it_is_plain_teacher_forcing() -> None:
    assert build_objective(TeacherForcingPart()) is teacher_forcing


def test_a_term_is_added_with_its_weight() -> None:
    model = model_of(("gru", "lstm fed")).double().eval()
    plain = teacher_forcing(model, BATCH, 1)
    weighted = build_objective(TeacherForcingPart(coverage=0.3))(model, BATCH, 1)
    added = 0.3 * measured(seen_twice, model)
    assert float(weighted.loss.detach()) == pytest.approx(float(plain.loss.detach()) + added, rel=1e-6)
    assert float(weighted.nll) == pytest.approx(float(plain.nll), rel=1e-6)


def test_coverage_is_learned() -> None:
    model = model_of(("gru", "transformer")).eval()
    before = measured(seen_twice, model)
    train(build_objective(TeacherForcingPart(coverage=3.0)), model, 15)
    assert measured(seen_twice, model) < before / 2


def test_a_decoder_without_attention_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RNNDecoderPart, "attends", False)
    base = {"data": {"train": [{"files": ["a", "b"]}]}, "model": {"preset": "rnn-small"}}
    load(None, [], base)
    with pytest.raises(ConfigError, match="the lstm decoder does not have"):
        load(None, ["training.objective.coverage=0.5"], base)
