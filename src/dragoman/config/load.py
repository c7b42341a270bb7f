"""TOML and overrides → Config. Every complaint names file:line and the nearest known key."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from dragoman.config.model import ModelConfig
from dragoman.config.presets import PRESETS
from dragoman.config.root import Config
from dragoman.errors import ConfigError

Table = dict[str, Any]
Path_ = tuple[str, ...]


def load(file: Path | None, overrides: Sequence[str] = (), base: Table | None = None) -> Config:
    """`base` (what the command line implies), then the file, then the overrides; then the preset below all."""
    table: Table = {}
    lines: dict[Path_, int] = {}
    if base:
        table = merge(table, base)
    if file is not None:
        table = merge(table, read(file))
        lines = key_lines(file.read_text(encoding="utf-8"))
    given = [parse_override(text) for text in overrides]
    for path, value, text in given:
        check_path(path, text)
        table = merge(table, nest(path, value))
    sources = {path: f'"{text}" on the command line' for path, _, text in given}
    return validate(table, file=file, lines=lines, sources=sources)


def validate(
    table: Table, *, file: Path | None = None, lines: dict[Path_, int] | None = None, sources: dict[Path_, str] | None = None
) -> Config:
    table = with_preset(table, file, lines or {})
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise explain(error, table, file, lines or {}, sources or {}) from None


def read(file: Path) -> Table:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            "There is no such settings file.", where=str(file), hint="dragoman new dates makes a folder with one."
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            "The settings file is not UTF-8.", where=f"{file}: byte {error.start}", hint="Save it as UTF-8."
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(
            f"The settings file is not valid TOML: {error}",
            where=f"{file}:{line[1]}" if line else str(file),
            expected='lines such as  key = "text"  or  key = 3  below a  [section]',
            hint="Mend that line.",
        ) from None


def merge(low: Table, high: Table) -> Table:
    """`high` over `low`, table by table."""
    out = dict(low)
    for key, value in high.items():
        old = out.get(key)
        replaced = isinstance(value, dict) and "kind" in value and isinstance(old, dict) and old.get("kind") != value["kind"]
        out[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) and not replaced else value
    return out


def with_preset(table: Table, file: Path | None, lines: dict[Path_, int]) -> Table:
    model = table.get("model", {})
    if not isinstance(model, dict):
        return table
    name = model.get("preset", ModelConfig.model_fields["preset"].default)
    if name not in PRESETS:
        raise ConfigError(
            f'There is no preset "{name}".{did_you_mean(str(name), PRESETS)}',
            where=position(("model", "preset"), file, lines, {}),
            expected="one of " + ", ".join(PRESETS),
            hint=f"model.preset={nearest(str(name), PRESETS) or 'transformer-small'}",
        )
    return {**table, "model": merge({**PRESETS[name](), "preset": name}, model)}


def parse_override(text: str) -> tuple[Path_, Any, str]:
    key, sign, raw = text.partition("=")
    if not sign or not re.fullmatch(r"[a-z_]+(\.[a-z_]+)*", key):
        raise ConfigError(
            f'"{text}" is not a setting.',
            where="the command line",
            expected="section.key=value, such as training.updates=2000",
            hint="Quote values with spaces: 'data.train=[\"a b.en\", \"a b.de\"]'.",
        )
    try:
        value = tomllib.loads(f"x = {raw}")["x"]
    except tomllib.TOMLDecodeError:
        value = raw
    return tuple(key.split(".")), value, text


def check_path(path: Path_, text: str) -> None:
    model: type[BaseModel] | None = Config
    for depth, key in enumerate(path):
        fields = known_fields(model) if model else {}
        if key not in fields:
            full = ".".join(path)
            names = [".".join(p) for p in all_paths()]
            raise ConfigError(
                f"Unknown setting {full}.{did_you_mean(full, names)}",
                where=f'"{text}" on the command line',
                expected="one of " + ", ".join([".".join((*path[:depth], name)) for name in fields] or names),
                hint=f"{nearest(full, names) or 'training.updates'}=…",
            )
        model = fields[key]


def known_fields(model: type[BaseModel]) -> dict[str, type[BaseModel] | None]:
    """Each field of a section, with its own section where it is one."""
    return {name: section_of(field) for name, field in model.model_fields.items()}


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """The section type of a field; for a choice of sections, one that knows every key of all."""
    kinds = [t for t in flatten(field.annotation) if isinstance(t, type) and issubclass(t, BaseModel)]
    if len(kinds) <= 1:
        return kinds[0] if kinds else None
    return type("Choice", (BaseModel,), {"__annotations__": {n: Any for k in kinds for n in k.model_fields}})


def flatten(annotation: Any) -> Iterable[Any]:
    args = get_args(annotation)
    return [annotation] if not args else [leaf for arg in args for leaf in flatten(arg)]


def all_paths(model: type[BaseModel] = Config, prefix: Path_ = ()) -> list[Path_]:
    out: list[Path_] = []
    for name, inner in known_fields(model).items():
        out += all_paths(inner, (*prefix, name)) if inner else [(*prefix, name)]
    return out


def nest(path: Path_, value: Any) -> Table:
    return {path[0]: nest(path[1:], value) if len(path) > 1 else value}


def explain(
    error: ValidationError, table: Table, file: Path | None, lines: dict[Path_, int], sources: dict[Path_, str]
) -> ConfigError:
    """pydantic's first complaint, with the line and the near name that it does not give."""
    first = error.errors()[0]
    path = real_path(first["loc"], table)
    where = position(path, file, lines, sources)
    name = ".".join(path)
    if first["type"] == "extra_forbidden":
        siblings = sorted({p[len(path) - 1] for p in all_paths() if p[: len(path) - 1] == path[:-1] and len(p) >= len(path)})
        return ConfigError(
            f"Unknown setting {name}.{did_you_mean(path[-1], siblings)}",
            where=where,
            expected=f"one of {', '.join(siblings)}",
            hint=f"Change it to {nearest(path[-1], siblings)}." if nearest(path[-1], siblings) else "Remove it.",
        )
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        return ConfigError(f"The setting {name} is missing.", where=where, hint=f"Add {name} = … to the settings.")
    if first["type"] == "value_error":
        return ConfigError(f"{name or 'The settings'}: {message}.", where=where, hint="Change one of the two.")
    return ConfigError(
        f"The setting {name} cannot be {first['input']!r}.", where=where, expected=message, hint=f"Change {name}."
    )


