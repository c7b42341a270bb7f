"""The best tags of a sentence from the scores of a tagger: each word by itself, or as a chain.

They are found with numpy, so that exported models are run by the same code. The scores of a chain are those
of `nn/crf.py`; words come before padding, of which nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]


class Chain(NamedTuple):
    """The scores of beginning with a tag [V], of a tag (column) after another (row) [V V], and of ending."""

    start: Floats
    steps: Floats
    end: Floats


def best_tags(P: Floats, keep: Bools, chain: Chain | None) -> tuple[Ints, Floats]:
    """Return the best tag of each word, [B T], and its probability, for scores P [B T V]."""
    p = probabilities(P, keep, chain)
    y = p.argmax(axis=2) if chain is None else viterbi(P, keep, chain)[0]
    return y, np.take_along_axis(p, y[..., None], axis=2)[..., 0]


def probabilities(P: Floats, keep: Bools, chain: Chain | None) -> Floats:
    """Return p(y_t | x) of every tag, [B T V]."""
    return softmax(P) if chain is None else marginals(P, keep, chain)


def chain_of(outputs: Mapping[str, Floats]) -> Chain | None:
    """Return the chain among the outputs of a tagger, if its tags depend on each other."""
    return Chain(*(outputs[name] for name in Chain._fields)) if "start" in outputs else None


def viterbi(P: Floats, keep: Bools, chain: Chain) -> tuple[Ints, Floats]:
    """Return the best sequence of each sentence, with tag 0 as padding, and its score."""
    start, steps, end = chain
    best, origins = start + P[:, 0], []
    for t in range(1, P.shape[1]):
        reached = best[:, :, None] + steps
        # After the last word, each tag stays itself.
        origins.append(np.where(keep[:, t, None], reached.argmax(axis=1), np.arange(len(steps))))
        best = np.where(keep[:, t, None], reached.max(axis=1) + P[:, t], best)
    last = best + end
    path = [last.argmax(axis=1)]
    for origin in reversed(origins):
        path.append(np.take_along_axis(origin, path[-1][:, None], axis=1)[:, 0])
    return np.stack(path[::-1], axis=1) * keep, last.max(axis=1)


def marginals(P: Floats, keep: Bools, chain: Chain) -> Floats:
    """Return p(y_t | P) of each word, [B T V], by the forward–backward algorithm."""
    alpha, beta = forward(P, keep, chain), backward(P, keep, chain)
    return softmax(np.stack(alpha, axis=1) + np.stack(beta, axis=1))


def forward(P: Floats, keep: Bools, chain: Chain) -> list[Floats]:
    """Return α_t(j) = P_tj + log Σ_i exp(α_{t−1}(i) + A_ij); after the last word, α stays as it is."""
    alpha: list[Floats] = [chain.start + P[:, 0]]
    for t in range(1, P.shape[1]):
        new = logsumexp(alpha[-1][:, :, None] + chain.steps, axis=1) + P[:, t]
        alpha.append(np.where(keep[:, t, None], new, alpha[-1]))
    return alpha


def backward(P: Floats, keep: Bools, chain: Chain) -> list[Floats]:
    """Return β_t(i) = log Σ_j exp(A_ij + P_{t+1, j} + β_{t+1}(j)); β of the last word is `end`."""
    beta: list[Floats] = [np.broadcast_to(chain.end, P[:, 0].shape)]
    for t in range(P.shape[1] - 1, 0, -1):
        new = logsumexp(chain.steps + (P[:, t] + beta[-1])[:, None], axis=2)
        beta.append(np.where(keep[:, t, None], new, beta[-1]))
    return beta[::-1]


def softmax(x: Floats) -> Floats:
    p: Floats = np.exp(x - x.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return p


def logsumexp(x: Floats, axis: int) -> Floats:
    most = x.max(axis=axis, keepdims=True)
    log_sum: Floats = np.log(np.exp(x - most).sum(axis=axis)) + most.squeeze(axis)
    return log_sum
