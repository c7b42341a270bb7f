"""One battery that every encoder × decoder pair passes."""

from itertools import product
from typing import Any

import pytest
import torch

from dragoman.config.model import ModelConfig
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch, take

V, BOS, EOS = 23, 2, 3
TRANSFORMER = {"kind": "transformer", "layers": 2, "width": 16, "heads": 2, "ffn": 24}
ENCODERS = {
    "transformer": TRANSFORMER,
    "post-norm learned": {**TRANSFORMER, "norm": "post", "positions": "learned", "activation": "gelu"},
    "bilstm": {"kind": "rnn", "cell": "lstm", "layers": 2, "width": 9, "embedding": 16},
    "gru": {"kind": "rnn", "cell": "gru", "layers": 1, "width": 11, "embedding": 16, "bidirectional": False},
    "conv": {"kind": "conv", "layers": 2, "width": [12, 14], "kernel": [3, 2], "embedding": 16},
    "kalchbrenner": {"kind": "kalchbrenner", "embedding": 16, "max_positions": 9},
}
DECODERS = {
    "transformer": TRANSFORMER,
    "post-norm learned": {**TRANSFORMER, "norm": "post", "positions": "learned"},
    "lstm fed": {"kind": "rnn", "cell": "lstm", "layers": 2, "width": 12, "embedding": 16},
    "gru additive fed": {"kind": "rnn", "cell": "gru", "width": 12, "embedding": 16, "attention": "additive"},
    "lstm plain": {"kind": "rnn", "cell": "lstm", "width": 12, "embedding": 16, "input_feeding": False},
    "conv": {"kind": "conv", "layers": 3, "width": [12, 12, 14], "kernel": [3, 2, 1], "embedding": 16},
}
PAIRS = list(product(ENCODERS, DECODERS))
# What differs in one equation only meets one partner.
SCORES = ("concat", "dot", "scaled-dot", "cosine")
DECODERS |= {
    score: {"kind": "rnn", "cell": "gru", "width": 11, "embedding": 16, "attention": score}
    for score in SCORES
}
PAIRS += [("gru", score) for score in SCORES]
TRANSFORMERS = {
    "rotary": {"positions": "rotary", "norm_kind": "rms", "activation": "swiglu", "kv_heads": 1},
    "relative": {"positions": "relative", "norm": "post", "norm_kind": "rms", "stochastic_depth": 0.2},
    "rotary window": {"positions": "rotary", "window": 1},
    "relative window": {"positions": "relative", "window": 2, "kv_heads": 1},
    "sinusoidal window": {"window": 2},
}
for name, choices in TRANSFORMERS.items():
    ENCODERS[name] = DECODERS[name] = {**TRANSFORMER, **choices}
    PAIRS += [(name, name)]
PAIRS += [("relative window", "lstm plain"), ("gru", "rotary window")]

RNN = {"kind": "rnn", "width": 12, "embedding": 16}
ENCODERS |= {
    "mean peephole": {**RNN, "cell": "peephole-lstm", "layers": 2, "join": "mean", "width": [7, 12]},
    "projected elman": {**RNN, "cell": "elman", "layers": 2, "join": "projection", "residual": True},
    "gnmt": {**RNN, "layers": 3, "bidirectional": "bottom", "residual": True, "norm": True},
    "backwards lstm": {**RNN, "layers": 2, "bidirectional": False, "reversed_source": True},
    "coupled one way": {**RNN, "cell": "coupled-lstm", "bidirectional": False, "embedding": 12},
}
DECODERS |= {
    "sutskever": {**RNN, "form": "sutskever", "layers": 2, "bridge": "last"},
    "sutskever elman": {**RNN, "form": "sutskever", "cell": "elman", "variational": True},
    "cho": {**RNN, "form": "cho", "cell": "gru", "bridge": "zero"},
    "cho deep": {**RNN, "form": "cho", "cell": "peephole-lstm", "layers": 2, "width": [9, 7]},
    "bahdanau": {**RNN, "form": "bahdanau", "cell": "gru", "attention": "additive"},
    "bahdanau deep": {**RNN, "form": "bahdanau", "layers": 2, "residual": True, "norm": True},
    "joined": {**RNN, "form": "joined", "cell": "coupled-lstm", "layers": 2, "residual": True},
    "joined shared": {**RNN, "form": "joined", "cell": "coupled-lstm", "embedding": 12, "share_cells": True},
    "luong zero": {**RNN, "bridge": "zero", "norm": True, "variational": True, "layers": 2, "width": [8, 9]},
    "gnmt": {**RNN, "form": "gnmt", "layers": 3, "residual": True, "attention": "additive"},
}
PAIRS += [
    ("backwards lstm", "sutskever"),
    ("mean peephole", "sutskever elman"),
    ("transformer", "sutskever elman"),
    ("gru", "cho"),
    ("transformer", "cho deep"),
    ("bilstm", "bahdanau"),
    ("transformer", "bahdanau deep"),
    ("projected elman", "joined"),
    ("coupled one way", "joined shared"),
    ("backwards lstm", "luong zero"),
    ("gnmt", "gnmt"),
    ("gnmt", "transformer"),
]


