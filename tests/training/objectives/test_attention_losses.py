"""Terms over the attention: they add to the loss, and lessen what they punish."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.config.load import load
from dragoman.config.model import ModelConfig
from dragoman.config.objective import TeacherForcingPart
from dragoman.data.store.reader import StoreReader
from dragoman.errors import ConfigError
from dragoman.losses.alignment import guided_alignment
from dragoman.models.build import build_model
from dragoman.models.diagonal_prior import diagonal_prior_of
from dragoman.models.ibm1 import PaddedPairs, TranslationTable, pair_keys, posterior
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch
from dragoman.text.tokenizers.char import Char
from dragoman.training.build import build_objective
from dragoman.training.objectives.attention_losses import Aligner, GuidedAlignmentLoss, coverage_loss
from dragoman.training.objectives.model_tokens import sampled
from dragoman.training.objectives.sampling_decay import constant
from dragoman.training.objectives.scheduled_sampling import (
    ParallelAttentionDecoder,
    StepwiseObjective,
    Term,
    unroll,
)
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing
from dragoman.training.objectives.word_alignment import load_or_train_aligners
from support.pairs import EOS, TRANSFORMER, V, batch_of, model_of
from support.stores import write_store

BATCH = batch_of([(7, 6), (3, 2), (5, 4)])


def objective_of(**weights: float) -> Objective:
    return build_objective(TeacherForcingPart(**weights), Char.learn(["abc"], V), 20)


def train(objective: Objective, model: Seq2Seq, updates: int) -> None:
    adam = torch.optim.AdamW(model.parameters(), 0.02, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)
    for step in range(updates):
        objective(model, BATCH, step).loss.backward()
        adam.step()
        adam.zero_grad()


def measured(term: Term, model: Seq2Seq) -> float:
    with torch.no_grad():
        attention = unroll(model, BATCH, lambda reference, h: reference).attention
        assert attention is not None
        return float(term(BATCH, attention))


def test_without_weights_it_is_plain_teacher_forcing() -> None:
    assert objective_of() is teacher_forcing


def test_a_term_is_added_with_its_weight() -> None:
    model = model_of(("gru", "lstm fed")).double().eval()
    plain = teacher_forcing(model, BATCH, 1)
    weighted = objective_of(coverage=0.3)(model, BATCH, 1)
    added = 0.3 * measured(coverage_loss, model)
    assert float(weighted.loss.detach()) == pytest.approx(float(plain.loss.detach()) + added, rel=1e-6)
    assert float(weighted.nll) == pytest.approx(float(plain.nll), rel=1e-6)


def test_coverage_is_learned() -> None:
    model = model_of(("gru", "transformer")).eval()
    before = measured(coverage_loss, model)
    train(objective_of(coverage=3.0), model, 15)
    assert measured(coverage_loss, model) < 0.7 * before


def test_alignments_of_a_batch() -> None:
    """As far as both directions agree, with </s> to </s> and nothing for what no token explains."""
    x, y = torch.tensor([[5, 6, EOS], [7, EOS, 0]]), torch.tensor([[9, 8, EOS], [4, EOS, 0]])
    batch = Batch(x, x > 0, y, y, y > 0)
    forward = aligner({(5, 8): 0.5, (5, 9): 0.1, (6, 9): 0.3})
    backward = aligner({(8, 5): 0.6, (9, 5): 0.2, (9, 6): 0.4})
    # |1/2 − 1/2| = 0 and |2/2 − 1/2| = 1/2, so the priors of the two words are as 1 to exp(−4/2).
    a = 0.1 / (0.1 + 0.3 * math.exp(-2))
    b = 0.2 / (0.2 + 0.6 * math.exp(-2))
    agreed = [[math.sqrt(a * b), math.sqrt(1 - a), 0], [math.sqrt(1 - b), 0, 0], [0, 0, 1]]
    expected = [agreed, [[0, 0, 0], [0, 1, 0], [0, 0, 0]]]
    assert torch.allclose(GuidedAlignmentLoss(forward, backward).alignment(batch), torch.tensor(expected))


def test_words_without_a_translation_are_aligned_with_the_empty_word() -> None:
    x, y = torch.tensor([[5, EOS]]), torch.tensor([[9, EOS]])
    batch = Batch(x, x > 0, y, y, y > 0)
    loss = GuidedAlignmentLoss(aligner({(EOS, 9): 0.5}), aligner({(9, 5): 0.5}))
    assert loss.alignment(batch).tolist() == [[[0, 1], [0, 1]]]


def aligner(t: dict[tuple[int, int], float]) -> Aligner:
    """Of these t(y | x), in the order of their keys."""
    keys = np.array([x * V + y for x, y in t])
    return Aligner(TranslationTable(keys, np.array([*t.values()], np.float32)), V)


def test_alignments_equal_those_of_the_aligner() -> None:
    draw = np.random.default_rng(2)
    keys = np.sort(draw.choice(V * V, 300, replace=False))
    table = TranslationTable(keys, draw.random(300).astype(np.float32))
    batch = batch_of([(7, 6), (3, 2), (5, 4)])
    pairs = PaddedPairs(*(x.numpy() for x in (batch.src, batch.src_keep, batch.tgt_out, batch.tgt_keep)))
    expected = posterior(table(pair_keys(pairs, V)) * diagonal_prior_of(pairs), pairs)
    found = Aligner(table, V)(batch.src, batch.src_keep, batch.tgt_out, batch.tgt_keep)
    assert np.allclose(found.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm": "post", "positions": "learned"}, {"kv_heads": 1}, {"positions": "rotary"}, {"window": 2}],
)
def test_a_transformer_attends_to_all_at_once_as_step_by_step(changes: dict[str, Any]) -> None:
    parts = {"encoder": TRANSFORMER, "decoder": {**TRANSFORMER, **changes}, "tied": "all"}
    model = build_model(ModelConfig.model_validate(parts), V, V, smoothing=0.1, seed=3).double().eval()
    assert isinstance(model.decoder, ParallelAttentionDecoder)
    memory = model.encoder(BATCH.src, BATCH.src_keep)
    h, attention = model.decoder.forward_with_attention(memory, BATCH.tgt_in)
    steps = unroll(model, BATCH, lambda reference, h: reference)
    assert torch.allclose(h, steps.h, atol=1e-10)
    assert torch.allclose(h, model.decoder(memory, BATCH.tgt_in), atol=1e-10)
    assert steps.attention is not None
    assert torch.allclose(attention, steps.attention, atol=1e-10)


def test_the_last_layer_is_never_dropped() -> None:
    parts = {"encoder": TRANSFORMER, "decoder": {**TRANSFORMER, "layer_drop": 0.9}, "tied": "all"}
    model = build_model(ModelConfig.model_validate(parts), V, V, smoothing=0.1, seed=3).train()
    for step in range(20):
        with noise(1, step):
            objective_of(coverage=0.3)(model, BATCH, step).loss.backward()
        gradient = model.decoder.layers[-1].cross.W_q.weight.grad
        assert gradient is not None
        assert gradient.abs().sum() > 0
        model.zero_grad()


def test_guided_attention_is_learned() -> None:
    """Each target token is to look at one source token, drawn by lot."""
    draw = torch.Generator().manual_seed(1)
    A = torch.eye(7)[torch.randint(3, (3, 6), generator=draw)] * BATCH.tgt_keep.unsqueeze(2)

    def astray(batch: Batch, attention: torch.Tensor) -> torch.Tensor:
        return guided_alignment(attention, A)

    model = model_of(("gru", "transformer")).eval()
    before = measured(astray, model)
    train(StepwiseObjective(constant(1.0), sampled, [(3.0, astray)]), model, 15)
    assert measured(astray, model) < 0.7 * before


def test_the_tables_are_learned_once(tmp_path: Path) -> None:
    pairs = [([5, 6], [15, 16]), ([6, 7], [16, 17]), ([7, 5], [17, 15])] * 20
    stores = [StoreReader(write_store(tmp_path / "s", pairs, vocabulary=V, shard_pairs=16))]
    tables = load_or_train_aligners(stores, V, V, tmp_path / "alignment")
    assert tables.forward(np.array([5 * V + 15])) > tables.forward(np.array([5 * V + 16]))
    assert tables.backward(np.array([15 * V + 5])) > tables.backward(np.array([15 * V + 6]))
    kept = tmp_path / "alignment" / "tables.safetensors"
    written = kept.stat().st_mtime_ns
    again = load_or_train_aligners(stores, V, V, tmp_path / "alignment")
    assert kept.stat().st_mtime_ns == written
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    anew = load_or_train_aligners(stores, V, V, tmp_path / "alignment")
    assert kept.stat().st_mtime_ns != written
    for table, *others in zip(tables, again, anew, strict=True):
        for other in others:
            assert table.keys.tobytes() == other.keys.tobytes()
            assert table.t.tobytes() == other.t.tobytes()


@pytest.mark.parametrize(
    ("model", "weight", "complaint"),
    [
        ({"decoder": {"kind": "rnn", "form": "cho"}}, "coverage", "decoder has none"),
        ({"decoder": {"kind": "rnn", "form": "cho"}}, "alignment", "decoder has none"),
        ({"encoder": {"kind": "kalchbrenner"}}, "alignment", "needs a state for each source token"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(model: dict[str, Any], weight: str, complaint: str) -> None:
    base = {"data": {"train": [{"files": ["a", "b"]}]}, "model": model}
    load(None, [], base)
    with pytest.raises(ConfigError, match=complaint):
        load(None, [f"training.objective.{weight}=0.5"], base)
