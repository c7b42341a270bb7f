"""Serialization of a Config as TOML: the fully resolved settings.toml that every run writes."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from dragoman.config.root import Config


def to_toml(config: Config) -> str:
    lines = [f"task = {literal(config.task)}"]
    for name in Config.model_fields:
        section = getattr(config, name)
        if isinstance(section, BaseModel):
            lines += ["", f"[{name}]", *entries(section)]
    return "\n".join(lines) + "\n"


def entries(section: BaseModel) -> list[str]:
    return [f"{key} = {literal(value)}" for key, value in section if value is not None]


def literal(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case BaseModel():
            return "{ " + ", ".join(entries(value)) + " }"
        case list() | tuple():
            return "[" + ", ".join(literal(v) for v in value) + "]"
    raise TypeError(f"cannot write {type(value).__name__} as TOML")


def leaves(table: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Return the values of nested tables, each with the names that lead to it."""
    out = []
    for key, value in table.items():
        out += leaves(value, (*path, key)) if isinstance(value, dict) else [((*path, key), value)]
    return out
