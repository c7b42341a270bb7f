"""TrainingConfig → the parts of the engine."""

from __future__ import annotations

from typing import assert_never

from dragoman.config.training import TrainingConfig
from dragoman.training.flat import FlatParameters
from dragoman.training.optim import Adam
from dragoman.training.schedule import Schedule, constant, cosine, inverse_sqrt, linear


def build_schedule(config: TrainingConfig, updates: int) -> Schedule:
    match config.schedule:
        case "inverse_sqrt":
            return inverse_sqrt(config.lr, config.warmup)
        case "cosine":
            return cosine(config.lr, config.warmup, updates)
        case "linear":
            return linear(config.lr, config.warmup, updates)
        case "constant":
            return constant(config.lr, config.warmup)
        case _:
            assert_never(config.schedule)


def build_adam(config: TrainingConfig, flat: FlatParameters) -> Adam:
    return Adam(
        flat,
        betas=config.betas,
        eps=config.eps,
        weight_decay=config.weight_decay,
        decoupled=config.optimizer == "adamw",
    )
