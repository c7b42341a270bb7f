"""Tiny models with random weights: what they write is noise, but always the same noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from dragoman.config.load import validate
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle, save_bundle
from dragoman.text.build import learn

TRANSFORMER: dict[str, Any] = {"kind": "transformer", "layers": 1, "width": 32, "heads": 2, "ffn": 64}
RNN: dict[str, Any] = {"kind": "rnn", "layers": 1, "width": 32, "embedding": 32}
WORDS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]


def tiny(
    part: dict[str, Any] = TRANSFORMER,
    *,
    seed: int = 1,
    model: dict[str, Any] | None = None,
    words: list[str] | None = None,
    **search: Any,
) -> Bundle:
    words = words or WORDS
    config = validate(
        {
            "data": {"train": "train.tsv"},
            "text": {"kind": "word", "size": max(100, len(words) + 10)},
            "model": {"encoder": part, "decoder": part, **(model or {})},
            "training": {"seed": seed},
            "search": {"size": 3, "max_length": 12, **search},
        }
    )
    text = learn(config.text, zip([" ".join(words)], [" ".join(words)], strict=True))
    built = new_model(config, text).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.mul_(3.0)  # so that outputs depend on inputs
    return Bundle(config, text, built)


def tiny_lm(part: dict[str, Any] = RNN, *, seed: int = 1, words: list[str] = WORDS) -> Bundle:
    """Return a language model with the vocabulary of `tiny`."""
    config = validate(
        {
            "task": "lm",
            "data": {"train": "train.txt"},
            "text": {"kind": "word", "size": 100},
            "model": {"decoder": part},
            "training": {"seed": seed},
        }
    )
    text = learn(config.text, zip([" ".join(words)], [" ".join(words)], strict=True))
    built = new_model(config, text).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.mul_(3.0)
    return Bundle(config, text, built)


def tiny_folder(folder: Path, **options: Any) -> Path:
    return saved(folder, tiny(**options))


def saved(folder: Path, bundle: Bundle) -> Path:
    save_bundle(
        folder,
        bundle.config,
        bundle.text,
        {n: p.detach() for n, p in bundle.model.named_parameters()},
        "A tiny model.\n",
    )
    return folder
