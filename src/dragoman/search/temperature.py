"""Temperature scaling (Guo et al. 2017): one number T by which a model is as sure as it is right.

p_T(y) = softmax(log p / T), with the T under which the references are most probable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.protocols import Stepper
from dragoman.search.forced import along, padded, tempered
from dragoman.shapes import Float, Int, Tensor

# Sources, which of their tokens are real, and a reference for each, with its </s>
References = tuple[Tensor, Tensor, Sequence[Sequence[int]]]

LOG_T = np.linspace(-1.5, 1.5, 13) * np.log(2.0)  # T from 0.35 to 2.8, four to the octave


@torch.no_grad()
def fit_temperature(stepper: Stepper, batches: Iterable[References]) -> float:
    nll = np.zeros(len(LOG_T))
    for log_p, y in predictions(stepper, batches):
        scaled = [tempered(log_p, float(np.exp(t))).gather(1, y.unsqueeze(1)).double().sum() for t in LOG_T]
        nll -= torch.stack(scaled).cpu().numpy()
    return float(np.exp(lowest(LOG_T, nll)))


@torch.no_grad()
def judge(
    stepper: Stepper, batches: Iterable[References], temperature: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """For each token of the references: how sure the model is of its own choice there, and if it is right."""
    sure: list[Tensor] = []
    right: list[Tensor] = []
    for log_p, y in predictions(stepper, batches):
        best = tempered(log_p, temperature).max(dim=1)
        sure.append(best.values.exp())
        right.append(best.indices == y)
    return torch.cat(sure).double().cpu().numpy(), torch.cat(right).cpu().numpy()


def predictions(
    stepper: Stepper, batches: Iterable[References]
) -> Iterator[tuple[Float[Tensor, "M V"], Int[Tensor, " M"]]]:
    """The distribution before each token of the references, and the token."""
    for src, keep, references in batches:
        y, real = padded(references, src.device)
        for t, step in enumerate(along(stepper, src, keep, y)):
            yield step.log_p[real[:, t]], y[real[:, t], t]


def lowest(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Where y is lowest: the vertex of the parabola through its lowest value and the two beside it."""
    k = int(y.argmin())
    if k in (0, len(x) - 1):
        return float(x[k])
    before, here, after = y[k - 1 : k + 2]
    bend = before - 2 * here + after
    return float(x[k] + 0.5 * (x[1] - x[0]) * (before - after) / bend) if bend > 0 else float(x[k])
