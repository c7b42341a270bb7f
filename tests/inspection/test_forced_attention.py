"""Forced attention is one-hot where it is forced, and a search with it is what the equations give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from dragoman.errors import UsageError
from dragoman.inference.explain import explain
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.inspection.attention import attention_layers
from dragoman.inspection.capture import Capture
from dragoman.inspection.forced_attention import ForcedAttention, forced_attention
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch
from dragoman.search.forced import forced_steps
from dragoman.search.greedy import greedy_search
from dragoman.search.topk import argmax
from support.pairs import BOS, EOS, batch_of, model_of
from support.tiny_bundle import RNN, TRANSFORMER, tiny

S, STEPS = 11, 6  # more source tokens than steps, so that the softmax of a self-attention is shorter
PAIRS = [
    ("transformer", "transformer"),
    ("rotary", "rotary"),
    ("bilstm", "lstm fed"),
    ("gru", "concat"),
    ("transformer", "lstm plain"),
    ("bilstm", "bahdanau"),
    ("gnmt", "gnmt"),
    ("projected elman", "joined"),
    ("conv", "conv"),
]
AT = {1: 4, 3: 0}
pairs = pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)


class OneHot(TorchFunctionMode):
    """Replaces the result of each softmax over the source by hand: 1 at a token, and 0 elsewhere."""

    def __init__(self, source: int) -> None:
        super().__init__()
        self.source = source

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is torch.softmax and result.shape[-1] == S:
            return torch.zeros_like(result).index_fill(-1, torch.tensor(self.source), 1.0)
        return result


def of(pair: tuple[str, str]) -> tuple[Seq2Seq, Batch]:
    return model_of(pair).double().eval(), batch_of([(S, STEPS)])


@torch.no_grad()
def by_hand(model: Seq2Seq, batch: Batch, at: Mapping[int, int]) -> tuple[list[int], float]:
    y, state = torch.tensor([BOS]), model.start(batch.src, batch.src_keep, 1)
    written, log_p = list[int](), 0.0
    for t in range(STEPS):
        with OneHot(at[t]) if t in at else nullcontext():
            step = model.step(y, state)
        y, state = argmax(step.log_p), step.state
        written.append(int(y))
        log_p += float(step.log_p[0, y])
        if written[-1] == EOS:
            break
    return written, log_p


@pairs
def test_a_search_with_it_is_a_decode_with_one_hot_weights(pair: tuple[str, str]) -> None:
    model, batch = of(pair)
    outputs = set()
    for source in range(S):
        at = {0: source, 2: (source + 5) % S}
        ((found,),) = greedy_search(ForcedAttention(model, at), batch.src, batch.src_keep, max_length=STEPS)
        tokens = [*found.tokens, EOS] if found.finished else list(found.tokens)
        expected, log_p = by_hand(model, batch, at)
        assert tokens == expected
        assert found.log_p == pytest.approx(log_p, rel=1e-6)
        outputs.add(found.log_p)
    assert len(outputs) > 1, "what is attended to makes a difference"


@pairs
def test_the_weights_are_one_hot_at_the_steps_and_the_same_before(pair: tuple[str, str]) -> None:
    model, batch = of(pair)
    with torch.no_grad(), Capture(model) as usual:
        model.log_p(batch)
    with torch.no_grad(), forced_attention(model, AT), Capture(model) as seen:
        log_p = model.log_p(batch)
    labels = [f"x{i}" for i in range(S)], [f"y{i}" for i in range(STEPS)]
    before = [layer for layer in attention_layers(usual, *labels) if layer.kind == "cross"]
    after = [layer for layer in attention_layers(seen, *labels) if layer.kind == "cross"]
    assert before
    for mine, other in zip(after, before, strict=True):
        for head, usual_head in zip(mine.heads, other.heads, strict=True):
            for t, source in AT.items():
                assert head[t] == tuple(float(i == source) for i in range(S))
            assert head[2] != tuple(float(i == AT[1]) for i in range(S)), "other steps attend themselves"
            if mine.layer == 1:
                assert head[0] == pytest.approx(usual_head[0], abs=1e-12)
    y = batch.tgt_out
    with torch.no_grad():
        steps = list(forced_steps(ForcedAttention(model, AT), batch.src, batch.src_keep, y))
    assert torch.allclose(torch.stack([s.log_p for s in steps], dim=1), log_p, rtol=0.0, atol=1e-6)
    for t, source in AT.items():
        assert steps[t].attention is not None
        assert steps[t].attention.argmax().item() == source
        assert steps[t].attention.sum().item() == pytest.approx(1.0)


@pairs
def test_nothing_remains_after_it(pair: tuple[str, str]) -> None:
    model, batch = of(pair)
    with torch.no_grad():
        usual = model.log_p(batch)
        greedy_search(ForcedAttention(model, AT), batch.src, batch.src_keep, max_length=STEPS)
        with forced_attention(model, AT):
            assert not torch.equal(model.log_p(batch), usual)
        assert torch.equal(model.log_p(batch), usual)
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert not any("forward_with_weights" in vars(module) for module in model.modules())


@pytest.mark.parametrize("source", [-1, 5, 8, 30])
@pytest.mark.parametrize("part", [RNN, TRANSFORMER], ids=["rnn", "transformer"])
def test_a_position_that_is_not_of_the_source_is_refused(part: dict[str, Any], source: int) -> None:
    """Also one of the padding, to which search extends the source."""
    with pytest.raises(UsageError, match=f"no source token {source}") as refused:
        explain(TorchRuntime(tiny(part)), "a b c d", attend={0: source})
    assert refused.value.expected == "a position from 0 to 4, that of </s>"


@pytest.mark.parametrize("part", [RNN, TRANSFORMER], ids=["rnn", "transformer"])
def test_an_explanation_has_the_forced_weights(part: dict[str, Any]) -> None:
    runtime = TorchRuntime(tiny(part))
    found = explain(runtime, "a b c d", attend={0: 2})
    (usual,) = runtime(["a b c d"], details=True)
    assert found.attention[-1].mean[0] == (0.0, 0.0, 1.0, 0.0, 0.0)
    assert found.attention[-1].mean[1] != found.attention[-1].mean[0]
    assert usual.details is not None
    assert found.steps[0].p != usual.details[0].log_p
    assert found.beam is not None
    winner = found.beam.path(found.beam.best[0])
    assert [found.beam.nodes[n - 1].p for n in winner] == pytest.approx([s.p for s in found.steps], rel=1e-3)
    assert not found.saliency
    assert found.gradients is None
