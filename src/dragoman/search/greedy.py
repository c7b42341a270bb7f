"""Greedy search: the most probable token each time."""

from __future__ import annotations

import torch

from dragoman.protocols import Stepper
from dragoman.search.choices import allowed
from dragoman.search.company import staying
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
    log_p = [0.0 for _ in src]
    sentences = list(range(len(src)))  # those in the batch
    y = torch.full((len(src),), BOS, device=src.device)
    state = stepper.start(src, keep, 1)
    for _ in range(max_length):
        step = stepper.step(y, state)
        p, y = allowed(step.log_p).max(-1)  # the first of equal values: the lowest token
        for sentence, token, value in zip(sentences, y.tolist(), p.tolist(), strict=True):
            if is_open(tokens[sentence]):
                tokens[sentence].append(token)
                log_p[sentence] += value
        still = [is_open(tokens[sentence]) for sentence in sentences]
        if not any(still):
            break
        state = step.state
        places = staying(still)
        if len(places) < len(sentences):
            rows = torch.tensor(places, device=y.device)
            state, y = state.keep_sentences(rows, rows), y[rows]
            sentences = [sentences[place] for place in places]
    return [[hypothesis(t, p, length_penalty)] for t, p in zip(tokens, log_p, strict=True)]


def is_open(tokens: list[int]) -> bool:
    return not tokens or tokens[-1] != EOS


def hypothesis(tokens: list[int], log_p: float, alpha: float) -> Hypothesis:
    finished = not is_open(tokens)
    score = length_normalised(log_p, len(tokens), alpha)
    return Hypothesis(tuple(tokens[:-1] if finished else tokens), score, log_p, finished)
