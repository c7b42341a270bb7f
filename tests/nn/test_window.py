"""Restricted self-attention: blocks equal the masked product, in values, gradients and one step at a time."""

from typing import Any

import pytest
import torch

from dragoman.nn.attention.attend import padding_bias, window_bias
from dragoman.nn.attention.multi_head import KeyValue, SelfAttention
from dragoman.nn.attention.window import WindowedSelfAttention
from dragoman.nn.dropout import noise
from dragoman.nn.fast.attention import cut
from dragoman.nn.position import RelativeBias, Rotary

SIZES: dict[str, dict[str, Any]] = {
    "plain": {},
    "grouped": {"kv_heads": 1},
    "rotary": {"relation": Rotary(200, 4)},
    "relative": {"relation": RelativeBias(2, ahead=True)},
}
PRECISIONS = [(torch.float64, 1e-12, 1e-12), (torch.float32, 1e-6, 2e-6)]


def attention(before: int, after: int, kind: str = "plain", dropout: float = 0.0) -> WindowedSelfAttention:
    torch.manual_seed(0)
    return WindowedSelfAttention(8, 2, dropout, before=before, after=after, **SIZES[kind])


def padding(lengths: list[int], dtype: torch.dtype) -> torch.Tensor:
    return padding_bias(torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1), dtype)


def test_window_shows_the_neighbourhood_and_always_itself() -> None:
    shown = window_bias(padding([4, 1], torch.float64), 4, 0, before=2, after=1) == 0
    assert shown[0].int().tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [0, 1, 1, 1]]
    assert shown[1].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize(("dtype", "forward", "backward"), PRECISIONS)
@pytest.mark.parametrize(("before", "after"), [(3, 3), (20, 20), (5, 0)])
def test_blocks_equal_the_masked_product(
    kind: str, dtype: torch.dtype, forward: float, backward: float, before: int, after: int
) -> None:
    module = attention(before, after, kind).to(dtype)
    x = torch.randn(3 * 67, 8, dtype=dtype, requires_grad=True)
    hidden = padding([67, 30, 1], dtype)
    q, kv = module.project(x, (3, 67), 0)
    slow, fast = module.by_mask(q, kv, hidden), module.by_blocks(q, kv, hidden)
    assert torch.allclose(slow, fast, rtol=0.0, atol=forward)
    weight = torch.randn_like(slow)
    inputs = [x, *(p for name, p in module.named_parameters() if "W_o" not in name)]
    a = torch.autograd.grad((slow * weight).sum(), inputs, retain_graph=True)
    b = torch.autograd.grad((fast * weight).sum(), inputs)
    for u, v in zip(a, b, strict=True):
        assert float((u - v).norm() / u.norm()) <= backward


def test_a_window_as_wide_as_the_sequence_is_full_attention() -> None:
    windowed, full = attention(9, 9).double(), SelfAttention(8, 2, 0.0).double()
    full.load_state_dict(windowed.state_dict())
    x, hidden = torch.randn(20, 8, dtype=torch.float64), padding([10, 6], torch.float64)
    real = torch.arange(10) < torch.tensor([[10], [6]])
    expected = full(x, (2, 10), hidden).view(2, 10, 8)
    assert torch.allclose(
        windowed(x, (2, 10), hidden).view(2, 10, 8)[real], expected[real], rtol=0.0, atol=1e-12
    )


@pytest.mark.parametrize("kind", ["plain", "grouped", "rotary"])
def test_a_step_keeps_only_the_window(kind: str) -> None:
    module = attention(4, 0, kind).double()
    x = torch.randn(2, 40, 8, dtype=torch.float64)
    whole = module(x.flatten(0, 1), (2, 40), None).view(2, 40, 8)
    empty = torch.empty(2, module.kv_heads, 0, 4, dtype=torch.float64)
    past = KeyValue(empty, empty)
    for t in range(40):
        c, past = module.step(x[:, t], past, t)
        assert torch.allclose(c, whole[:, t], rtol=0.0, atol=1e-12)
    assert past.k.shape[2] == 4


def test_nothing_to_see_is_still_a_number() -> None:
    """Padding far behind a short sentence has an empty neighbourhood; its zeros must not become NaN."""
    module = attention(2, 2, dropout=0.1).train()
    x = torch.randn(2 * 50, 8, requires_grad=True)
    with noise(1):
        module(x, (2, 50), padding([50, 3], torch.float32)).sum().backward()
    assert bool(x.grad.isfinite().all())


@pytest.mark.parametrize("steps", [256, 512, 1024])
def test_there_are_as_many_scores_as_steps_times_the_neighbourhood(steps: int) -> None:
    x = torch.randn(1, 1, steps, 2)
    blocks = cut(x, x, x, None, before=16, after=16)
    assert blocks.q.shape[0] * blocks.q.shape[2] * blocks.k.shape[2] == steps * (16 + 16 + 16)
