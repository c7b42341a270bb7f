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

Every setting has a default, and some defaults are chosen for your data. These are the settings that people
change first, as you would type them after `dragoman train … -o en-de`:
"""
FIRST = {
    "training.budget=30m": "Train for 30 minutes, from reading the data to writing the model.",
    "training.updates=2000": "Train for so many updates instead. Such a run can be repeated to the last bit.",
    "model.preset=rnn-small": "Name the network. [Presets](#presets) lists what you can name.",
    "model.encoder.layers=6": "Make the network deeper. `model.decoder.layers` is the other half.",
    "model.encoder.dropout=0.3": "Use more dropout, in the decoder too, if the validation loss rises while "
    "the training loss still falls.",
    "text.kind=char": "Read and write characters, for spelling, pronunciation or dates. Sub-words are the "
    "default.",
    "text.size=4000": "Choose how many sub-words or words there are.",
    "data.clean=true": "Leave out duplicates and pairs of unlikely lengths.",
    "training.batch_tokens=8192": "Learn from more text in each update: steadier, and slower.",
    "training.lr=0.001": "Learn in smaller steps, if the loss jumps or becomes nan.",
    "training.patience=5": "Stop early, after five validations without an improvement.",
    "search.kind=greedy": "Answer faster, without a beam. `search.size` is the width of a beam.",
}
ORDER = """\
## Where settings come from

Settings come from four places, each over the one before:

1. the defaults on this page;
2. the preset, `model.preset`;
3. a TOML file: the `dragoman.toml` of the folder that you train, or `-c FILE`;
4. the command line: `section.key=value`. A `model.preset` there replaces the network of the file.

A finished run lists every setting that it used in its `settings.toml`. If you misspell a name, the error says
where, and names the nearest one that exists. Paths in a file are relative to the file; paths on the command
line, to where you are.
"""


def page() -> str:
    return "\n".join([HEAD, *first(), ORDER, *sections(), "## Presets", "", *presets()])


def first() -> Iterator[str]:
    for example, why in FIRST.items():
        name = example.partition("=")[0]
        is_anchor = name.count(".") == 1
        yield from (f"[`{example}`](#{anchor(name)})" if is_anchor else f"`{example}`", f": {why}", "")


def sections() -> Iterator[str]:
    for name, field in Config.model_fields.items():
        inner = sections_of(field)
        if not inner:
            continue
        yield from (f"## [{name}]", "", field.description or "", "", *settings(inner[0], f"{name}."))
        yield from parts(inner[0], name)


def parts(section: type[BaseModel], path: str) -> Iterator[str]:
    """The tables inside a section, each once, under the names of all places where it may stand."""
    places: dict[type[BaseModel], list[str]] = {}
    for key, field in section.model_fields.items():
        for inner in sections_of(field):
            places.setdefault(inner, []).append(f"{path}.{key}")
    for inner, names in places.items():
        choices = get_args(inner.model_fields["kind"].annotation) if "kind" in inner.model_fields else ()

        title = " and ".join(names) + (f", kind = {literal(choices[0])}" if len(choices) == 1 else "")
        about = [cleandoc(inner.__doc__), ""] if inner.__doc__ else []
        yield from (f"### {title}", "", *about, *settings(inner))


def settings(section: type[BaseModel], path: str = "") -> Iterator[str]:
    """A definition list; those of a section have anchors, a part may stand in several places."""
    for key, field in section.model_fields.items():
        if field.description:  # a kind of one choice says nothing that the title does not
            place = f"{{#{anchor(path + key)}}}" if path else ""
            yield f"`{path}{key}`{place} · {type_of(field)} · {default_of(field)}"
            yield from (f": {plain(field.description)}", "")


def anchor(name: str) -> str:
    return name.replace(".", "-").replace("_", "-")


def type_of(field: FieldInfo) -> str:
    inner = sections_of(field)
    if inner:
        return "tables" if get_origin(field.annotation) is tuple else "a table"
    return words(field.annotation) + limits(field)


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
        return "has to be given"
    if field.default is None:
        return "unset by default"
    if isinstance(field.default, BaseModel):
        return "see below"
    return f"`{literal(field.default)}` by default"


def plain(text: str) -> str:
    """On one line, with </s> as text."""
    return re.sub(r"\s+", " ", text).replace("<", "\\<")


def presets() -> Iterator[str]:
    yield "`model.preset` names one of these, or `auto`. Any field of `[model]` written beside it changes it."
    yield ""
    for name, make in PRESETS.items():
        yield f":::{{dropdown}} {name}"
        if make.__doc__:
            yield from (make.__doc__, "")
        yield "```toml"
        yield from (f"{key} = {toml(value)}" for key, value in make().items())
        yield from ("```", ":::", "")


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {literal(v)}" for k, v in value.items()) + " }"
    return literal(value)


if __name__ == "__main__":
    PAGE.write_text(page().rstrip("\n") + "\n", encoding="utf-8")
