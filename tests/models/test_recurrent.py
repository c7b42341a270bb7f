"""What is particular to recurrent encoders and decoders; the battery has the rest."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError

from dragoman.config.model import ModelConfig
from dragoman.config.presets import PRESETS
from dragoman.config.search import SearchConfig
from dragoman.models.build import build_model
from dragoman.models.builders import recurrent
from dragoman.models.decoders.luong import InputFeedingDecoder
from dragoman.models.heads.token import TokenHead
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.cells.cell import Cell
from dragoman.nn.dropout import noise
from dragoman.nn.embedding import PlainEmbedding
from dragoman.protocols import Batch
from dragoman.search.build import build as build_search

RNN = {"kind": "rnn", "width": 12, "embedding": 16}
ONE_WAY = {**RNN, "bidirectional": False}
SRC = torch.tensor([[5, 6, 7, 8, 3], [9, 4, 3, 0, 0]])
KEEP = SRC != 0


def model_of(encoder: dict[str, Any], decoder: dict[str, Any]) -> Seq2Seq:
    config = ModelConfig.model_validate({"encoder": encoder, "decoder": decoder})
    return build_model(config, 23, 23, smoothing=0.1, seed=3).double().eval()


def test_a_backwards_encoder_is_a_forwards_one_on_the_reversed_source() -> None:
    forwards = model_of(ONE_WAY, RNN).encoder
    backwards = model_of({**ONE_WAY, "reversed_source": True}, RNN).encoder
    turned = torch.tensor([[3, 8, 7, 6, 5], [3, 4, 9, 0, 0]])
    expected, memory = forwards(turned, KEEP), backwards(SRC, KEEP)
    assert torch.allclose(memory.summary, expected.summary, rtol=0.0, atol=1e-12)
    assert torch.allclose(memory.states[0], expected.states[0].flip(0), rtol=0.0, atol=1e-12)
    assert torch.allclose(memory.states[1, :3], expected.states[1, :3].flip(0), rtol=0.0, atol=1e-12)


def test_the_last_state_is_copied_layer_by_layer() -> None:
    model = model_of({**ONE_WAY, "layers": 2}, {**RNN, "layers": 2, "form": "sutskever", "bridge": "last"})
    memory = model.encoder(SRC, KEEP)
    states = model.decoder.start(memory, 2).moving
    assert len(states) == 2
    for state, (h, c) in zip(states, memory.ends, strict=True):
        assert torch.equal(state.h, h.repeat_interleave(2, dim=0))
        assert torch.equal(state.c, c.repeat_interleave(2, dim=0))


def test_bahdanau_asks_with_the_state_before_and_luong_with_the_state_after() -> None:
    for form, before in (("bahdanau", True), ("luong", False)):
        model = model_of(RNN, {**RNN, "form": form, "attention": "additive", "cell": "gru"})
        start = model.start(SRC, KEEP, 1)
        first = start.moving if form == "bahdanau" else start.moving[0]
        _, state, alpha = model.decoder.step(torch.tensor([2, 2]), start)
        after = state.moving if form == "bahdanau" else state.moving[0]
        asked = first if before else after
        _, expected = model.decoder.attention.step(asked[0].h, start.fixed)
        assert torch.allclose(alpha, expected, rtol=0.0, atol=1e-12)


def test_cho_sees_one_summary_at_every_step() -> None:
    model = model_of(RNN, {**RNN, "form": "cho"})
    memory = model.encoder(SRC, KEEP)
    state = model.decoder.start(memory, 3)
    assert torch.allclose(
        state.fixed, torch.tanh(memory.summary @ model.decoder.V.weight.T), rtol=0.0, atol=1e-12
    )
    blind = memory._replace(states=torch.zeros_like(memory.states))
    target = torch.tensor([[2, 5], [2, 6]])
    assert torch.equal(model.decoder(memory, target), model.decoder(blind, target))


@pytest.mark.parametrize("form", ["sutskever", "cho"])
def test_search_goes_without_attention(form: str) -> None:
    model = model_of(RNN, {**RNN, "form": form})
    assert model.step(torch.tensor([2, 2]), model.start(SRC, KEEP, 1)).attention is None
    for size in (1, 2):
        found = build_search(SearchConfig(kind="beam", size=size, max_length=4))(model, SRC, KEEP)
        assert [len(hypotheses) for hypotheses in found] == [size, size]


@pytest.mark.parametrize("form", ["sutskever", "cho", "bahdanau", "luong", "joined", "gnmt"])
@pytest.mark.parametrize("variational", [False, True])
def test_training_may_go_step_by_step(form: str, variational: bool) -> None:
    model = model_of(RNN, {**RNN, "form": form, "dropout": 0.5, "variational": variational})
    start, y = model.start(SRC, KEEP, 1), torch.tensor([2, 2])
    expected, _, _ = model.decoder.step(y, start)
    model.train()
    found = []
    for _ in range(2):
        with noise(1):
            found.append(model.decoder.step(y, start)[0])
    assert torch.equal(found[0], found[1])
    assert not torch.allclose(found[0], expected)


def test_shared_cells_are_one() -> None:
    decoder = {**RNN, "form": "joined"}
    apart, shared = model_of(ONE_WAY, decoder), model_of(ONE_WAY, {**decoder, "share_cells": True})
    cell = shared.encoder.layers[0].cell
    assert shared.decoder.trunk.layers[0].cell is cell
    saved = sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in shared.parameters())
    assert saved == sum(p.numel() for p in cell.parameters())


def test_the_default_is_luong_with_input_feeding() -> None:
    assert isinstance(model_of(RNN, RNN).decoder, InputFeedingDecoder)


@pytest.mark.parametrize(
    ("encoder", "decoder", "message"),
    [
        ({**RNN, "width": [4, 5]}, RNN, "width lists 2 sizes for layers = 1"),
        ({**RNN, "reversed_source": True}, RNN, "set bidirectional = false"),
        (RNN, {**RNN, "bridge": "last"}, 'bridge = "last" copies the state of each layer'),
        (ONE_WAY, {**RNN, "bridge": "last", "width": 13}, 'set decoder.bridge = "projected"'),
        (ONE_WAY, {**RNN, "bridge": "last", "cell": "gru"}, "the decoder's cell, layers and width"),
        ({"kind": "transformer"}, {**RNN, "bridge": "last"}, 'must be of kind "rnn"'),
        (ONE_WAY, {**RNN, "share_cells": True}, "cells may read only the token"),
        (ONE_WAY, {**RNN, "share_cells": True, "form": "joined", "embedding": 8}, "width and embedding"),
        (RNN, {**RNN, "form": "sutskever", "bridge": "zero"}, "source only through its initial state"),
    ],
)
def test_what_cannot_be_is_refused(encoder: dict[str, Any], decoder: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ModelConfig.model_validate({"encoder": encoder, "decoder": decoder, "tied": "none"})


PAPERS = (
    "rnn-small",
    "gru-small",
    "elman",
    "cho2014",
    "sutskever2014",
    "bahdanau2015",
    "luong2015",
    "gnmt2016",
)


@pytest.mark.parametrize("preset", PAPERS)
def test_presets_learn_and_write_when_made_small(preset: str) -> None:
    table = PRESETS[preset]()
    for part in (table["encoder"], table["decoder"]):
        part |= {"width": 8, "embedding": 8}
    model = build_model(ModelConfig.model_validate(table), 23, 23, smoothing=0.1, seed=3)
    target = torch.tensor([[2, 5, 6], [2, 7, 8]])
    batch = Batch(SRC, KEEP, target, target, target > 0)
    with noise(1):
        model(batch).loss.backward()
    assert all(p.grad is not None for p in model.parameters())
    search = build_search(SearchConfig(kind="greedy", max_length=3))
    assert len(search(model.eval(), SRC, KEEP)) == 2
    exact = float(model(batch).nll)
    with torch.autocast("cpu"):
        assert float(model(batch).nll) == pytest.approx(exact, rel=0.02)


def test_gnmt_has_its_residuals_where_widths_agree() -> None:
    model = model_of(
        {**RNN, "layers": 4, "bidirectional": "bottom", "residual": True},
        {**RNN, "form": "gnmt", "layers": 4},
    )
    around = [type(layer.around).__name__ for layer in model.encoder.layers]
    assert around == ["Plain", "Plain", "Residual", "Residual"]
    assert [layer.cell.W_x.shape[1] for layer in model.decoder.trunk.layers] == [16 + 12, 24, 24, 24]


def test_widths_may_differ_by_layer() -> None:
    part = {**RNN, "layers": 3, "width": [8, 6, 4], "residual": True}
    model = model_of(part, part)
    assert [layer.right.size for layer in model.encoder.layers] == [8, 6, 4]
    assert model.encoder(SRC, KEEP).states.shape == (2, 5, 8)


@pytest.mark.parametrize("preset", ["elman", "rnn-small", "gru-small", "cho2014", "bahdanau2015"])
def test_gates_see_the_tokens_from_the_start(preset: str) -> None:
    """Rows of the embedding have norm 1. Without larger weights a model would take long to look at them."""
    config = ModelConfig.model_validate({"preset": preset, **PRESETS[preset]()})
    model = build_model(config, 40, 40, smoothing=0.0, seed=1)
    for part in (model.encoder, model.decoder):
        assert isinstance(part, torch.nn.Module)
        embed = next(module for module in part.modules() if isinstance(module, PlainEmbedding))
        cell = next(module for module in part.modules() if isinstance(module, Cell))
        assert isinstance(embed.matrix, torch.nn.Parameter)
        seen = embed.matrix @ cell.W_x[:, : embed.matrix.shape[1]].T
        assert 0.2 < seen.std().item() < 1.2


@pytest.mark.parametrize("preset", PAPERS)
def test_logits_of_a_new_network_differ(preset: str) -> None:
    """A deep network whose logits have an rms of 0.01 learns slowly; one of more than 2 is too sure."""
    table = PRESETS[preset]()
    for part in (table["encoder"], table["decoder"]):
        part |= {"width": 128, "embedding": 128}
    model = build_model(ModelConfig.model_validate(table), 300, 300, smoothing=0.0, seed=1).eval()
    assert isinstance(model.head, TokenHead)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(1)
        src, tgt = torch.randint(4, 300, (2, 8, 12))
        h = model.decoder(model.encoder(src, src != 0), tgt)
        rms = (h @ model.head.W.T).square().mean().sqrt().item()
    assert 0.1 < rms < 2


TRANSFORMER = {"kind": "transformer", "width": 16, "heads": 4, "ffn": 32, "layers": 1}
SHARED = {**RNN, "form": "sutskever", "share_cells": True}


@pytest.mark.parametrize(
    ("encoder", "decoder", "norm", "enlarged"),
    [
        (RNN, {**RNN, "form": "luong"}, 4.0, {"none", "target", "all"}),
        (RNN, {**RNN, "form": "joined", "layers": 2}, 4.0, {"none", "target", "all"}),
        ({**ONE_WAY, "reversed_source": True}, {**RNN, "form": "sutskever"}, 4.0, {"none", "target", "all"}),
        (RNN, {**RNN, "form": "gnmt", "layers": 2}, 4.0, {"none", "target", "all"}),
        (RNN, {**RNN, "form": "gnmt", "layers": 2, "residual": True}, 2.0, {"none", "target", "all"}),
        (RNN, {**RNN, "form": "luong", "norm": True}, 1.0, set()),
        (RNN, {**RNN, "form": "bahdanau"}, 1.0, set()),
        (RNN, {**RNN, "form": "cho"}, 1.0, set()),
        (RNN, {**RNN, "form": "sutskever", "cell": "elman"}, 1.0, set()),
        (RNN, {**RNN, "form": "luong", "cell": "gru"}, 1.0, set()),
        (TRANSFORMER, {**RNN, "form": "luong"}, 4.0, {"none", "target"}),
        (ONE_WAY, SHARED, 4.0, {"none", "all"}),
    ],
)
@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_larger_rows_of_the_output_change_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
    encoder: dict[str, Any],
    decoder: dict[str, Any],
    norm: float,
    enlarged: set[str],
    tied: str,
) -> None:
    config = ModelConfig.model_validate({"encoder": encoder, "decoder": decoder, "tied": tied})
    with monkeypatch.context() as patch:
        patch.setattr(recurrent, "may_enlarge_rows", lambda config: False)
        before = build_model(config, 23, 23, smoothing=0.1, seed=3).double().eval()
    after = build_model(config, 23, 23, smoothing=0.1, seed=3).double().eval()
    assert isinstance(before.head, TokenHead)
    assert isinstance(after.head, TokenHead)
    factor = norm if tied in enlarged else 1.0
    assert torch.allclose(after.head.W, factor * before.head.W, rtol=1e-12, atol=0.0)
    target = torch.tensor([[2, 5, 6, 7], [2, 7, 8, 0]])
    expected, found = (model.decoder(model.encoder(SRC, KEEP), target) for model in (before, after))
    assert torch.allclose(found, expected, rtol=0.0, atol=1e-6)
