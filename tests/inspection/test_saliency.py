"""Saliency: gradients against finite differences, completeness, and occlusion against its definition."""

from __future__ import annotations

import pytest
import torch

from dragoman.config.model import ModelConfig
from dragoman.inspection.gradient_flow import UnrolledCell, gradient_flow, recurrent_norm
from dragoman.inspection.saliency import (
    differentiable,
    embeddings,
    input_gradients,
    integrated_gradients,
    occlusion,
    saliencies,
    token_log_p,
    written_log_p,
)
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.protocols import Batch
from dragoman.text.specials import EOS, UNK
from support.pairs import batch_of, model_of

PAIRS = [
    ("transformer", "transformer"),
    ("post-norm learned", "post-norm learned"),
    ("bilstm", "bahdanau"),
    ("backwards lstm", "sutskever"),
    ("backwards lstm", "luong zero"),
    ("gru", "lstm plain"),
    ("conv", "conv"),
    ("gnmt", "gnmt"),
]


def sentence(S: int = 6, T: int = 4) -> Batch:
    batch = batch_of([(S, T)])
    batch.src[0, -1] = EOS
    return batch


def of(pair: tuple[str, str]) -> Seq2Seq:
    model = model_of(pair).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # So that outputs depend on inputs; those of a Transformer with random weights do.
            parameter.mul_(1.0 if "norm" in pair[0] or "transformer" in pair[0] else 1.5)
    return model


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_integrated_gradients_add_up_to_the_difference_that_unknown_words_make(pair: tuple[str, str]) -> None:
    model, batch = of(pair), sentence()
    unknown = torch.where(batch.src == EOS, batch.src, UNK)
    with torch.no_grad():
        difference = (written_log_p(model, batch) - written_log_p(model, batch._replace(src=unknown)))[0]
    with differentiable(model):
        scores, gap = integrated_gradients(model, batch)
    assert gap < 0.01
    sums = scores.sum(dim=1).to(difference)
    assert torch.allclose(sums, difference, rtol=0.0, atol=0.01 * float(difference.norm()))
    assert torch.all(scores[:, -1] == 0.0), "</s> is the same at both ends"


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_input_times_gradient_is_the_slope_of_scaling_an_embedding(pair: tuple[str, str]) -> None:
    model, batch = of(pair), sentence()
    with differentiable(model):
        scores = input_gradients(model, batch)
    e, small = embeddings(model, batch.src, batch.src_keep), 3e-3  # log p is in fp32
    for s in range(6):
        place = 5 - s if pair[0] == "backwards lstm" else s
        ends = []
        for sign in (1, -1):
            scaled = e.clone()
            scaled[:, place] *= 1 + sign * small
            ends.append(token_log_p(model, batch, scaled)[0].detach())
        slope = (ends[0] - ends[1]).double() / (2 * small)
        assert torch.allclose(scores[:, s].double(), slope, rtol=1e-2, atol=3e-3 * float(scores.abs().max()))


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_occlusion_is_the_loss_of_one_unknown_word(pair: tuple[str, str]) -> None:
    model, batch = of(pair), sentence()
    scores = occlusion(model, batch)
    for s in range(5):
        src = batch.src.clone()
        src[0, s] = UNK
        lost = written_log_p(model, batch) - written_log_p(model, batch._replace(src=src))
        assert torch.allclose(scores[:, s], lost[0].detach(), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_gradient_flow_is_the_gradient_of_the_loss(pair: tuple[str, str]) -> None:
    model, batch = of(pair), sentence()
    flow = gradient_flow(model, batch, list("abcdef"), list("uvwx"))
    assert {layer.name.partition(".")[0] for layer in flow.layers} == {"encoder", "decoder"}
    for layer in flow.layers:
        assert len(layer.norms) == len(layer.tokens)
        assert all(norm >= 0.0 for norm in layer.norms)
    top = [layer for layer in flow.layers if layer.name.startswith("decoder")][-1]
    assert all(norm > 0.0 for norm in top.norms)


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
def test_the_gradient_of_a_state_has_come_back_through_time(cell: str) -> None:
    """Only the last state of the encoder is read: an earlier one counts by what it does to later ones."""
    part = {"kind": "rnn", "cell": cell, "width": 5, "embedding": 4, "dropout": 0.0}
    parts = {"encoder": {**part, "bidirectional": False}, "decoder": {**part, "form": "sutskever"}}
    config = ModelConfig.model_validate({**parts, "tied": "none"})
    model = build_model(config, 20, 20, smoothing=0.0, seed=1).double().eval()
    batch = sentence()
    (encoder,) = [
        x for x in gradient_flow(model, batch, list("abcdef"), list("uvwx")).layers if "enc" in x.name
    ]
    layer = model.encoder.layers[0]  # type: ignore[attr-defined]
    nudge = torch.zeros(6, 5, dtype=torch.double, requires_grad=True)
    gate, steps = layer.cell.gate, iter(nudge)
    layer.cell = UnrolledCell(layer.cell)
    layer.cell.gate = lambda a, s: (new := gate(a, s))._replace(h=new.h + next(steps))
    loss = -written_log_p(model, batch).sum()
    (expected,) = torch.autograd.grad(loss, nudge)
    if cell != "lstm":  # whose state is (h, c)
        assert encoder.norms == pytest.approx(expected.norm(dim=1).tolist(), rel=1e-9)
    assert all(norm >= h for norm, h in zip(encoder.norms, expected.norm(dim=1).tolist(), strict=True))
    assert min(encoder.norms) > 0.0


def test_no_gradient_is_left_in_the_network() -> None:
    model, batch = of(("bilstm", "bahdanau")), sentence()
    saliencies(model, batch, list("abcdef"), list("uvwx"))
    gradient_flow(model, batch, list("abcdef"), list("uvwx"))
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module.training for module in model.modules())
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    ("kind", "block"), [(ElmanCell, 0), (LSTMCell, 2), (CoupledLSTMCell, 1), (GRUCell, 2)]
)
def test_spectral_norm_is_that_of_the_block_that_makes_new_content(kind: type, block: int) -> None:
    cell = kind(3, 5)
    W = torch.diag(torch.tensor([0.5, -3.0, 1.0, 0.1, 2.0]))
    with torch.no_grad():
        cell.W_h.zero_()
        cell.W_h[block * 5 : (block + 1) * 5] = W
    assert recurrent_norm(cell) == pytest.approx(3.0)
