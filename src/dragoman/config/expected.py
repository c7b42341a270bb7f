"""Descriptions of the values that a setting accepts: "a whole number, such as 2000"."""

from __future__ import annotations

import shlex
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dragoman.config.dump import literal
from dragoman.config.key_lookup import KeyPath, keys_at, kind_of, leaves, sections_at

NUMBERS = {int: ("a whole number", "whole numbers"), float: ("a number", "numbers"), str: ("text", "names")}
COUNTS = {1: "one", 2: "two"}
RANGES = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


class Expected(NamedTuple):
    words: str
    example: str  # as TOML; empty if no value is representative


def expected_at(path: KeyPath, kind: str | None) -> Expected:
    """Describe the setting at this path, in a section of this kind if several are allowed there."""
    *section, key = path
    owners = [s for s in sections_at(tuple(section)) if key in s.model_fields]
    mine = [s for s in owners if kind_of(s) == kind] or owners
    if not mine:
        return Expected("one of " + ", ".join(keys_at(tuple(section))), "")
    field = mine[0].model_fields[key]
    example = example_of(field)
    if sections_at(path) and not example:
        return Expected("a table with some of " + ", ".join(keys_at(path)), "")
    forms = " or ".join(dict.fromkeys(form(part) for part in alternatives(field.annotation)))
    return Expected(f"{forms}, such as {example}" if example else forms, example)


def example_of(field: FieldInfo) -> str:
    """Return the example in the schema, or the default."""
    value = field.examples[0] if field.examples else field.default
    plain = isinstance(value, int | float | str | tuple | list) and not isinstance(value, bool)
    if not plain or value in (PydanticUndefined, "") or is_choice(field.annotation):
        return ""
    return literal(value)


def is_choice(annotation: Any) -> bool:
    return any(get_origin(part) is Literal for part in alternatives(annotation))


def alternatives(annotation: Any) -> list[Any]:
    """Return the types of a union, without None and without annotations."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Literal, tuple) or not args:
        return [] if annotation is NoneType else [annotation]
    parts = args[:1] if hasattr(annotation, "__metadata__") else args
    return [part for arg in parts for part in alternatives(arg)]


def form(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if kind is bool:
        return "true or false"
    if get_origin(kind) is not tuple:
        return NUMBERS[kind][0] if kind in NUMBERS else "a table"
    args = get_args(kind)
    inner = next((leaf for leaf in leaves(args[0]) if leaf in NUMBERS), str)
    count = "a list of" if Ellipsis in args else COUNTS[len(args)]
    return f"{count} {NUMBERS[inner][1]}"


def in_range(error: str, context: dict[str, Any]) -> str:
    """Describe the limit that was violated; empty for errors of another type."""
    if error not in RANGES:
        return ""
    words, key = RANGES[error]
    bound = context[key]
    return f"{words} {int(bound) if bound == int(bound) else bound:,}"


def to_type(path: KeyPath, value: str) -> str:
    """Return a setting quoted for the shell."""
    return shlex.quote(f"{'.'.join(path)}={value}")
