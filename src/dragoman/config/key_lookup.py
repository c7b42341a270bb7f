"""Names of all settings, and suggestions for misspelt ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dragoman.config.root import Config
from dragoman.config.section import ByKind
from dragoman.spelling import closest

KeyPath = tuple[str, ...]
Sections = tuple[type[BaseModel], ...]

# The name in other toolkits → our name.
SYNONYMS = {
    "batch_size": "batch_tokens",
    "beam": "size",
    "beam_size": "size",
    "d_ff": "ffn",
    "d_model": "width",
    "epochs": "updates",
    "ffn_size": "ffn",
    "gradient_accumulation": "micro_batches",
    "hidden": "width",
    "hidden_size": "width",
    "layerdrop": "layer_drop",
    "learning_rate": "lr",
    "max_steps": "updates",
    "num_heads": "heads",
    "num_kv_heads": "kv_heads",
    "num_layers": "layers",
    "scheduler": "schedule",
    "sliding_window": "window",
    "smoothing": "label_smoothing",
    "steps": "updates",
    "tie_embeddings": "tied",
    "vocab_size": "size",
    "warmup_steps": "warmup",
}


def sections_at(path: KeyPath) -> Sections:
    """Return the sections allowed at a path: none for a plain value, several where `kind` decides."""
    sections: Sections = (Config,)
    for key in path:
        fields = [section.model_fields[key] for section in sections if key in section.model_fields]
        sections = tuple(dict.fromkeys(s for field in fields for s in sections_of(field)))
    return sections


def sections_of(field: FieldInfo) -> Sections:
    for note in field.metadata:
        if isinstance(note, ByKind):
            return tuple(note.registry.values())
    return tuple(t for t in leaves(field.annotation) if isinstance(t, type) and issubclass(t, BaseModel))


def leaves(annotation: Any) -> list[Any]:
    args = get_args(annotation)
    return [annotation] if not args else [leaf for arg in args for leaf in leaves(arg)]


def keys_at(path: KeyPath) -> list[str]:
    return list(dict.fromkeys(key for section in sections_at(path) for key in section.model_fields))


def holds_bool(path: KeyPath) -> bool:
    *section, key = path
    fields = [s.model_fields[key] for s in sections_at(tuple(section)) if key in s.model_fields]
    return any(bool in leaves(field.annotation) for field in fields)


def kind_of(section: type[BaseModel]) -> str | None:
    field = section.model_fields.get("kind")
    return field.default if field else None


def all_names(path: KeyPath = ()) -> list[str]:
    """Return the names of all settings that hold a value, as section.key."""
    out: list[str] = []
    for key in keys_at(path):
        inner = (*path, key)
        out += all_names(inner) if sections_at(inner) else [".".join(inner)]
    return out


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name closest to `name`: first by its last part, in the same section if possible.

    The kind of something may be a setting of that name: model.decoder.attention for model.attention.kind.
    """
    names = list(names)
    head, _, tail = name.rpartition(".")
    of_kind = head.rpartition(".")[2] if tail == "kind" else None
    for wanted in (of_kind, tail, SYNONYMS.get(tail)):
        ends = [n for n in names if n.rpartition(".")[2] == wanted]
        if ends:
            return max(ends, key=lambda n: difflib.SequenceMatcher(None, n.rpartition(".")[0], head).ratio())
    section = [n for n in names if n.rpartition(".")[0] == head]
    close = closest(tail, [n.rpartition(".")[2] for n in section])
    if section and head:
        return f"{head}.{close}" if close else None
    return close or closest(name, names)