def model_of(pair: tuple[str, str], tied: str = "all") -> Seq2Seq:
    parts: dict[str, Any] = {"encoder": ENCODERS[pair[0]], "decoder": DECODERS[pair[1]], "tied": tied}
    return build_model(ModelConfig.model_validate(parts), V, V, smoothing=0.1, seed=3)


def batch_of(lengths: list[tuple[int, int]], seed: int = 0) -> Batch:
    draw = torch.Generator().manual_seed(seed)
    S, T = max(s for s, _ in lengths), max(t for _, t in lengths)
    src, tgt = (
        torch.zeros(len(lengths), S, dtype=torch.long),
        torch.zeros(len(lengths), T + 1, dtype=torch.long),
    )
    for row, (s, t) in enumerate(lengths):
        src[row, :s] = torch.randint(4, V, (s,), generator=draw)
        tgt[row, : t + 1] = torch.randint(4, V, (t + 1,), generator=draw)
        tgt[row, 0] = BOS
    src_keep = torch.arange(S) < torch.tensor([[s] for s, _ in lengths])
    tgt_keep = torch.arange(T) < torch.tensor([[t] for _, t in lengths])
    return Batch(src, src_keep, tgt[:, :-1].clone(), tgt[:, 1:].clone(), tgt_keep)


def features(model: Seq2Seq, batch: Batch) -> torch.Tensor:
    return model.decoder(model.encoder(batch.src, batch.src_keep), batch.tgt_in, batch.tgt_keep)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_step_by_step_equals_the_whole_sequence(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(7, 5), (3, 5), (1, 5)])
    whole = features(model, batch)
    state = model.start(batch.src, batch.src_keep, 1)
    for t in range(5):
        h, state, attention = model.decoder.step(batch.tgt_in[:, t], state)
        assert torch.allclose(h, whole[:, t], atol=1e-12)
        if attention is not None:
            assert torch.allclose(attention.sum(dim=1), torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_padding_changes_nothing(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(7, 6), (3, 2), (5, 4)])
    whole = features(model, batch)
    for row, (s, t) in enumerate([(7, 6), (3, 2), (5, 4)]):
        alone = Batch(*(x[row : row + 1, : s if i < 2 else t] for i, x in enumerate(batch)))
        assert torch.allclose(features(model, alone)[0], whole[row, :t], atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_hypotheses_side_by_side_and_reordered_step_like_single_ones(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(4, 3), (6, 3)])
    state = model.start(batch.src, batch.src_keep, 2)
    _, state, _ = model.decoder.step(torch.tensor([5, 6, 7, 8]), state)
    state = state.select(torch.tensor([1, 0, 2, 2]))
    h, _, _ = model.decoder.step(torch.tensor([9, 10, 11, 12]), state)
    for row, (sentence, first, second) in enumerate([(0, 6, 9), (0, 5, 10), (1, 7, 11), (1, 7, 12)]):
        s = 4 if sentence == 0 else 6
        alone = model.start(
            batch.src[sentence : sentence + 1, :s], batch.src_keep[sentence : sentence + 1, :s], 1
        )
        _, alone, _ = model.decoder.step(torch.tensor([first]), alone)
        expected, _, _ = model.decoder.step(torch.tensor([second]), alone)
        assert torch.allclose(h[row], expected[0], atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_dropping_finished_sentences_leaves_the_others_alone(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(4, 3), (6, 3), (2, 3)])
    state = model.start(batch.src, batch.src_keep, 1)
    y = torch.tensor([5, 6, 7])
    _, state, _ = model.decoder.step(y, state)
    expected, _, _ = model.decoder.step(y, state)
    rows = torch.tensor([2, 0])
    h, _, _ = model.decoder.step(y[rows], state.keep_sentences(rows, rows))
    assert torch.allclose(h, take(expected, rows), atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
@pytest.mark.parametrize("tied", ["all", "none"])
def test_gradient_reaches_every_parameter(pair: tuple[str, str], tied: str) -> None:
    model = model_of(pair, tied).train()
    with noise(1):
        model(batch_of([(7, 6), (3, 2), (5, 4)])).loss.backward()
    # Keys have a bias that softmax cannot see, and encoders without recurrence leave their summary unused.
    for name, p in model.named_parameters():
        assert p.grad is not None, name
        assert bool(p.grad.isfinite().all()), name
        assert bool((p.grad != 0).any()), name


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_same_seed_same_weights(pair: tuple[str, str]) -> None:
    a, b = model_of(pair), model_of(pair)
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("kind", ["transformer", "conv"])
def test_a_round_number_of_rows_changes_nothing(kind: str) -> None:
    """In bf16 the tokens are filled up; the fp32 model is what they must agree with."""
    batch = batch_of([(7, 6), (3, 2), (5, 4)])
    exact = model_of((kind, kind)).eval()
    rounded = model_of((kind, kind)).bfloat16().eval()
    assert float(rounded(batch).nll) == pytest.approx(float(exact(batch).nll), rel=0.01)
