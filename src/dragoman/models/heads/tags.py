"""Heads of taggers, which score the tags of all words of a sentence: each by itself, or as a chain."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import nn

from dragoman.models.heads.token import TokenHead
from dragoman.nn.crf import CRF, NEVER
from dragoman.nn.embedding import embedding_matrix
from dragoman.protocols import LossSum
from dragoman.shapes import Bool, Float, Int, Tensor

Tags = tuple[Int[Tensor, "B T"], Float[Tensor, "B T"]]


@runtime_checkable
class TagHead(Protocol):
    def loss(
        self, h: Float[Tensor, "B T D"], y: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]
    ) -> LossSum: ...

    def tags(self, h: Float[Tensor, "B T D"], keep: Bool[Tensor, "B T"]) -> Tags:
        """Return the best tag of each word and its probability; padding is not specified."""


class SoftmaxTags(nn.Module):
    """p(y_t | x) = softmax(W h_t + b), for each word by itself.

    `never` marks the entries that are no tags, such as </s>: they are not answers.
    """

    never: Tensor

    def __init__(self, head: TokenHead, never: Bool[Tensor, " V"]) -> None:
        super().__init__()
        self.head = head
        self.register_buffer("never", never, persistent=False)

    def loss(self, h: Float[Tensor, "B T D"], y: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]) -> LossSum:
        return self.head.loss(h[keep], y[keep])

    def tags(self, h: Float[Tensor, "B T D"], keep: Bool[Tensor, "B T"]) -> Tags:
        p, y = best(self.head(h.flatten(0, 1)), self.never)
        return y.view(keep.shape), p.view(keep.shape)


class CRFTags(nn.Module):
    """p(y | x) by a chain, with P_t = W h_t + b. The probability of a tag is its marginal."""

    never: Tensor

    def __init__(self, size: int, tags: int, never: Bool[Tensor, " V"]) -> None:
        super().__init__()
        self.P = nn.Linear(size, tags)
        # As large as in the other heads; the values of nn.Linear are √3 times smaller and learn later.
        self.P.weight = embedding_matrix(tags, size)
        nn.init.zeros_(self.P.bias)
        self.crf = CRF(tags)
        self.register_buffer("never", never, persistent=False)

    def loss(self, h: Float[Tensor, "B T D"], y: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]) -> LossSum:
        nll = self.crf.nll(self.P(h).float(), y, keep).sum()
        return LossSum(nll, nll.detach())

    def tags(self, h: Float[Tensor, "B T D"], keep: Bool[Tensor, "B T"]) -> Tags:
        P = self.P(h).float() + NEVER * self.never
        y, _ = self.crf.viterbi(P, keep)
        return y, self.crf.marginals(P, keep).gather(2, y.unsqueeze(2)).squeeze(2)


def best(
    log_p: Float[Tensor, "N V"], never: Bool[Tensor, " V"]
) -> tuple[Float[Tensor, " N"], Int[Tensor, " N"]]:
    """Return the probability and the id of the best entry, among those that are answers."""
    return torch.softmax(log_p.masked_fill(never, float("-inf")), dim=1).max(dim=1)
