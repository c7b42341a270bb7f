"""Conversion of pydantic's validation errors to ours: where (file:line), what was expected, how to fix it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dragoman.config.dump import literal
from dragoman.config.expected import expected_at, in_range, to_type
from dragoman.config.key_lookup import KeyPath, keys_at, kind_of, nearest, sections_at
from dragoman.errors import ConfigError
from dragoman.spelling import did_you_mean

Table = dict[str, Any]


class Places:
    """Where each setting was set: a line of the file, the command line, or `elsewhere`."""

    def __init__(
        self,
        file: Path | None = None,
        text: str = "",
        overrides: dict[KeyPath, str] | None = None,
        elsewhere: str = "the command line",
    ) -> None:
        self.file = file
        self.elsewhere = elsewhere
        self.lines = key_lines(text)
        self.overrides = overrides or {}

    def of(self, path: KeyPath) -> str:
        for cut in range(len(path), 0, -1):
            if path[:cut] in self.overrides:
                return f'"{short(self.overrides[path[:cut]])}" on the command line'
            if path[:cut] in self.lines:
                return f"{self.file}:{self.lines[path[:cut]]}"
        return str(self.file) if self.file else self.elsewhere


def explain(error: ValidationError, table: Table, places: Places) -> ConfigError:
    first = error.errors(include_url=False)[0]
    path = real_path(first["loc"], table, missing=first["type"] == "missing")
    kind, message, given, context = first["type"], first["msg"], first["input"], first.get("ctx", {})
    name = ".".join(path)
    match kind:
        case "extra_forbidden":
            return unknown_key(path, table, places.of(path))
        case "missing" if path and not sections_at(path[:-1]):  # one of the two numbers of a pair
            return wrong_value(path[:-1], given, kind_in(table, path[:-2]), places)
        case "missing":
            return ConfigError(
                f"The setting {name} is missing.",
                where=places.of(path),
                expected='for example  train = ["train.en", "train.de"]  below [data]'
                if "data" in path
                else "",
                hint=f"Add {name}.",
            )
        case "literal_error" | "union_tag_invalid":
            if kind == "union_tag_invalid":
                path, given = (*path, "kind"), context["tag"]
            return wrong_choice(".".join(path), given, context, places.of(path))
        case "union_tag_not_found":
            return kind_is_missing(path, table, places)
        case "value_error":
            is_one = bool(path) and not sections_at(path)
            return ConfigError(
                f"{name or 'The settings'}: {message.removeprefix('Value error, ')}.",
                where=places.of(path),
                expected=expected_at(path, kind_in(table, path[:-1])).words if is_one else "",
                hint=f"Change {name}." if is_one else "Change one of these settings.",
            )
    return wrong_value(path, given, kind_in(table, path[:-1]), places, in_range(kind, context))


def wrong_value(path: KeyPath, given: Any, kind: str | None, places: Places, bound: str = "") -> ConfigError:
    """Return the error for a value that is not allowed.

    `kind` is that of the section, `bound` the limit that an out-of-range number violates.
    """
    words, example = expected_at(path, kind)
    name = ".".join(path)
    if isinstance(given, str) and re.fullmatch(r"\d+(?:,\d+)+", given):
        if words.startswith("a number") and given.count(",") == 1:
            words, example = f"{words}; decimals have a point", given.replace(",", ".")
        elif words.startswith("a whole number") and re.fullmatch(r"\d{1,3}(?:,\d{3})+", given):
            example = given.replace(",", "")
    change = (
        f"{name}.kind={short(given)}"
        if isinstance(given, str) and "kind" in keys_at(path)
        else f"Change {name}."
    )
    return ConfigError(
        f"The setting {name} cannot be {short(given)}.",
        where=places.of(path),
        expected=bound or words,
        hint=to_type(path, example) if example else change,
    )


def kind_is_missing(path: KeyPath, table: Table, places: Places) -> ConfigError:
    """Return the error for settings of a part without a kind, naming the kinds that have them."""
    given: Any = table
    for key in path:
        given = given[key]
    sections = sections_at(path)
    kinds = [str(kind_of(s)) for s in sections if set(given) <= set(s.model_fields)]
    kinds = kinds or [str(kind_of(s)) for s in sections]
    first = next(iter(given), "kind")
    return ConfigError(
        f"{'.'.join((*path, first))}: {first} belongs to kind = "
        f"{' or '.join(literal(kind) for kind in kinds)}, but the kind is not set.",
        where=places.of((*path, first)),
        expected=f"{'.'.join(path)}.kind next to it",
        hint=to_type((*path, "kind"), kinds[0]),
    )


def wrong_choice(name: str, given: Any, context: Table, where: str) -> ConfigError:
    choices = re.findall(r"'([^']*)'", context.get("expected") or context["expected_tags"])
    close = nearest(str(given), choices)
    return ConfigError(
        f"The setting {name} cannot be {short(given)}.{did_you_mean(close)}",
        where=where,
        expected="one of " + ", ".join(choices) if len(choices) > 1 else choices[0],
        hint=f"{name}={close}" if close else f"Change {name}.",
    )


def unknown_key(path: KeyPath, table: Table, where: str) -> ConfigError:
    """Return the error for a key that no section has, or that only another `kind` of this section has."""
    *section, key = path
    name = ".".join(path)
    sections = sections_at(tuple(section))
    mine = next((s for s in sections if kind_of(s) == kind_in(table, section)), None)
    fields = list(mine.model_fields) if mine else keys_at(tuple(section))
    others = [f'"{kind_of(s)}"' for s in sections if s is not mine and key in s.model_fields]
    if mine and others:
        return ConfigError(
            f'{name}: {key} belongs to kind = {" or ".join(others)}, but this one is "{kind_of(mine)}".',
            where=where,
            expected="one of " + ", ".join(fields),
            hint=f"Remove {key}, or choose that kind.",
        )
    close = nearest(key, fields)
    return ConfigError(
        f"Unknown setting {name}.{did_you_mean(close)}",
        where=where,
        expected="one of " + ", ".join(fields),
        hint=f"Change it to {close}." if close else "Remove it.",
    )


def kind_in(table: Any, section: Sequence[str]) -> str | None:
    for key in section:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    kind = table.get("kind") if isinstance(table, dict) else None
    return kind if isinstance(kind, str) else None


def real_path(loc: Sequence[str | int], table: Any, *, missing: bool) -> KeyPath:
    """Return pydantic's location without the tags of unions: the path in the user's table."""
    out: list[str] = []
    node = table
    for index, key in enumerate(loc):
        if isinstance(node, dict) and key in node:
            node = node[key]
            out.append(str(key))
        elif missing and index == len(loc) - 1:
            out.append(str(key))
        elif isinstance(key, int) and isinstance(node, list | tuple) and key < len(node):
            node = node[key]
    return tuple(out)


def short(value: Any) -> str:
    """Return a value as it was written, shortened."""
    match value:
        case str():
            text = value or '""'
        case bool() | int() | float() | list() | tuple():
            text = as_toml(value)
        case dict():
            text = f"a table with {', '.join(map(str, value)) or 'nothing in it'}"
        case _:
            text = str(value)
    return text if len(text) <= 80 else text[:79] + "…"


def as_toml(value: Any) -> str:
    try:
        return literal(value)
    except (TypeError, ValueError, RecursionError):  # a date or a table in a list; thousands of digits
        return "…"


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line number of every key and header, which `tomllib` does not provide."""
    out: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(r"\s*+\[++([A-Za-z0-9_.\-\s]++)\]++\s*+(#.*)?$", line):
            table = tuple(part.strip() for part in header[1].split("."))
            out.setdefault(table, number)
        elif key := re.match(r"\s*([A-Za-z0-9_\-]+(?:\s*\.\s*[A-Za-z0-9_\-]+)*)\s*=", line):
            path = (*table, *(part.strip() for part in key[1].split(".")))
            out.setdefault(path, number)
            for inner in re.findall(r"[{,]\s*([A-Za-z0-9_\-]+)\s*=", line[key.end() :]):
                out.setdefault((*path, inner), number)
    return out
