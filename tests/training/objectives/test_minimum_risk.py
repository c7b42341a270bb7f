"""Minimum-risk training: the risk by hand, its gradient, and that it lessens the edits of what is written."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from dragoman.config.model import ModelConfig
from dragoman.data.collate import collate
from dragoman.data.recipes.reverse.generate import LETTERS, splits
from dragoman.losses.risk import expected_risk
from dragoman.metrics.sentence_distance import DISTANCES
from dragoman.models.build import build_model
from dragoman.models.heads.token import TokenHead
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch, real_ids
from dragoman.search.sample import sample
from dragoman.text.specials import EOS, PAD
from dragoman.text.tokenizers.char import Char
from dragoman.training.objectives.minimum_risk import MinimumRisk, log_probability
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing

TEXT = Char.learn([LETTERS], 30)
PAIRS = [(TEXT.encode(src), TEXT.encode(tgt)) for src, tgt in splits()["train"][:64]]


def tiny(width: int) -> Seq2Seq:
    part = {"kind": "transformer", "layers": 1, "width": width, "heads": 2, "ffn": width, "dropout": 0.0}
    config = ModelConfig.model_validate({"encoder": part, "decoder": part})
    return build_model(config, TEXT.size, TEXT.size, smoothing=0.0, seed=1)


def risk(samples: int, alpha: float, after: int = 0) -> MinimumRisk:
    return MinimumRisk(DISTANCES["cer"](), TEXT, samples, alpha, after, 14)


class ExactHead(TokenHead):
    """In the precision of the model, where the head of a real one is fp32."""

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(F.linear(h, self.W, self.b), dim=1)


def test_risk_by_hand() -> None:
    """p = 0.8, 0.2 and α = ½ give q ∝ 2, 1; a sentence with one candidate is all of it."""
    log_p = torch.tensor([[0.8, 0.2, 0.0], [0.1, 0.0, 0.0]], dtype=torch.float64).log()
    delta = torch.tensor([[0.0, 0.9, 7.0], [0.4, 7.0, 7.0]], dtype=torch.float64)
    assert torch.allclose(expected_risk(log_p, delta, 0.5), torch.tensor([0.3, 0.4], dtype=torch.float64))


def test_distances_by_hand() -> None:
    found = {name: make() for name, make in DISTANCES.items()}
    assert all(distance("a b c d e", "a b c d e") == pytest.approx(0.0) for distance in found.values())
    assert found["wer"]("a x c", "a b c d") == 0.5
    assert found["cer"]("abc", "abcd") == 0.25
    assert found["bleu"]("x y", "a b c d") == 1.0
    assert 0.0 < found["chrf"]("a b c x", "a b c d") < 1.0
    assert all(distance("", "a b") == 1.0 for distance in found.values())


def test_candidates_are_the_reference_and_the_samples_that_differ() -> None:
    model, batch = tiny(8), collate(PAIRS[:3])
    with noise(1):
        found = risk(40, 1.0).candidates(model.train(), batch)
    assert model.training
    outputs = list(
        zip(found.row.tolist(), map(tuple, real_ids(found.tokens, found.tokens != PAD)), strict=True)
    )
    assert len(set(outputs)) == len(outputs)
    firsts = [y for (_, y), place in zip(outputs, found.place.tolist(), strict=True) if place == 0]
    assert firsts == [(*tgt, EOS) for _, tgt in PAIRS[:3]]
    assert bool((found.delta[found.place == 0] == 0).all())
    with torch.no_grad():  # scored as teacher forcing scores it
        alone = batch._replace(**{name: getattr(batch, name)[:1] for name in Batch._fields})
        log_p = log_probability(model.eval(), batch, found)
        assert float(log_p[0]) == pytest.approx(-float(model(alone).nll), rel=1e-5)


def test_gradient_equals_finite_differences() -> None:
    model = tiny(4)
    model.head = ExactHead(model.head.W, 0.0)
    model, batch = model.double().eval(), collate(PAIRS[:2])
    objective, parameters = risk(5, 0.7), list(model.parameters())

    def loss() -> torch.Tensor:
        with noise(7):
            return objective(model, batch, 1).loss

    loss().backward()
    draw = torch.Generator().manual_seed(1)
    way = [torch.randn(p.shape, generator=draw, dtype=torch.float64) for p in parameters]
    slope = sum(float((p.grad * d).sum()) for p, d in zip(parameters, way, strict=True) if p.grad is not None)
    values = []
    for size in (1e-6, -2e-6):  # forth, then back to the other side
        with torch.no_grad():
            for p, d in zip(parameters, way, strict=True):
                p += size * d
            values.append(float(loss()))
    assert slope == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-6)
    assert abs(slope) > 1e-3


def test_teacher_forcing_comes_first() -> None:
    model, batch = tiny(8), collate(PAIRS[:3])
    objective = risk(2, 1.0, after=5)
    assert torch.equal(objective(model, batch, 5).loss, model(batch).loss)
    with noise(1):
        assert not torch.equal(objective(model, batch, 6).loss, model(batch).loss)


def train(objective: Objective, model: Seq2Seq, *, updates: int, lr: float) -> None:
    adam = torch.optim.AdamW(model.parameters(), lr, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)
    batch = collate(PAIRS)
    for step in range(1, updates + 1):
        with noise(1, step):
            sums = objective(model, batch, step)
        (sums.loss / int(batch.tgt_keep.sum())).backward()
        adam.step()
        adam.zero_grad()


def expected_edits(model: Seq2Seq) -> float:
    """The mean character error rate of 10 samples of each word."""
    batch = collate(PAIRS)
    with noise(99):
        outputs = sample(model, batch.src, batch.src_keep, size=10, max_length=14).tokens
    cer, wanted = DISTANCES["cer"](), [TEXT.decode(tgt) for _, tgt in PAIRS for _ in range(10)]
    written = [TEXT.decode(y) for y in real_ids(outputs, outputs != PAD)]
    return float(np.mean([cer(y, r) for y, r in zip(written, wanted, strict=True)]))


def test_the_expected_edit_distance_falls() -> None:
    model = tiny(32)
    train(teacher_forcing, model, updates=40, lr=1e-2)
    before = expected_edits(model)
    # Small, as in the paper: a sharp α lets the reference outweigh the samples, and they get worse.
    train(risk(6, 0.005), model, updates=15, lr=1e-3)
    assert expected_edits(model) < 0.95 * before
