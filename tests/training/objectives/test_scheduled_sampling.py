"""Scheduled sampling: how p falls, and that with p = 1 it is teacher forcing."""

from itertools import pairwise

import pytest
import torch

from dragoman.config.objective import ScheduledSamplingPart
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.dropout import noise, uniform
from dragoman.protocols import Batch, LossSum
from dragoman.search.topk import sample_index
from dragoman.training.build import build_decay
from dragoman.training.objectives import sampling_decay as decay
from dragoman.training.objectives.model_tokens import argmax, mix_with_reference, sampled
from dragoman.training.objectives.scheduled_sampling import StepwiseObjective, unroll
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing
from dragoman.training.objectives.two_pass import TwoPassSampling
from support.pairs import batch_of, model_of

FAMILIES = ["transformer", "rotary window", "lstm fed", "gru additive fed", "conv", "cho"]
LENGTHS = [(7, 6), (3, 2), (5, 4)]


def test_decays_by_hand() -> None:
    assert decay.constant(0.3)(99) == 0.3
    assert decay.linear(1.0, 0.01, 0.2)(30) == pytest.approx(0.7)
    assert decay.linear(1.0, 0.01, 0.2)(90) == 0.2
    assert decay.exponential(0.5)(3) == 0.125
    assert decay.inverse_sigmoid(1.0)(0) == 0.5
    assert decay.inverse_sigmoid(10.0)(20) == pytest.approx(0.5750743, abs=1e-7)  # 10 / (10 + e²)
    assert decay.inverse_sigmoid(10.0)(10**9) == 0.0
    assert decay.at_least(0.4, decay.exponential(0.5))(3) == 0.4


@pytest.mark.parametrize("kind", ["linear", "exponential", "inverse_sigmoid"])
@pytest.mark.parametrize("half", [1, 7, 2000])
def test_p_is_one_half_where_it_is_said_to_be(kind: str, half: int) -> None:
    p = build_decay(
        ScheduledSamplingPart.model_validate({"decay": kind, "half_at": half, "reference_floor": 0.1})
    )
    assert p(half) == pytest.approx(0.5)
    assert p(10**9) == 0.1
    assert all(a >= b for a, b in pairwise(p(i) for i in range(5 * half)))


def learned(objective: Objective, model: Seq2Seq, batch: Batch) -> tuple[LossSum, list[torch.Tensor]]:
    model.zero_grad()
    with noise(1):
        sums = objective(model, batch, 1)
    sums.loss.backward()
    return sums, [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("decoder", FAMILIES)
@pytest.mark.parametrize("objective", [StepwiseObjective, TwoPassSampling])
def test_reading_the_reference_only_is_teacher_forcing(
    decoder: str, objective: type[StepwiseObjective]
) -> None:
    model, batch = model_of(("gru", decoder)).double().eval(), batch_of(LENGTHS)
    expected, right = learned(teacher_forcing, model, batch)
    found, ours = learned(objective(decay.constant(1.0), sampled), model, batch)
    assert torch.allclose(found.loss, expected.loss, rtol=1e-6)  # sums are fp32
    assert torch.allclose(found.nll, expected.nll, rtol=1e-6)
    assert all(torch.allclose(a, b, rtol=1e-6, atol=1e-8) for a, b in zip(ours, right, strict=True))


@pytest.mark.parametrize("decoder", FAMILIES)
def test_steps_are_taken_under_autocast(decoder: str) -> None:
    batch, objective = batch_of(LENGTHS), StepwiseObjective(decay.constant(1.0), sampled)
    exact = objective(model_of(("gru", decoder)).eval(), batch, 1)
    with torch.autocast("cpu"):
        rounded = objective(model_of(("gru", decoder)).eval(), batch, 1)
    assert float(rounded.nll) == pytest.approx(float(exact.nll), rel=0.01)


def test_reading_its_own_output_only() -> None:
    """p = 0: each step reads the most probable token of the one before, as greedy search does."""
    model, batch = model_of(("gru", "lstm fed")).double().eval(), batch_of([(7, 5), (3, 5)])
    state = model.start(batch.src, batch.src_keep, 1)
    y, inputs = batch.tgt_in[:, 0], []
    for _ in range(5):
        inputs.append(y)
        step = model.step(y, state)
        state, y = step.state, step.log_p[:, 1:].index_fill(1, torch.tensor([1]), -1e9).argmax(dim=1) + 1
    read = batch._replace(tgt_in=torch.stack(inputs, dim=1))
    ours = StepwiseObjective(decay.constant(0.0), argmax)(model, batch, 1)
    assert torch.allclose(ours.nll, model(read).nll, rtol=1e-6)
    # Two passes: each place reads what follows the reference before it.
    h = model.decoder(model.encoder(batch.src, batch.src_keep), batch.tgt_in)
    own = argmax(model.head, h.flatten(0, 1)).view(2, 5)
    read = batch._replace(tgt_in=torch.cat((batch.tgt_in[:, :1], own[:, :-1]), dim=1))
    ours = TwoPassSampling(decay.constant(0.0), argmax)(model, batch, 1)
    assert torch.allclose(ours.nll, model(read).nll, rtol=1e-6)


def test_a_walk_shows_where_it_looked() -> None:
    batch = batch_of(LENGTHS)
    walked = unroll(model_of(("gru", "transformer")), batch, lambda reference, h: reference)
    assert walked.attention is not None
    assert torch.allclose(walked.attention.sum(dim=2), torch.ones(3, 6))


def test_the_same_update_draws_the_same() -> None:
    model, batch = model_of(("gru", "gru additive fed")).train(), batch_of(LENGTHS)
    objective = StepwiseObjective(decay.constant(0.5), sampled)

    def loss(key: int) -> float:
        with noise(key):
            return float(objective(model, batch, 1).nll)

    assert loss(1) == loss(1)
    assert loss(1) != loss(2)


def test_draws_follow_the_distribution() -> None:
    """Evenly spread u give each token its share, exactly; a token without probability is never drawn."""
    p = torch.tensor([0.0, 0.5, 0.0, 0.2, 0.3, 0.0])
    u = (torch.arange(1000) + 0.5) / 1000
    found = torch.bincount(sample_index(p.log().expand(1000, 6), u), minlength=6)
    assert found.tolist() == [0, 500, 0, 200, 300, 0]


def test_coins_fall_with_their_probability() -> None:
    count = 200_000  # one standard deviation of the share is 0.001
    with noise(1):
        u = uniform(count, torch.device("cpu"))
        share = mix_with_reference(
            0.3, torch.ones(count, dtype=torch.long), torch.zeros(count, dtype=torch.long)
        )
    assert float(u.min()) >= 0.0
    assert float(u.max()) < 1.0
    assert float(u.mean()) == pytest.approx(0.5, abs=0.005)
    assert float(share.double().mean()) == pytest.approx(0.3, abs=0.006)
