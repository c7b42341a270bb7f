"""Norms, feed-forward layers, grouped heads, and the layers that are left out."""

import pytest
import torch
from torch import nn

from dragoman.nn.attention.attend import scaled_dot
from dragoman.nn.attention.multi_head import CrossAttention, SelfAttention
from dragoman.nn.dropout import Dropout, chance, noise
from dragoman.nn.fast.attention import sdpa
from dragoman.nn.norm import RMSNorm
from dragoman.nn.transformer.feedforward import FeedForward
from dragoman.nn.transformer.residual import LayerDrop, PostNorm, PreNorm, StochasticDepth
from dragoman.nn.transformer.transformer_layer import EncoderLayer


@pytest.mark.parametrize("norm", [nn.LayerNorm(4), RMSNorm(4)])
def test_norms_stand_before_or_after(norm: nn.Module) -> None:
    x = torch.randn(3, 4)
    assert torch.allclose(PreNorm(norm, 0.0)(x, torch.sin), x + torch.sin(norm(x)), rtol=0.0, atol=1e-6)
    assert torch.allclose(PostNorm(norm, 0.0)(x, torch.sin), norm(x + torch.sin(x)), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_grouped_heads_equal_heads_with_repeated_keys(groups: int) -> None:
    torch.manual_seed(0)
    q = torch.randn(3, 4, 5, 6, dtype=torch.float64)
    k, v = (torch.randn(3, groups, 7, 6, dtype=torch.float64) for _ in range(2))
    bias = torch.randn(3, 4, 5, 7, dtype=torch.float64)
    c, alpha = scaled_dot(q, k, v, bias, Dropout(0.0))
    repeated = (x.repeat_interleave(4 // groups, dim=1) for x in (k, v))
    expected, weights = scaled_dot(q, *repeated, bias, Dropout(0.0))
    assert torch.allclose(c, expected, rtol=0.0, atol=1e-12)
    assert torch.allclose(alpha, weights, rtol=0.0, atol=1e-12)
    assert torch.allclose(sdpa(q, k, v, bias, Dropout(0.0)), expected, rtol=0.0, atol=1e-12)


def test_grouped_heads_have_fewer_weights() -> None:
    full, grouped = SelfAttention(16, 4, 0.0), SelfAttention(16, 4, 0.0, kv_heads=2)
    assert full.W_qkv.weight.shape == (48, 16)
    assert grouped.W_qkv.weight.shape == (32, 16)
    assert CrossAttention(16, 9, 4, 0.0, kv_heads=1).W_kv.weight.shape == (8, 9)


def test_a_sentence_skips_a_sublayer_as_a_whole() -> None:
    depth, y = StochasticDepth(0.4), torch.randn(1000 * 3, 2)
    with noise(1):
        kept = depth(y, (1000, 3))
    with noise(1):
        assert torch.equal(kept, depth(y, (1000, 3)))
    ratio = (kept / y).view(1000, 6)
    assert torch.allclose(ratio, ratio[:, :1].expand(-1, 6))
    assert float((ratio == 0).float().mean()) == pytest.approx(0.4, abs=0.05)
    assert float(ratio.mean()) == pytest.approx(1.0, abs=0.1)
    assert depth.eval()(y, (1000, 3)) is y


def test_a_skipped_sublayer_leaves_its_sentence_as_it_was() -> None:
    around = (PreNorm(nn.LayerNorm(4), 0.0), PreNorm(nn.LayerNorm(4), 0.0))
    layer = EncoderLayer(SelfAttention(4, 2, 0.0), FeedForward(4, 6, 0.0), *around, skip=0.5)
    x = torch.randn(40 * 3, 4)
    with noise(5):
        changed = (layer(x, (40, 3), None) != x).view(40, 3 * 4).any(dim=1)
    assert 20 < int(changed.sum()) < 38  # a quarter skips both


def test_layers_are_left_out_at_their_rate_by_the_key() -> None:
    layers, drop = [nn.Identity() for _ in range(2000)], LayerDrop(0.25)
    with noise(3):
        left = list(drop(layers))
    with noise(3):
        assert left == list(drop(layers))
    assert len(left) == pytest.approx(1500, abs=70)
    assert list(drop.eval()(layers)) == layers
    assert list(LayerDrop(0.0)(layers)) == layers


def test_chance_without_a_key_is_torch_own() -> None:
    torch.manual_seed(0)
    assert 300 < sum(chance(0.4) for _ in range(1000)) < 500