def real_path(loc: Sequence[str | int], table: Any) -> Path_:
    """pydantic's location without the tags of unions: only what stands in the user's table."""
    out: list[str] = []
    node = table
    for index, key in enumerate(loc):
        if isinstance(node, dict) and key in node:
            node = node[key]
            out.append(str(key))
        elif isinstance(key, str) and index == len(loc) - 1:
            out.append(key)
        elif isinstance(key, int) and isinstance(node, list | tuple) and key < len(node):
            node = node[key]
    return tuple(out)


def position(path: Path_, file: Path | None, lines: dict[Path_, int], sources: dict[Path_, str]) -> str:
    for cut in range(len(path), 0, -1):
        if path[:cut] in sources:
            return sources[path[:cut]]
        if path[:cut] in lines:
            return f"{file}:{lines[path[:cut]]}"
    return str(file) if file else "the command line"


def key_lines(text: str) -> dict[Path_, int]:
    """The line of every key and header. `tomllib` keeps none; multi-line values are no keys of ours."""
    out: dict[Path_, int] = {}
    table: Path_ = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(r"\s*\[+\s*([A-Za-z0-9_.\-\s]+?)\s*\]+\s*(#.*)?$", line):
            table = tuple(part.strip() for part in header[1].split("."))
            out.setdefault(table, number)
        elif key := re.match(r"\s*([A-Za-z0-9_\-]+(?:\s*\.\s*[A-Za-z0-9_\-]+)*)\s*=", line):
            path = (*table, *(part.strip() for part in key[1].split(".")))
            out.setdefault(path, number)
            for inner in re.findall(r"[{,]\s*([A-Za-z0-9_\-]+)\s*=", line[key.end() :]):
                out.setdefault((*path, inner), number)
    return out


def nearest(name: str, names: Iterable[str]) -> str | None:
    names = list(names)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not close:  # training.learning_rate → training.lr: compare the last parts, in the same section first
        tail = name.rsplit(".", 1)[-1]
        initials = "".join(word[0] for word in tail.split("_") if word)
        close = [n for n in names if n.rsplit(".", 1)[-1] in (tail, initials)]
    return close[0] if close else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    close = nearest(name, names)
    return f" Did you mean {close}?" if close else ""
