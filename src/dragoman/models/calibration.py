"""calibration.json in a model folder: the calibration of the model's confidence on held-out pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.errors import ModelError
from dragoman.manifest import Read
from dragoman.metrics.calibration import logistic, monotone
from dragoman.search.repetition import OutputBounds

FILE = "calibration.json"


class Calibration(BaseModel):
    """Calibration parameters. The confidence of an output is its expected chrF, from 0 to 1."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    sentences: int = Field(ge=1)  # on which it was fitted
    tokens: tuple[tuple[float, float], ...] = Field(min_length=1)  # (p, accuracy), increasing
    slope: float  # confidence of an output: σ(slope · mean log p + offset)
    offset: float
    lowest: float | None = None  # a mean log p below this is low; None before 2026-11-19
    doubt: float = 0.0  # before that, a confidence
    shortest: float  # suspicious output/source ratios in characters: below this
    longest: float  # or above this
    muted: tuple[str, ...]  # flags that the references raise too
    bounds: OutputBounds  # at which an output is truncated
    error: tuple[float, float]  # expected calibration error of the tokens, before and after

    def token_confidence(self, log_p: Sequence[float]) -> list[float]:
        """Return the expected accuracy of tokens with these log-probabilities, given a correct prefix."""
        confidence: list[float] = monotone(np.exp(log_p), self.tokens).tolist()
        return confidence

    def confidence(self, mean_log_p: float) -> float | None:
        """Return the confidence of an output; None if probabilities say nothing about quality here."""
        return float(logistic(mean_log_p, self.slope, self.offset)) if self.slope else None

    @property
    def warning(self) -> str:
        """What a user must know about it; empty if there is nothing."""
        if self.lowest is None:
            return (
                "The confidence of this model was calibrated by an earlier version, by which nothing is "
                "low_confidence: dragoman score MODEL dev.src dev.tgt --calibrate"
            )
        if not self.slope:
            return (
                "The probabilities of its outputs say nothing about their quality: outputs get no confidence."
            )
        return ""


def read_calibration(file: Path, read: Read) -> Calibration:
    try:
        return Calibration.model_validate_json(read(file))
    except ValidationError:
        raise ModelError(
            "The model's calibration cannot be read.",
            where=str(file),
            expected="the file as Dragoman wrote it",
            hint=f"dragoman score {file.parent} dev.src dev.tgt --calibrate",
        ) from None


def write_calibration(folder: Path, calibration: Calibration) -> None:
    (folder / FILE).write_text(calibration.model_dump_json(indent=1) + "\n", encoding="utf-8")
