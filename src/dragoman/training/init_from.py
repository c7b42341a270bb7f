"""Fine-tuning: runs that start from the weights and the vocabulary of a trained model."""

from __future__ import annotations

from pathlib import Path

import torch

from dragoman.config.training import TrainingConfig
from dragoman.errors import ModelError, UsageError
from dragoman.inference.find_model import find_model
from dragoman.models.bundle import load_bundle
from dragoman.models.folder import TEXT, WEIGHTS, open_folder
from dragoman.protocols import Network


def initial_vocabulary(config: TrainingConfig, *, is_begun: bool = False) -> Path | None:
    """Return the folder of the vocabulary to use, or None for a new one.

    A run that has begun has a copy of it, and does not need the model any more.
    """
    return find_model(config.init_from) / TEXT if config.init_from and not is_begun else None


def initial_weights(config: TrainingConfig) -> str | None:
    """Return the SHA-256 of the weights that a run starts from, or None for new weights."""
    if not config.init_from:
        return None
    return open_folder(find_model(config.init_from)).facts(WEIGHTS).sha256


def load_initial_weights(network: Network, config: TrainingConfig) -> None:
    """Copy the weights of the model that a run starts from, if it does."""
    if not config.init_from:
        return
    trained = dict(load_bundle(find_model(config.init_from)).model.named_parameters())
    new = dict(network.named_parameters())
    shapes, wanted = ({name: tuple(p.shape) for name, p in each.items()} for each in (trained, new))
    if other := sorted({name for name, _ in shapes.items() ^ wanted.items()}):
        name = other[0]
        raise UsageError(
            f"The network of this run differs from that of {config.init_from}: {name} is "
            f"{size(wanted.get(name))}, and {size(shapes.get(name))} there.",
            where="training.init_from",
            expected="the task, the sizes and the parts of that model",
            hint="Leave out the model.… settings that change them; or train without --from.",
        )
    with torch.no_grad():
        for name, p in new.items():
            p.copy_(trained[name])


def size(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else " × ".join(map(str, shape))


def other_initial_weights(config: TrainingConfig, begun_from: str | None) -> bool:
    """Return whether a run that has begun would start from other weights now."""
    try:
        return initial_weights(config) != begun_from
    except ModelError:  # the model is gone, and is not needed any more
        return begun_from is None
