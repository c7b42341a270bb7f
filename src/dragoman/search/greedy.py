"""Greedy search: the most probable token at each step."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from dragoman.protocols import Stepper, send
from dragoman.search.batch_invariance import rows_to_keep
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import Normalise, length_normalised, refuse_nan
from dragoman.search.topk import argmax, mask_never_written, topk
from dragoman.search.trace import CandidateRow, Recorder
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor
from dragoman.text.specials import BOS, EOS

RECORDED = 2  # candidates recorded per step: the chosen token and the runner-up


@torch.inference_mode()
def greedy_search(
    stepper: Stepper,
    src: Shaped[Tensor, "B S *f"],
    keep: Bool[Tensor, "B S"],
    *,
    max_length: int,
    normalise: Normalise = length_normalised,
    recorder: Recorder | None = None,
) -> list[list[Hypothesis]]:
    """Return one hypothesis per sentence, found in at most `max_length` steps, including </s>."""
    tokens: list[list[int]] = [[] for _ in src]
    log_p = [0.0 for _ in src]
    sentences = list(range(len(src)))  # that are still in the batch
    y = torch.full((len(src),), BOS, device=src.device)
    state = stepper.start(src, keep, 1)
    for length in range(1, max_length + 1):
        step = stepper.step(y, state)
        y = argmax(step.log_p)
        p = step.log_p.gather(1, y.unsqueeze(1)).squeeze(1)
        for index, (token, value) in enumerate(to_host(y, p)):
            sentence = sentences[index]
            if is_open(tokens[sentence]):
                if recorder:
                    rows = candidates(step.log_p[index], log_p[sentence], length, normalise)
                    recorder.step(sentence, 0, length, rows, 1)
                tokens[sentence].append(token)
                log_p[sentence] += value
        still = [is_open(tokens[sentence]) for sentence in sentences]
        if not any(still):
            break
        state = step.state
        indices = rows_to_keep(still)
        if len(indices) < len(sentences):
            kept = send(torch.tensor(indices), y.device)
            state, y = state.keep_sentences(kept, kept), y[kept]
            sentences = [sentences[index] for index in indices]
    return [[hypothesis(t, p, normalise)] for t, p in zip(tokens, log_p, strict=True)]


def to_host(y: Int[Tensor, " N"], p: Float[Tensor, " N"]) -> Iterator[tuple[int, float]]:
    """Return tokens and values, in one transfer: fp32 represents every token up to 16 million exactly."""
    tokens, values = torch.stack((y.to(p.dtype), p)).tolist()
    return zip(map(int, tokens), values, strict=True)


@torch.inference_mode()
def greedy_tokens(
    stepper: Stepper, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], max_length: int
) -> Iterator[int]:
    """Yield the greedy output of the first sentence, token by token, including </s> if it ends."""
    y, state = torch.full((len(src),), BOS, device=src.device), stepper.start(src, keep, 1)
    for _ in range(max_length):
        step = stepper.step(y, state)
        y, state = mask_never_written(step.log_p).argmax(-1), step.state
        token, p = next(to_host(y, step.log_p.gather(1, y.unsqueeze(1)).squeeze(1)))
        refuse_nan(p)
        yield token
        if token == EOS:
            return


def is_open(tokens: list[int]) -> bool:
    return not tokens or tokens[-1] != EOS


def hypothesis(tokens: list[int], log_p: float, normalise: Normalise) -> Hypothesis:
    refuse_nan(log_p)
    finished = not is_open(tokens)
    score = normalise(log_p, len(tokens))
    return Hypothesis(tuple(tokens[:-1] if finished else tokens), score, log_p, finished)


def candidates(
    log_p: Float[Tensor, " V"], before: float, length: int, normalise: Normalise
) -> list[CandidateRow]:
    value, token = topk(mask_never_written(log_p.unsqueeze(0)), RECORDED)
    totals = [before + v for v in value[0].tolist()]
    return [
        CandidateRow(p, normalise(p, length), 0, y) for p, y in zip(totals, token[0].tolist(), strict=True)
    ]
