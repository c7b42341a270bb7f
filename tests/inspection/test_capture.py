"""A capture hears the network's own weights and leaves no trace: every encoder with every decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from dragoman.inspection.attention import attention_layers
from dragoman.inspection.capture import Capture
from dragoman.inspection.cells import decoder_traces, encoder_traces
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.cells.cell import Cell
from dragoman.nn.dropout import noise
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.protocols import Batch
from dragoman.search.forced import forced
from support.pairs import DECODERS, ENCODERS, PAIRS, batch_of, model_of

LENGTHS = [(7, 5), (3, 5), (1, 5)]


class SoftmaxRecorder(TorchFunctionMode):
    """Keeps what torch.softmax returns: the weights that a network computes for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[torch.Tensor] = []

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is torch.softmax:
            self.results.append(result)
        return result


def captured(model: Seq2Seq, batch: Batch) -> Capture:
    with torch.no_grad(), Capture(model) as seen:
        model.log_p(batch)
    return seen


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_weights_are_those_that_the_network_computes_itself(pair: tuple[str, str]) -> None:
    model, batch = model_of(pair).double().eval(), batch_of(LENGTHS)
    with torch.no_grad(), SoftmaxRecorder() as own:
        model.log_p(batch)
    seen = captured(model, batch)
    calls = [weights for calls in seen._weights.values() for weights in calls]
    assert len(calls) == len(own.results)
    for weights, expected in zip(calls, own.results, strict=True):
        assert torch.equal(weights, expected.view(weights.shape))


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_weights_are_those_that_search_sees(pair: tuple[str, str]) -> None:
    """The mean of the heads of a Transformer's last layer, of all blocks of a ConvS2S, or the only ones."""
    model, batch = model_of(pair).double().eval(), batch_of(LENGTHS)
    expected = forced(model, batch.src, batch.src_keep, batch.tgt_out.tolist()).attention
    layers = [w for name, w in captured(model, batch).attention.items() if is_cross(model, name)]
    if expected is None:
        assert not layers
        return
    is_conv = DECODERS[pair[1]]["kind"] == "conv"
    weights = torch.stack(layers).mean(dim=0) if is_conv else layers[-1]
    assert torch.allclose(weights.mean(dim=1), expected.double(), rtol=0.0, atol=1e-6)


def is_cross(model: Seq2Seq, name: str) -> bool:
    return name.startswith("decoder") and type(model.get_submodule(name)).__name__ not in (
        "SelfAttention",
        "WindowedSelfAttention",
    )


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_rows_sum_to_one_and_every_layer_has_its_tokens(pair: tuple[str, str]) -> None:
    model, batch = model_of(pair).double().eval(), batch_of([(6, 4)])
    source, output = [f"x{i}" for i in range(6)], [f"y{i}" for i in range(4)]
    for layer in attention_layers(captured(model, batch), source, output):
        for head in layer.heads:
            assert len(head) == len(layer.queries)
            for row in head:
                assert len(row) == len(layer.keys)
                assert sum(row) == pytest.approx(1.0)
        assert layer.queries == tuple(source if layer.kind == "encoder" else output)
        if layer.kind == "decoder":
            assert layer.keys == ("<s>", *output[:-1])
            assert all(head[t][s] == 0.0 for head in layer.heads for t in range(4) for s in range(t + 1, 4))


