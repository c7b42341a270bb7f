"""Attention against hand numbers and torch's own."""

import torch
from torch import nn

from dragoman.nn.attention.attend import attend, causal_bias, padding_bias, scaled_dot
from dragoman.nn.attention.multi_head import CrossAttention, KeyValue, SelfAttention
from dragoman.nn.dropout import Dropout
from dragoman.nn.fast.attention import sdpa


def test_scaled_dot_by_hand() -> None:
    q = torch.tensor([[[[2.0, 0.0]]]], dtype=torch.float64)
    k = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]], dtype=torch.float64)
    v = torch.tensor([[[[10.0, 0.0], [0.0, 10.0]]]], dtype=torch.float64)
    c, alpha = scaled_dot(q, k, v, None, Dropout(0.0))
    high = torch.tensor(2.0 / 2**0.5, dtype=torch.float64).exp()
    expected = high / (high + 1)
    assert torch.allclose(alpha[0, 0, 0], torch.stack((expected, 1 - expected)), rtol=0.0, atol=1e-12)
    assert torch.allclose(c[0, 0, 0], 10 * alpha[0, 0, 0], rtol=0.0, atol=1e-12)


def test_written_out_attention_equals_sdpa() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(3, 2, n, 8, dtype=torch.float64, requires_grad=True) for n in (5, 7, 7))
    keep = torch.arange(7).expand(3, 7) < torch.tensor([[7], [4], [1]])
    bias = padding_bias(keep, torch.float64).unsqueeze(1)
    slow, _ = scaled_dot(q, k, v, bias, Dropout(0.0))
    fast = sdpa(q, k, v, bias, Dropout(0.0))
    assert torch.allclose(slow, fast, rtol=0.0, atol=1e-12)
    weight = torch.randn_like(slow)
    for a, b in zip(
        torch.autograd.grad((slow * weight).sum(), (q, k, v)),
        torch.autograd.grad((fast * weight).sum(), (q, k, v)),
        strict=True,
    ):
        assert torch.allclose(a, b, rtol=0.0, atol=1e-12)


def test_self_attention_equals_torch_multihead() -> None:
    torch.manual_seed(0)
    ours = SelfAttention(12, 3, dropout=0.0).double()
    theirs = nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    theirs.in_proj_weight.data.copy_(ours.W_qkv.weight)
    theirs.in_proj_bias.data.copy_(ours.W_qkv.bias)
    theirs.out_proj.weight.data.copy_(ours.W_o.weight)
    theirs.out_proj.bias.data.copy_(ours.W_o.bias)
    x = torch.randn(2, 6, 12, dtype=torch.float64)
    causal = causal_bias(6, torch.float64, x.device)
    expected, _ = theirs(x, x, x, attn_mask=causal[0], need_weights=False)
    assert torch.allclose(
        ours(x.flatten(0, 1), (2, 6), causal).view(2, 6, 12), expected, rtol=0.0, atol=1e-12
    )


def test_cross_attention_shows_where_it_looked() -> None:
    torch.manual_seed(0)
    cross = CrossAttention(8, 6, 2, dropout=0.0)
    kv = cross.project_memory(torch.randn(10, 6), (2, 5))
    keep = torch.tensor([[True] * 5, [True, True, False, False, False]])
    bias = padding_bias(keep, torch.float32)
    x = torch.randn(6, 8)
    c, alpha = cross.forward_with_weights(x, (2, 3), kv, bias.unsqueeze(1).expand(2, 2, 1, 5))
    assert torch.allclose(c, cross(x, (2, 3), kv, bias), rtol=0.0, atol=1e-6)
    assert torch.allclose(alpha.sum(dim=3), torch.ones(2, 2, 3), rtol=0.0, atol=1e-6)
    assert (alpha[1, :, :, 2:] == 0).all()


def test_chosen_sequences_of_the_past_are_continued_in_their_order() -> None:
    past, new, rows = torch.randn(6, 2, 7, 4), torch.randn(4, 2, 1, 4), torch.tensor([5, 0, 0, 3])
    seen = KeyValue(past, past + 1, rows).append(KeyValue(new, new - 1))
    assert torch.equal(seen.k, torch.cat((past[rows], new), dim=2))
    assert torch.equal(seen.v, torch.cat((past[rows] + 1, new - 1), dim=2))


def test_context_is_the_weighted_sum() -> None:
    e = torch.log(torch.tensor([[[1.0, 3.0]]], dtype=torch.float64))
    v = torch.tensor([[[4.0], [8.0]]], dtype=torch.float64)
    c, alpha = attend(e, v)
    assert torch.allclose(alpha, torch.tensor([[[0.25, 0.75]]], dtype=torch.float64), rtol=0.0, atol=1e-12)
    assert torch.allclose(c, torch.tensor([[[7.0]]], dtype=torch.float64), rtol=0.0, atol=1e-12)
