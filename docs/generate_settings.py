"""Writes settings.md from the schema; a test says when it is out of date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dragoman.config.dump import literal
from dragoman.config.key_lookup import sections_of
from dragoman.config.presets import PRESETS
from dragoman.config.root import Config

PAGE = Path(__file__).parent / "settings.md"

HEAD = """\
# Settings

<!-- Made by generate_settings.py from src/dragoman/config. Change the descriptions there, then run it. -->

A run is described by one typed tree of settings. They come from four places, each over the one before:

1. the defaults on this page;
2. the preset, `model.preset`;
3. a TOML file: the `dragoman.toml` of the folder that is trained, or `-c FILE`;
4. the command line: `section.key=value`, such as `training.updates=2000`. A `model.preset` there
   replaces the network of the file.

What a run used in the end is written in full to `settings.toml` in its folder, so nothing is left to memory.
A name that does not exist is refused with its place (file and line) and the nearest name that does.

Paths in a file are relative to the file; paths on the command line, to where you are.
"""


def page() -> str:
    return "\n".join([HEAD, *sections(), "## Presets", "", *presets()])


def sections() -> Iterator[str]:
    for name, field in Config.model_fields.items():
        inner = sections_of(field)
        if not inner:
            continue
        yield from (f"## [{name}]", "", field.description or "", "", *table(inner[0], f"{name}."))
        yield from parts(inner[0], name)


def parts(section: type[BaseModel], path: str) -> Iterator[str]:
    """The tables that stand inside a section, each once, under the names of all places where it may stand."""
    places: dict[type[BaseModel], list[str]] = {}
    for key, field in section.model_fields.items():
        for inner in sections_of(field):
            places.setdefault(inner, []).append(f"{path}.{key}")
    for inner, names in places.items():
        choices = get_args(inner.model_fields["kind"].annotation) if "kind" in inner.model_fields else ()

        title = " and ".join(names) + (f", kind = {literal(choices[0])}" if len(choices) == 1 else "")
        about = [cleandoc(inner.__doc__), ""] if inner.__doc__ else []
        yield from (f"### {title}", "", *about, *table(inner))


def table(section: type[BaseModel], path: str = "") -> list[str]:
    rows = [
        f"| `{path}{key}` | {type_of(field)} | {default_of(field)} | {cell(field.description or '')} |"
        for key, field in section.model_fields.items()
        if field.description  # a kind of one choice says nothing that the title does not
    ]
    return ["| setting | value | default | what it is |", "|---|---|---|---|", *rows, ""] if rows else []


def type_of(field: FieldInfo) -> str:
    inner = sections_of(field)
    if inner:
        return "tables" if get_origin(field.annotation) is tuple else "a table"
    return cell(words(field.annotation) + limits(field))


def words(hint: Any) -> str:
    arguments = [a for a in get_args(hint) if a is not NoneType]
    if get_origin(hint) is Literal:
        return " or ".join(f"`{literal(a)}`" for a in arguments)
    if get_origin(hint) is tuple:
        return f"list of {words(arguments[0])}"
    if get_origin(hint) in (Union, UnionType) and len(arguments) > 1:
        return " or ".join(words(a) for a in arguments)
    names = {int: "integer", float: "number", str: "text", bool: "`true` or `false`"}
    return names[hint] if hint in names else words(arguments[0])


def limits(field: FieldInfo) -> str:
    """≥ 1, < 2 and so on, wherever pydantic keeps them: on the field, or inside an Annotated type."""
    marks = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    found = [*field.metadata, *(m for a in get_args(field.annotation) for m in nested(a))]
    named = {mark: getattr(m, mark) for m in found for mark in marks if getattr(m, mark, None) is not None}
    return "".join(f", {sign} {number(named[mark])}" for mark, sign in marks.items() if mark in named)


def nested(hint: Any) -> list[Any]:
    return [m for info in getattr(hint, "__metadata__", ()) for m in getattr(info, "metadata", ())]


def number(value: float) -> str:
    return "2⁶³" if value == 2**63 else f"{value:,}"


def default_of(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "to be given"
    if field.default is None:
        return "unset"
    if isinstance(field.default, BaseModel):
        return "see below"
    return f"`{literal(field.default)}`"


def cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def presets() -> Iterator[str]:
    yield "`model.preset` names one of these, or `auto`. Any field of `[model]` written beside it changes it."
    yield ""
    for name, make in PRESETS.items():
        yield f"### {name}"
        yield ""
        if make.__doc__:
            yield from (make.__doc__, "")
        yield "```toml"
        yield from (f"{key} = {toml(value)}" for key, value in make().items())
        yield from ("```", "")


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {literal(v)}" for k, v in value.items()) + " }"
    return literal(value)


if __name__ == "__main__":
    PAGE.write_text(page().rstrip("\n") + "\n", encoding="utf-8")