@pytest.mark.parametrize("kind", ["transformer", "rotary", "relative"])
def test_weights_of_long_sentences_are_those_of_the_fused_kernel(kind: str) -> None:
    """Above 128 × 128 scores torch's kernel is used, which returns no weights: α V is its context."""
    model, batch = model_of((kind, kind)).double().eval(), batch_of([(150, 150)])
    attention = model.encoder.layers[0].attention
    contexts: list[torch.Tensor] = []
    hook = attention.W_o.register_forward_hook(lambda module, given, output: contexts.append(given[0]))
    inputs: list[Any] = []
    before = attention.register_forward_pre_hook(lambda module, given: inputs.append(given))
    with SoftmaxRecorder() as own:
        seen = captured(model, batch)
    hook.remove()
    before.remove()
    assert len(own.results) == len(seen.attention), "only the capture computed weights"
    _, kv = attention.project(inputs[0][0], inputs[0][1], 0)
    alpha = seen.attention["encoder.layers.0.attention"]
    v = kv.v.repeat_interleave(alpha.shape[1] // kv.v.shape[1], dim=1)
    assert torch.allclose((alpha @ v).transpose(1, 2).flatten(2)[0], contexts[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_same_bits_with_a_capture_and_no_hook_after_it(pair: tuple[str, str]) -> None:
    model, batch = model_of(pair).train(), batch_of(LENGTHS)

    def loss() -> torch.Tensor:
        with noise(1, 2, 3):
            return model(batch).loss

    plain = loss()
    with Capture(model):
        heard = loss()
    assert torch.equal(plain, heard)
    assert not any(module._forward_hooks for module in model.modules())


def test_an_error_inside_removes_the_hooks_too() -> None:
    model = model_of(("transformer", "transformer"))
    with pytest.raises(ZeroDivisionError), Capture(model):
        1 / 0  # noqa: B018
    assert not any(module._forward_hooks for module in model.modules())


RECURRENT = [
    pair for pair in PAIRS if ENCODERS[pair[0]]["kind"] == "rnn" or DECODERS[pair[1]]["kind"] == "rnn"
]


@pytest.mark.parametrize("pair", RECURRENT, ids=" → ".join)
def test_states_of_cells_are_what_the_layers_returned(pair: tuple[str, str]) -> None:
    model, batch = model_of(pair).double().eval(), batch_of([(6, 4)])
    before = model.log_p(batch)
    tokens = [f"x{i}" for i in range(6)], [f"y{i}" for i in range(4)]
    seen = captured(model, batch)
    traces = [*encoder_traces(seen, tokens[0]), *decoder_traces(model, batch, tokens[1])]
    assert traces
    for trace in traces:
        h = torch.tensor(trace.states["h"], dtype=torch.float64)
        layer, _, direction = trace.name.rpartition(".")
        returned = heard_outputs(model, seen, layer, direction)
        if returned is not None:
            assert torch.allclose(h, returned, rtol=0.0, atol=1e-9)
        assert all(len(rows) == len(trace.tokens) for rows in trace.gates.values())
        assert_equation(trace)
    assert torch.equal(model.log_p(batch), before)
    assert not any("gate" in vars(m) for m in model.modules() if isinstance(m, Cell))


def heard_outputs(model: Seq2Seq, seen: Capture, layer: str, direction: str) -> torch.Tensor | None:
    """What a layer returned, where that is h itself: no norm, no residual connection, one direction."""
    module = model.get_submodule(layer)
    around = module.around
    if isinstance(module, BidirectionalLayer) or type(around).__name__ != "Plain":
        return None
    if not isinstance(around.norm, nn.Identity):
        return None
    returned = seen.outputs[layer][0]
    return returned.flip(0) if "reader" in layer else returned


def assert_equation(trace: Any) -> None:
    """c' = f c + i ĉ and h' = o tanh(c'), or h' = u h + (1 − u) ĥ, with the gates that are shown."""
    gates = {k: torch.tensor(v, dtype=torch.float64) for k, v in trace.gates.items()}
    states = {k: torch.tensor(v, dtype=torch.float64) for k, v in trace.states.items()}
    turned = trace.name.endswith(".left") or "reader" in trace.name
    if turned:
        gates, states = ({k: v.flip(0) for k, v in x.items()} for x in (gates, states))
    if "o" in gates:
        c, i = states["c"], gates.get("i", 1 - gates["f"])
        assert torch.allclose(c[1:], (gates["f"] * c.roll(1, 0) + i * gates["ĉ"])[1:])
        assert torch.allclose(states["h"], gates["o"] * c.tanh())
    elif "u" in gates:
        h, u = states["h"], gates["u"]
        assert torch.allclose(h[1:], (u * h.roll(1, 0) + (1 - u) * gates["ĥ"])[1:])
    else:
        assert trace.kind == "Elman"
