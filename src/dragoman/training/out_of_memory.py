"""A batch that does not fit into the memory of the device: smaller micro-batches, or an error."""

from __future__ import annotations

from dragoman.config.training import TrainingConfig
from dragoman.errors import TrainingError

MOST_MICRO_BATCHES = 1024  # per update and rank; if more are needed, the batch itself is too large


class DoesNotFit(Exception):
    """Raised if the device runs out of memory while the first updates are timed."""


def halved(config: TrainingConfig) -> TrainingConfig:
    """Return the settings with micro-batches of half the size. Such a run resumes with these, too."""
    parts = (config.micro_batches or 1) * 2
    if parts > MOST_MICRO_BATCHES:
        raise out_of_memory(config)
    return config.model_copy(update={"micro_batches": parts})


def out_of_memory(config: TrainingConfig) -> TrainingError:
    parts = config.micro_batches or 1
    return TrainingError(
        "The device is out of memory.",
        where=f"training.batch_tokens={config.batch_tokens}, training.micro_batches={parts}",
        expected="micro-batches that fit into it",
        hint=f"Start over with --force training.micro_batches={parts * 2}, or a smaller model.",
    )
