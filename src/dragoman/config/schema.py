"""Descriptions of all settings: a list, and a JSON schema for editors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from dragoman.config.dump import literal
from dragoman.config.key_lookup import sections_of
from dragoman.config.root import Config


class Setting(NamedTuple):
    name: str
    default: str  # as TOML; empty if unset or required
    about: str


def described() -> list[Setting]:
    """Return each setting once, by its name on the command line; of several kinds, that of the first."""
    return list({row.name: row for row in reversed(list(_rows(Config, "")))}.values())[::-1]


def _rows(section: type[BaseModel], path: str) -> Iterator[Setting]:
    for key, field in section.model_fields.items():
        inner = sections_of(field)
        if inner:
            for part in inner:
                yield from _rows(part, f"{path}{key}.")
            continue
        value = field.get_default(call_default_factory=True)
        has_default = value is not None and value is not PydanticUndefined
        about = field.description or "The kind of this part."
        yield Setting(f"{path}{key}", literal(value) if has_default else "", about)


def schema() -> dict[str, Any]:
    """Return the JSON schema of dragoman.toml.

    A part may omit its kind, which the preset sets; a corpus may be given as its files.
    """
    made: dict[str, Any] = Config.model_json_schema()
    _relax(made)
    parts = made["$defs"]
    names = {"type": "array", "items": {"type": "string"}}
    parts["Corpus"] = {"anyOf": [{"type": "string"}, names, parts["Corpus"]]}
    train = parts["DataConfig"]["properties"]
    train["train"] = {"anyOf": [{"$ref": "#/$defs/Corpus"}, train["train"]]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "dragoman.toml", **made}


def _relax(node: Any) -> None:
    if isinstance(node, dict):
        node.pop("discriminator", None)
        if "oneOf" in node:
            node["anyOf"] = node.pop("oneOf")  # without a kind, several may fit
        if isinstance(node.get("required"), list):
            node["required"] = [name for name in node["required"] if name != "kind"]
        for inner in node.values():
            _relax(inner)
    elif isinstance(node, list):
        for inner in node:
            _relax(inner)
