"""Attention scores e(s, h) of a query s and a source state h, one class per formula.

Each score has two parts, because the keys do not change while a sentence is decoded:
`keys(h)` is called once, `score(s, keys)` at each step.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


@runtime_checkable
class Score(Protocol):
    def keys(self, h: Float[Tensor, "B S D"]) -> Float[Tensor, "B S A"]: ...

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]: ...


class Dot(nn.Module):
    """e = sᵀ h   (Luong et al. 2015, "dot"). Query and memory must have the same width."""

    def keys(self, h: Float[Tensor, "B S Q"]) -> Float[Tensor, "B S Q"]:
        return h

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return s @ keys.transpose(1, 2)  # (B T Q) @ (B Q S) = (B T S)


class ScaledDot(nn.Module):
    """e = sᵀ h / √d   (Vaswani et al. 2017, eq. 1). The scale does not depend on the width."""

    def keys(self, h: Float[Tensor, "B S Q"]) -> Float[Tensor, "B S Q"]:
        return h * h.shape[2] ** -0.5

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return s @ keys.transpose(1, 2)  # (B T Q) @ (B Q S) = (B T S)


class Cosine(nn.Module):
    """e = β cos(s, h)   (Graves et al. 2014, eq. 5 and 6).

    A cosine is at most 1, too little for attention to focus on one position: β is learned, starting at 1.
    """

    def __init__(self) -> None:
        super().__init__()
        self.beta = nn.Parameter(torch.ones(1))

    def keys(self, h: Float[Tensor, "B S Q"]) -> Float[Tensor, "B S Q"]:
        return F.normalize(h, dim=2)

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return self.beta * F.normalize(s, dim=2) @ keys.transpose(1, 2)  # (B T Q) @ (B Q S) = (B T S)


class Additive(nn.Module):
    """e = vᵀ tanh(W₁ h + W₂ s)   (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, query_size: int, key_size: int, size: int) -> None:
        super().__init__()
        self.W_1 = nn.Linear(key_size, size, bias=False)
        self.W_2 = nn.Linear(query_size, size, bias=False)
        self.v = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))

    def keys(self, h: Float[Tensor, "B S D"]) -> Float[Tensor, "B S A"]:
        return self.W_1(h)

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return torch.tanh(keys.unsqueeze(1) + self.W_2(s).unsqueeze(2)) @ self.v


class Concat(nn.Module):
    """e = vᵀ tanh(W₁ [s; h])   (Luong et al. 2015, "concat").

    The key half of W₁ is applied to each state once; each step applies only the query half.
    """

    def __init__(self, query_size: int, key_size: int, size: int) -> None:
        super().__init__()
        self.W_1 = nn.Linear(query_size + key_size, size, bias=False)
        self.v = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))

    def keys(self, h: Float[Tensor, "B S D"]) -> Float[Tensor, "B S A"]:
        return F.linear(h, self.W_1.weight[:, -h.shape[2] :])

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        query = F.linear(s, self.W_1.weight[:, : s.shape[2]])
        return torch.tanh(keys.unsqueeze(1) + query.unsqueeze(2)) @ self.v


class Multiplicative(nn.Module):
    """e = sᵀ W h   (Luong et al. 2015, "general")."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.W = nn.Linear(key_size, query_size, bias=False)

    def keys(self, h: Float[Tensor, "B S D"]) -> Float[Tensor, "B S Q"]:
        return self.W(h)

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return s @ keys.transpose(1, 2)  # (B T Q) @ (B Q S) = (B T S)


class ProjectedKeys(nn.Module):
    """e(s, W_k h): any score, applied to states that are first projected to `size` features."""

    def __init__(self, score: Score, key_size: int, size: int) -> None:
        super().__init__()
        self.inner = score
        self.W_k = nn.Linear(key_size, size, bias=False)

    def keys(self, h: Float[Tensor, "B S D"]) -> Float[Tensor, "B S A"]:
        return self.inner.keys(self.W_k(h))

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return self.inner.score(s, keys)
