"""One JSON object a line: {"src": …, "tgt": …}, or {"translation": {"en": …, "de": …}}."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from dragoman.data.pair import Pair
from dragoman.data.readers.bad import BadLine, OnBad, bad_line
from dragoman.data.readers.lines import read_lines

EXPECTED = '{"src": "…", "tgt": "…"}'
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_jsonl(file: Path, on_bad: OnBad) -> Iterator[Pair]:
    """The languages under "translation" keep the order of the first line, whatever that of the others."""
    languages: tuple[str, ...] = ()
    with closing(read_lines(file)) as lines:
        for number, line in enumerate(lines, start=1):
            if isinstance(line, BadLine):
                on_bad(line)
                continue
            try:
                record = parse(line)
                plain = "translation" not in record
                sides, names = (record, ("src", "tgt")) if plain else translation(record, languages)
                source, target = (text(sides, name) for name in names)
            except Refused as refused:
                hint = f"Mend or remove the line: sed -n {number}p {file}"
                on_bad(bad_line("json", file, number, str(refused), expected=EXPECTED, hint=hint))
                continue
            if not plain:
                languages = names
            yield Pair(source, target, number)


class Refused(Exception):
    pass


def parse(line: str) -> dict[str, Any]:
    try:
        record = DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise Refused(
            f"This line is not JSON: {error.msg.removesuffix(' at')} (column {error.colno})."
        ) from None
    except RecursionError:
        raise Refused("This line is nested too deeply to be a pair.") from None
    except ValueError:  # an integer of more digits than Python converts
        raise Refused("This line has a number too large to be read.") from None
    if not isinstance(record, dict):
        raise Refused(f"This line is JSON, but {kind_of(record)}, not an object.")
    return record


def unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(items)
    if len(record) != len(items):
        raise Refused("This object has the same key twice.")
    return record


def no_constant(name: str) -> NoReturn:
    raise Refused(f"{name} is not JSON.")


def finite(number: str) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise Refused(f"The number {number[:20]} is too large.")
    return value


DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=no_constant, parse_float=finite)


def translation(record: dict[str, Any], languages: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
    sides = record["translation"]
    if "src" in record or "tgt" in record:
        raise Refused('This object has both "translation" and "src" or "tgt".')
    if not isinstance(sides, dict) or len(sides) != 2:
        raise Refused('"translation" does not hold exactly two languages.')
    if languages and set(languages) != set(sides):
        raise Refused(f"The languages are {' and '.join(sides)} here but {' and '.join(languages)} above.")
    return sides, languages or tuple(sides)


def text(sides: dict[str, Any], name: str) -> str:
    if name not in sides:
        raise Refused(f'The key "{name}" is missing.')
    value = sides[name]
    if not isinstance(value, str):
        raise Refused(f'"{name}" is {kind_of(value)}, not text.')
    if LONE_SURROGATE.search(value):
        raise Refused(f'"{name}" holds half a character (a lone surrogate such as \\ud800).')
    return value


def kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
