"""Settings of a run that starts from a trained model: those of its network and its vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Table = dict[str, Any]

FINE_TUNING_SHARE = 0.5  # of the learning rate of new weights
# What is inherited of [data] and [training]: how a corpus is read, and what is measured.
DATA = ("source", "block_size", "max_length")
TRAINING = ("label_smoothing", "valid_metric", "valid_decode")
MAY_DIFFER = ("sampling", "file")  # settings of [text] that do not change the vocabulary


def settings_file(init_from: str) -> Path:
    """Return the settings of a model, given its folder or that of its run."""
    folder = Path(init_from)
    inner = folder / "model" / "settings.toml"
    return inner if inner.is_file() else folder / "settings.toml"


def inherited(settings: Table) -> Table:
    """Return the settings that a run takes from the model it starts from, unless it sets others."""
    whole: Table = {key: settings[key] for key in ("task", "text", "search") if key in settings}
    model = {key: value for key, value in settings.get("model", {}).items() if key != "why"}
    data, training = (
        {key: value for key, value in settings.get(section, {}).items() if key in keys}
        for section, keys in (("data", DATA), ("training", TRAINING))
    )
    return {**whole, "model": model, "data": data, "training": training}


def other_vocabulary(text: object, initial: Table) -> str:
    """Return the first setting of [text] that asks for another vocabulary than that of the model, or ""."""
    if not isinstance(text, Mapping):
        return ""
    for key, value in text.items():
        was = initial.get(key)
        if isinstance(value, Mapping) and isinstance(was, Mapping):
            if inner := other_vocabulary(value, dict(was)):
                return f"{key}.{inner}"
        elif key not in MAY_DIFFER and value != was:
            return str(key)
    return ""
