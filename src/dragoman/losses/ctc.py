"""Connectionist temporal classification (Graves et al. 2006): the loss by the forward–backward algorithm.

A network reads x and returns y^t, a distribution over the labels and a blank at each frame t. A path π names
one of them per frame. B merges repeats and then removes blanks, so that many paths have the same labelling l,
and p(l | x) is the sum of their products (eq. 3). The equations below compute it in logarithms.

The axes are S frames (t in the paper), V labels of which the last is the blank, and L positions s of l',
which is l with a blank around every label (|l'| = 2|l| + 1). `keep` marks real frames, of which each row has
at least one, and `l_keep` real labels. A labelling that does not fit into its frames has a loss above 10²⁹;
`ctc_frames` finds those before training.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from dragoman.shapes import Bool, Float, Int, Tensor

LOG_ZERO = -1e30  # log 0; the gradients of sums of −∞ would be NaN


def extend(l: Int[Tensor, "B T"], blank: int) -> Int[Tensor, "B L"]:
    """Return l' = (b, l₁, b, l₂, …, b)."""
    extended = l.new_full((len(l), 2 * l.shape[1] + 1), blank)
    extended[:, 1::2] = l
    return extended


def may_skip(extended: Int[Tensor, "B L"], blank: int) -> Bool[Tensor, "B L"]:
    """Return where a path may step from s − 2 to s: not to a blank, and not between equal labels (eq. 6)."""
    skip = torch.zeros_like(extended, dtype=torch.bool)
    skip[:, 2:] = (extended[:, 2:] != blank) & (extended[:, 2:] != extended[:, :-2])
    return skip


def shift(log_x: Float[Tensor, "B L"], steps: int) -> Float[Tensor, "B L"]:
    """Return x(s − steps); there is 0 beyond the ends."""
    before, after = max(steps, 0), max(-steps, 0)
    moved = torch.nn.functional.pad(log_x, (before, after), value=LOG_ZERO)
    return moved[:, after : after + log_x.shape[1]]


def add(terms: Iterable[Float[Tensor, "B L"]]) -> Float[Tensor, "B L"]:
    return torch.logsumexp(torch.stack(list(terms)), dim=0)


def forward_variables(log_y: Float[Tensor, "B S L"], skip: Bool[Tensor, "B L"]) -> Float[Tensor, "B S L"]:
    """Return log α_t(s): all paths to l'_s at frame t (eq. 5 to 7), for y^t of the labels of l'.

    α_t(s) = (α_{t−1}(s) + α_{t−1}(s − 1) + [skip] α_{t−1}(s − 2)) y^t(l'_s)
    """
    start = torch.full_like(log_y[:, 0], LOG_ZERO)
    start[:, :2] = 0.0
    alpha = [start + log_y[:, 0]]
    for t in range(1, log_y.shape[1]):
        last = alpha[-1]
        skipping = shift(last, 2).masked_fill(~skip, LOG_ZERO)
        alpha.append(add((last, shift(last, 1), skipping)) + log_y[:, t])
    return torch.stack(alpha, dim=1)


def backward_variables(
    log_y: Float[Tensor, "B S L"],
    skip: Bool[Tensor, "B L"],
    last_frame: Int[Tensor, " B"],
    size: Int[Tensor, " B"],
) -> Float[Tensor, "B S L"]:
    """Return log β_t(s): all paths from l'_s at frame t to the end of l' (eq. 9 to 11); `size` is |l'|.

    β_t(s) = (β_{t+1}(s) + β_{t+1}(s + 1) + [skip to s + 2] β_{t+1}(s + 2)) y^t(l'_s)
    """
    s = torch.arange(log_y.shape[2], device=log_y.device)
    ends = (s == size.unsqueeze(1) - 1) | (s == size.unsqueeze(1) - 2)
    end = torch.zeros_like(log_y[:, 0]).masked_fill(~ends, LOG_ZERO)
    beta: list[Tensor] = []
    for t in reversed(range(log_y.shape[1])):
        ahead = end
        if beta:
            skipping = shift(beta[-1].masked_fill(~skip, LOG_ZERO), -2)
            is_last = (last_frame == t).unsqueeze(1)
            ahead = torch.where(is_last, end, add((beta[-1], shift(beta[-1], -1), skipping)))
        beta.append(ahead + log_y[:, t])
    return torch.stack(beta[::-1], dim=1)


def ctc(
    log_y: Float[Tensor, "B S V"],
    keep: Bool[Tensor, "B S"],
    l: Int[Tensor, "B T"],
    l_keep: Bool[Tensor, "B T"],
) -> Float[Tensor, " B"]:
    """Return −log p(l | x) = −log(α_T(|l'|) + α_T(|l'| − 1)) of each row (eq. 8)."""
    extended = extend(l, log_y.shape[2] - 1)
    alpha = forward_variables(at(log_y, extended), may_skip(extended, log_y.shape[2] - 1))
    rows, size = torch.arange(len(l), device=l.device), 2 * l_keep.sum(dim=1) + 1
    end = alpha[rows, keep.sum(dim=1) - 1]
    after_label = end[rows, (size - 2).clamp_min(0)].masked_fill(size == 1, LOG_ZERO)
    return -torch.logaddexp(end[rows, size - 1], after_label)


def posteriors(
    log_y: Float[Tensor, "B S V"],
    keep: Bool[Tensor, "B S"],
    l: Int[Tensor, "B T"],
    l_keep: Bool[Tensor, "B T"],
) -> Float[Tensor, "B S L"]:
    """Return α_t(s) β_t(s) / (y^t(l'_s) p(l | x)), the probability that a path for l is at s (eq. 14)."""
    extended = extend(l, log_y.shape[2] - 1)
    log_y_s, skip = at(log_y, extended), may_skip(extended, log_y.shape[2] - 1)
    alpha = forward_variables(log_y_s, skip)
    beta = backward_variables(log_y_s, skip, keep.sum(dim=1) - 1, 2 * l_keep.sum(dim=1) + 1)
    log_p = -ctc(log_y, keep, l, l_keep)[:, None, None]
    return (alpha + beta - log_y_s - log_p).exp() * keep.unsqueeze(2)


def gradient(
    log_y: Float[Tensor, "B S V"],
    keep: Bool[Tensor, "B S"],
    l: Int[Tensor, "B T"],
    l_keep: Bool[Tensor, "B T"],
) -> Float[Tensor, "B S V"]:
    """Return the gradient of the loss in the logits u of y = softmax(u), in closed form (eq. 16).

    It is y^t_k − Σ_s α_t(s) β_t(s) / (y^t_k p(l | x)), over the s with l'_s = k, and 0 at padding.
    """
    found = posteriors(log_y, keep, l, l_keep)
    labels = extend(l, log_y.shape[2] - 1).unsqueeze(1).expand_as(found)
    return (log_y.exp() * keep.unsqueeze(2)).scatter_add(2, labels, -found)


def at(log_y: Float[Tensor, "B S V"], extended: Int[Tensor, "B L"]) -> Float[Tensor, "B S L"]:
    """Return log y^t(l'_s)."""
    return log_y.gather(2, extended.unsqueeze(1).expand(-1, log_y.shape[1], -1))
