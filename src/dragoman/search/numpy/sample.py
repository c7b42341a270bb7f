"""Sampling over numpy arrays: the equivalent of `SampleSearch` for runtimes without torch.

The same log p and the same seed give the same samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.numpy.search import (
    ArrayStepper,
    Bools,
    Floats,
    Ints,
    Processor,
    apply_processors,
    ended,
)
from dragoman.search.sample_keys import keys, uniform_at
from dragoman.search.sampling import Sampling
from dragoman.search.scores import refuse_nan
from dragoman.text.specials import BOS, EOS, PAD

COLDEST = float(np.finfo(np.float32).tiny)  # lower temperatures underflow to 0, and 0 / 0 is NaN


class ArraySampleSearch(Sampling):
    def __call__(
        self, stepper: ArrayStepper, src: Ints, keep: Bools, rules: Sequence[Processor] = ()
    ) -> list[list[Hypothesis]]:
        rows = [ids[real].tolist() for ids, real in zip(src, keep, strict=True)]
        of_samples = keys(self.seed, rows, self.size).reshape(len(rows), self.size)
        sentences, tokens = np.arange(len(rows)), np.full((len(rows), self.size, 1), BOS)
        written: list[list[list[int]]] = [[[] for _ in range(self.size)] for _ in rows]
        log_p = np.zeros((len(rows), self.size))
        state = stepper.start(src, keep).widened(self.size)
        for step in range(self.max_length):
            possible, state = stepper.step(tokens[:, :, -1], state)
            apply_processors(rules, sentences, tokens, possible)
            refuse_nan(float(possible.max()))
            y = sampled(self.shaped(possible), uniform_at(of_samples[sentences], step))
            is_open = (tokens[:, :, -1] != EOS) & (tokens[:, :, -1] != PAD)
            p = np.take_along_axis(possible, y[..., None], axis=2)[..., 0]
            log_p[sentences] += np.where(is_open, p, 0.0)
            y = np.where(is_open, y, PAD)
            for place, sample in np.argwhere(is_open).tolist():
                written[sentences[place]][sample].append(int(y[place, sample]))
            still = np.flatnonzero((is_open & (y != EOS)).any(axis=1))
            if not len(still):
                break
            tokens = np.concatenate((tokens, y[..., None]), axis=2)[still]
            sentences = sentences[still]
            state = state.select(still, np.broadcast_to(np.arange(self.size), (len(still), self.size)))
        return [
            [ended(tokens, value, self.normalise) for tokens, value in zip(samples, values, strict=True)]
            for samples, values in zip(written, log_p.tolist(), strict=True)
        ]

    def shaped(self, log_p: Floats) -> Floats:
        """Return log p / τ, up to a constant, restricted to the top k and then to the nucleus."""
        log_p = log_p - log_p.max(axis=-1, keepdims=True)
        log_p = log_p / np.float32(max(self.temperature, COLDEST)) if self.temperature != 1.0 else log_p
        log_p = log_p if self.top_k is None else keep_top_k(log_p, self.top_k)
        return log_p if self.top_p == 1.0 else keep_top_p(log_p, self.top_p)


def keep_top_k(log_p: Floats, k: int) -> Floats:
    """Keep the k most probable tokens and mask the others, ties in index order (Fan et al. 2018)."""
    order = np.argsort(-log_p, axis=-1, kind="stable")
    masked = log_p.copy()
    np.put_along_axis(masked, order[..., k:], -np.inf, axis=-1)
    return masked


def keep_top_p(log_p: Floats, p: float) -> Floats:
    """Keep the smallest set of most probable tokens with a total of at least p (Holtzman et al. 2020)."""
    probability = np.exp(log_p.astype(np.float64))
    probability /= probability.sum(axis=-1, keepdims=True)
    order = np.argsort(-probability, axis=-1, kind="stable")
    value = np.take_along_axis(probability, order, axis=-1)
    outside = np.empty_like(value, dtype=bool)
    np.put_along_axis(outside, order, value.cumsum(axis=-1) - value >= p, axis=-1)
    return np.where(outside, np.float32(-np.inf), log_p)


def sampled(log_p: Floats, u: NDArray[np.float64]) -> Ints:
    """Return one token of each hypothesis, [B W], by inverse transform sampling, with u ∈ [0, 1)."""
    total = np.exp(log_p.astype(np.float64)).cumsum(axis=-1)
    # The first place whose total is larger.
    position: Ints = (total <= u[..., None] * total[..., -1:]).sum(axis=-1)
    return position.clip(max=log_p.shape[-1] - 1)
