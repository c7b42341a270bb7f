"""Forced decoding: the probability of each token of existing outputs under a stepper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.protocols import Step, Stepper, send
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor
from dragoman.text.specials import BOS

# Sources, the mask of their real tokens, and one reference per source, including </s>
References = tuple[Tensor, Tensor, Sequence[Sequence[int]]]


class Forced(NamedTuple):
    """The result of forced decoding: one row per output, one column per token; zero after the end.

    `log_p` is log p(y_t | y_<t, x), `entropy` is −Σ_v p(v) log p(v) in nats of the step that wrote y_t, and
    `attention` is the attention of the decoder for y_t, or None if it has no attention.
    """

    log_p: Float[Tensor, "N T"]
    entropy: Float[Tensor, "N T"]
    attention: Float[Tensor, "N T S"] | None

    def cpu(self) -> Forced:
        attention = None if self.attention is None else self.attention.cpu()
        return Forced(self.log_p.cpu(), self.entropy.cpu(), attention)


@torch.no_grad()
def forced(
    stepper: Stepper,
    src: Shaped[Tensor, "B S *f"],
    keep: Bool[Tensor, "B S"],
    outputs: Sequence[Sequence[int]],
) -> Forced:
    """Score `outputs`, which include </s> if they ended and do not if they were truncated.

    Each sentence has the same number of outputs, and those of a sentence are adjacent.
    """
    y, real = (send(x, src.device) for x in pad_outputs(outputs))
    log_p, entropy = (torch.zeros(y.shape, device=src.device) for _ in range(2))
    alphas: list[Tensor] = []
    for t, step in enumerate(forced_steps(stepper, src, keep, y)):
        log_p[:, t] = step.log_p.gather(1, y[:, t : t + 1]).squeeze(1)
        entropy[:, t] = torch.special.entr(step.log_p.exp()).sum(dim=1)  # 0 log 0 is 0
        if step.attention is not None:
            alphas.append(step.attention)
    attention = torch.stack(alphas, dim=1) * real.unsqueeze(2) if alphas else None
    return Forced(log_p.masked_fill(~real, 0), entropy.masked_fill(~real, 0), attention)


def forced_steps(
    stepper: Stepper, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], y: Int[Tensor, "N T"]
) -> Iterator[Step]:
    """Yield the step that predicts each column of y."""
    previous = torch.full((len(y),), BOS, device=y.device)
    state = stepper.start(src, keep, len(y) // len(src))
    for written in y.unbind(dim=1):
        step = stepper.step(previous, state)
        yield step
        previous, state = written, step.state


def pad_outputs(outputs: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "N T"], Bool[Tensor, "N T"]]:
    """Return the outputs padded to one length, and a mask of the real tokens."""
    lengths = torch.tensor([len(row) for row in outputs])
    rows = [torch.tensor(list(row), dtype=torch.long) for row in outputs]
    y = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)  # with <pad>, which is 0
    return y, torch.arange(y.shape[1]) < lengths.unsqueeze(1)


@torch.no_grad()
def top1_confidence(
    stepper: Stepper, batches: Iterable[References]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return max_v p(v) for each token of the references, and whether that v is the token.

    The host waits once per batch.
    """
    found: list[Tensor] = []
    for src, keep, references in batches:
        y, real = pad_outputs(references)
        there = send(y, src.device)
        steps = []
        for t, step in enumerate(forced_steps(stepper, src, keep, there)):
            best = step.log_p.max(dim=1)
            steps.append(torch.stack((best.values.exp(), (best.indices == there[:, t]).to(best.values))))
        found.append(torch.stack(steps, dim=1).cpu()[:, real.t()])
    confidence, correct = torch.cat(found, dim=1)
    return confidence.double().numpy(), correct.bool().numpy()
