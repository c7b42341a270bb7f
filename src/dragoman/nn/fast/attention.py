"""torch's scaled_dot_product_attention: the fast twin of `attend.scaled_dot` for long sequences and GPUs."""

from __future__ import annotations

from torch.nn.functional import scaled_dot_product_attention

from dragoman.shapes import Float, Tensor

# On a CPU the written-out product wins below about this many scores a sentence and head; sentences have ~20².
_LONG = 128 * 128


def sdpa(
    q: Float[Tensor, "B H T K"],
    k: Float[Tensor, "B H S K"],
    v: Float[Tensor, "B H S K"],
    bias: Float[Tensor, "b t S"] | None,
) -> Float[Tensor, "B H T K"]:
    return scaled_dot_product_attention(q, k, v, attn_mask=None if bias is None else bias.unsqueeze(1))


def sdpa_is_faster(q: Float[Tensor, "B H T K"], k: Float[Tensor, "B H S K"]) -> bool:
    return q.shape[2] > 1 and (q.is_cuda or q.shape[2] * k.shape[2] >= _LONG)
