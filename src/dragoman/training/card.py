"""card.md: what a model is, from what it was made and how well it did. Written by training, never by hand."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from dragoman.config.root import Config


def model_card(config: Config, facts: dict[str, Any], *, parameters: int, pairs: int) -> str:
    sources = "\n".join(
        f"- {' + '.join(corpus.files)} (weight {corpus.weight:g})" for corpus in config.data.train
    )
    scores = "\n".join(f"| {name} | {value:.4f} |" for name, value in facts["valid"].items())
    model, text = config.model, config.text
    units = text.kind if text.is_joint else f"{text.src_units.kind} → {text.tgt_units.kind}"
    return f"""# A Dragoman model

{model.encoder.kind} encoder, {model.decoder.kind} decoder (preset {model.preset}), {parameters:,} parameters,
{units} units. Trained on {pairs:,} pairs for {facts["step"]:,} updates in
{facts["seconds"] / 60:.1f} minutes with Dragoman {version("dragoman")}.
The weights are the {facts["chosen"]} of its checkpoints.

## Data

{sources}

## Held-out scores (greedy search, loss per token)

| metric | value |
|---|---|
{scores}

All settings stand in settings.toml beside this file.
"""
