"""The model's own next token, which it may read instead of the reference."""

from __future__ import annotations

from collections.abc import Callable

import torch

from dragoman.nn.dropout import uniform
from dragoman.protocols import Head
from dragoman.search.topk import mask_never_written, sample_index
from dragoman.shapes import Float, Int, Tensor

NextToken = Callable[[Head, Tensor], Tensor]  # (head, features of N steps) → N tokens


@torch.no_grad()
def sampled(head: Head, h: Float[Tensor, "N D"]) -> Int[Tensor, " N"]:
    """Return y ~ p(· | h)."""
    return sample_index(mask_never_written(head(h)), uniform(len(h), h.device))


@torch.no_grad()
def argmax(head: Head, h: Float[Tensor, "N D"]) -> Int[Tensor, " N"]:
    """Return argmax p(· | h)."""
    return mask_never_written(head(h)).argmax(dim=-1)


def mix_with_reference(
    p: float, reference: Int[Tensor, "*shape"], own: Int[Tensor, "*shape"]
) -> Int[Tensor, "*shape"]:
    """Return the reference with probability p, else the model's own token, drawn for each token."""
    truth = uniform(reference.numel(), reference.device).view(reference.shape) < p
    return torch.where(truth, reference, own)
