"""Heads of taggers, which score the tags of all words of a sentence: each by itself, or as a chain."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import nn

from dragoman.models.heads.token import TokenHead
from dragoman.nn.crf import CRF, NEVER
from dragoman.nn.embedding import embedding_matrix
from dragoman.protocols import LossSum, Outputs
from dragoman.shapes import Bool, Float, Int, Tensor


@runtime_checkable
class TagHead(Protocol):
    def loss(
        self, h: Float[Tensor, "B T D"], y: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]
    ) -> LossSum: ...

    def scores(self, h: Float[Tensor, "B T D"]) -> Outputs:
        """Return `scores` of the tags, (B, T, V), and those of a `Chain` if the tags depend on each other.

        `search/tags.py` finds the best tags.
        """


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

    def scores(self, h: Float[Tensor, "B T D"]) -> Outputs:
        log_p = self.head(h.flatten(0, 1)).unflatten(0, h.shape[:2])
        return {"scores": log_p.masked_fill(self.never, float("-inf"))}


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

    def scores(self, h: Float[Tensor, "B T D"]) -> Outputs:
        start, steps = self.crf.allowed()
        P = self.P(h).float() + NEVER * self.never
        return {"scores": P, "start": start, "steps": steps, "end": self.crf.end}
