"""Greedy search: the most probable token each time."""

from __future__ import annotations

import torch

from dragoman.protocols import Stepper
from dragoman.search.choices import allowed
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import length_normalised
from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import BOS, EOS


@torch.no_grad()
def greedy_search(
    stepper: Stepper,
    src: Int[Tensor, "B S"],
    keep: Bool[Tensor, "B S"],
    *,
    max_length: int,
    length_penalty: float = 1.0,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, in at most `max_length` steps, </s> among them."""
    tokens: list[list[int]] = [[] for _ in src]
    log_p = torch.zeros(len(src), device=src.device)
    rows = torch.arange(len(src), device=src.device)  # the sentences still open
    y = torch.full_like(rows, BOS)
    state = stepper.start(src, keep, 1)
    for _ in range(max_length):
        step = stepper.step(y, state)
        p, y = allowed(step.log_p).max(-1)  # the first of equal values: the lowest token
        log_p[rows] += p
        for row, token in zip(rows.tolist(), y.tolist(), strict=True):
            tokens[row].append(token)
        still = (y != EOS).nonzero().squeeze(-1)
        if len(still) == 0:
            break
        state = step.state if len(still) == len(y) else step.state.keep_sentences(still, still)
        rows, y = rows[still], y[still]
    return [[hypothesis(t, p, length_penalty)] for t, p in zip(tokens, log_p.tolist(), strict=True)]


def hypothesis(tokens: list[int], log_p: float, alpha: float) -> Hypothesis:
    finished = tokens[-1] == EOS
    score = length_normalised(log_p, len(tokens), alpha)
    return Hypothesis(tuple(tokens[:-1] if finished else tokens), score, log_p, finished)
