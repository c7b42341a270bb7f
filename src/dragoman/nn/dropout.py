"""Dropout (Srivastava et al. 2014) as a function of a key, not of process state.

A training step enters `noise(seed, step, part)`; all masks in it are drawn from that stream, in the order
of the forward pass. The same step therefore drops the same features after a restart and on any rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from dragoman.device import widest_float
from dragoman.shapes import Float, Int, Tensor

_STREAM: ContextVar[np.random.Generator | None] = ContextVar("noise", default=None)
_IS_SEEDED: ContextVar[bool] = ContextVar("is_seeded", default=False)


@contextmanager
def noise(*key: int) -> Iterator[None]:
    """Draw all masks of the enclosed forward pass from the stream of this key."""
    stream = _STREAM.set(np.random.Generator(np.random.SFC64(np.random.SeedSequence(key))))
    is_seeded = _IS_SEEDED.set(False)
    try:
        yield
    finally:
        _STREAM.reset(stream)
        _IS_SEEDED.reset(is_seeded)


def seed_device() -> None:
    """Seed torch's own generators by the stream, once per `noise`.

    Other devices than a CPU draw from them: kernels that drop features themselves take no generator.
    """
    stream = _STREAM.get()
    if stream is not None and not _IS_SEEDED.get():
        torch.manual_seed(int(stream.integers(2**63)))
        _IS_SEEDED.set(True)


def chance(rate: float) -> bool:
    """Return True with probability `rate`, by one draw that is the same on all ranks with this key."""
    stream = _STREAM.get()
    return (float(torch.rand(())) if stream is None else stream.random()) < rate


def draw(population: int, count: int) -> Int[Tensor, " N"]:
    """Return `count` distinct numbers below `population`, from the same stream as the masks."""
    stream = _STREAM.get()
    if stream is None:
        return torch.randperm(population)[:count]
    return torch.from_numpy(stream.choice(population, count, replace=False, shuffle=False))


class Dropout(nn.Module):
    """x ⊙ m, with m = 0 at the given rate and 1/(1 − rate) elsewhere, so that E[x ⊙ m] = x.

    A mask takes 16 random bits per element and is stored in bf16; torch's own dropout spends a fifth of a
    training step on random numbers. 1/(1 − rate) is rounded to bf16 and the rate adjusted to it, which keeps
    the expectation exact (0.1 becomes 0.0986).
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        scale = torch.tensor(1.0 / (1.0 - rate), dtype=torch.bfloat16, device="cpu")
        self.scale = float(scale)
        self._scale_bits = int(scale.view(torch.int16))
        # A signed 16-bit draw below this is dropped.
        self._threshold = round((1.0 - 1.0 / self.scale) * 2**16) - 2**15
        self.rate = rate

    @property
    def active(self) -> bool:
        return self.training and self.rate > 0.0

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return x * self.mask(x) if self.active else x

    def add(self, x: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return x + dropout(y), the residual connection, in one pass."""
        return torch.addcmul(x, y, self.mask(y).to(y.dtype)) if self.active else x + y

    def mask(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return a new m for x, in bf16."""
        draws = _random_int16(x.numel(), x.device)
        # Clamping leaves threshold − 1 (dropped) or threshold (kept): 0 or 1 when shifted, then m's bits.
        kept = draws.clamp_(self._threshold - 1, self._threshold).sub_(self._threshold - 1)
        return kept.mul_(self._scale_bits).view(torch.bfloat16).view(x.shape)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"

    if TYPE_CHECKING:
        __call__ = forward


def uniform(count: int, device: torch.device) -> Float[Tensor, " N"]:
    """Return numbers in [0, 1) from the same stream, for other randomness in training."""
    stream = _STREAM.get()
    if device.type == "cpu" and stream is not None:
        return torch.from_numpy(stream.random(count))
    seed_device()
    return torch.rand(count, dtype=widest_float(device), device=device)


def _random_int16(count: int, device: torch.device) -> torch.Tensor:
    stream = _STREAM.get()
    words = -(-count // 4)
    if device.type == "cpu" and stream is not None:
        bits = stream.integers(0, 2**64 - 1, size=words, dtype=np.uint64, endpoint=True)
        return torch.from_numpy(bits.view(np.int16))[:count]
    seed_device()
    drawn = torch.empty(words, dtype=torch.int64, device=device)
    return drawn.random_(-(2**63), None).view(torch.int16)[:count]
