"""Language models of every kind: the battery of a decoder without a source, and the searches over it."""

from typing import Any

import pytest
import torch

from dragoman.config.model import ModelConfig
from dragoman.config.parameters import least_parameters
from dragoman.errors import ConfigError
from dragoman.models.builders.network import build_language_model
from dragoman.models.language_model import LanguageModel
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch, Stepper, take
from dragoman.search.beam import BeamSearch
from dragoman.search.greedy import greedy_search
from dragoman.search.sample import SampleSearch
from support.exhaustive import exhaustive_search
from support.pairs import DECODERS, V, batch_of

# What a decoder does with its source makes no difference here, so each cell comes once.
KINDS = {name: row for name, row in DECODERS.items() if row["kind"] == "transformer"} | {
    "elman": {"kind": "rnn", "cell": "elman", "width": 12, "embedding": 16, "variational": True},
    "lstm": {"kind": "rnn", "cell": "lstm", "layers": 2, "width": [9, 7], "embedding": 16},
    "peephole": {"kind": "rnn", "cell": "peephole-lstm", "layers": 2, "width": 12, "residual": True},
    "coupled": {"kind": "rnn", "cell": "coupled-lstm", "width": 12, "embedding": 12, "norm": True},
    "gru": {"kind": "rnn", "cell": "gru", "width": 12, "embedding": 16},
    "reset first": {"kind": "rnn", "cell": "reset-first-gru", "width": 12, "embedding": 16},
}
LENGTHS = [(1, 6), (1, 2), (1, 4)]


def model_of(kind: str, size: int = V, tied: str = "target", seed: int = 3) -> LanguageModel:
    config = ModelConfig.model_validate({"decoder": KINDS[kind], "tied": tied})
    return build_language_model(config, size, smoothing=0.1, seed=seed)


def of_rows(batch: Batch, row: int, length: int) -> Batch:
    return Batch(*(x[row : row + 1, : 1 if i < 2 else length] for i, x in enumerate(batch[:5])))


@pytest.mark.parametrize("kind", KINDS)
def test_step_by_step_equals_the_whole_sequence(kind: str) -> None:
    model = model_of(kind).double().eval()
    batch = batch_of([(1, 5), (1, 5), (1, 5)])
    whole = model.log_p(batch)
    state = model.start(batch.src, batch.src_keep, 1)
    for t in range(5):
        step = model.step(batch.tgt_in[:, t], state)
        state = step.state
        assert torch.allclose(step.log_p.double(), whole[:, t].double(), rtol=0.0, atol=1e-6)
        assert step.attention is None


@pytest.mark.parametrize("kind", KINDS)
def test_one_alone_equals_one_in_a_batch(kind: str) -> None:
    model = model_of(kind).double().eval()
    batch = batch_of(LENGTHS)
    whole = model.log_p(batch)
    for row, (_, t) in enumerate(LENGTHS):
        alone = model.log_p(of_rows(batch, row, t))
        assert torch.allclose(alone[0], whole[row, :t], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_makes_no_difference(kind: str) -> None:
    model = model_of(kind).eval()
    batch = batch_of([(5, 6), (3, 2), (1, 4)])
    without = batch._replace(src=batch.src[:, :1], src_keep=batch.src_keep[:, :1])
    assert torch.equal(model(batch).nll, model(without).nll)


@pytest.mark.parametrize("kind", KINDS)
def test_hypotheses_are_reordered_and_dropped_with_their_past(kind: str) -> None:
    model = model_of(kind).eval()
    src, keep = torch.zeros(2, 1, dtype=torch.long), torch.ones(2, 1, dtype=torch.bool)
    first = model.step(torch.tensor([5, 6, 7, 8]), model.start(src, keep, 2)).state
    found = model.step(torch.tensor([9, 10, 11, 12]), first.select(torch.tensor([1, 0, 2, 2])))
    for row, (past, y) in enumerate([(6, 9), (5, 10), (7, 11), (7, 12)]):
        alone = model.step(torch.tensor([past]), model.start(src[:1], keep[:1], 1)).state
        assert torch.allclose(found.log_p[row], model.step(torch.tensor([y]), alone).log_p[0], atol=1e-6)
    rows = torch.tensor([2, 3])
    kept = model.step(torch.tensor([4, 5]), found.state.keep_sentences(torch.tensor([1]), rows))
    all_rows = model.step(torch.tensor([4, 4, 4, 5]), found.state)
    assert torch.allclose(kept.log_p, take(all_rows.log_p, rows), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tied", ["target", "none"])
def test_gradient_reaches_every_parameter(kind: str, tied: str) -> None:
    model = model_of(kind, tied=tied).train()
    with noise(1):
        model(batch_of(LENGTHS)).loss.backward()
    for name, p in model.named_parameters():
        assert p.grad is not None, name
        assert bool(p.grad.isfinite().all()), name
        assert bool((p.grad != 0).any()), name


@pytest.mark.parametrize("kind", ["transformer", "rotary window", "lstm"])
def test_searches_find_what_exhaustive_search_finds(kind: str) -> None:
    model = model_of(kind, size=6).eval()
    assert isinstance(model, Stepper)
    src, keep = torch.zeros(4, 1, dtype=torch.long), torch.ones(4, 1, dtype=torch.bool)
    best = exhaustive_search(model, src, keep, max_length=4)[0][0]
    beam = BeamSearch(size=3**4, max_length=4, stop="all")(model, src, keep)
    assert beam[0][0].score == pytest.approx(best.score, abs=1e-5)
    assert greedy_search(model, src, keep, max_length=4)[0][0].score <= best.score + 1e-6
    samples = SampleSearch(size=3, max_length=4, temperature=0.7)(model, src, keep)
    assert all(sample.score <= best.score + 1e-6 for row in samples for sample in row)


@pytest.mark.parametrize("kind", KINDS)
def test_settings_bound_the_number_of_parameters(kind: str) -> None:
    """A model folder whose weights are fewer than this is refused, one whose are many more, too."""
    for tied in ("target", "none"):
        table = {"encoder": {"kind": "none"}, "decoder": KINDS[kind], "tied": tied}
        found = sum(p.numel() for p in model_of(kind, tied=tied).parameters())
        assert found / 2 < least_parameters(ModelConfig.model_validate(table), V, V) <= found


def test_same_seed_same_weights() -> None:
    pairs = zip(model_of("rotary").parameters(), model_of("rotary").parameters(), strict=True)
    assert all(torch.equal(p, q) for p, q in pairs)


def test_a_convolutional_decoder_is_refused() -> None:
    config: Any = ModelConfig.model_validate({"decoder": DECODERS["conv"], "tied": "target"})
    with pytest.raises(ConfigError, match="convolutional"):
        build_language_model(config, V, smoothing=0.1, seed=3)
