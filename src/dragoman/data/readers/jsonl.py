"""Reader of JSON Lines: {"src": …, "tgt": …}, any two names, or {"translation": {"en": …, "de": …}}."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad, bad_line
from dragoman.data.readers.lines import read_lines
from dragoman.text.languages import SOURCES, TARGETS, Languages, code, index_of

EXPECTED = '{"src": "…", "tgt": "…"}'
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_jsonl(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Yield pairs. The first line of each shape determines the two names and their order."""
    names: dict[bool, tuple[str, str]] = {}  # with and without "translation"
    with closing(read_lines(file)) as lines:
        for number, line in enumerate(lines, start=1):
            if isinstance(line, BadLine):
                on_bad(line)
                continue
            try:
                record = parse(line)
                shape = "translation" in record
                sides = translation(record, languages) if shape else record
                keys = names.get(shape) or names_of(sides, languages)
                source, target = (text(sides, name) for name in keys)
            except Refused as refused:
                hint = f"Fix or remove the line: sed -n {number}p {file}"
                on_bad(bad_line("json", file, number, str(refused), expected=EXPECTED, hint=hint))
                continue
            names[shape] = keys
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
        raise Refused("This line is nested too deeply.") from None
    except ValueError:  # an integer with more digits than Python converts
        raise Refused("This line contains a number that is too large.") from None
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


def translation(record: dict[str, Any], languages: Languages | None) -> dict[str, Any]:
    sides = record["translation"]
    if "src" in record or "tgt" in record:
        raise Refused('This object has both "translation" and "src" or "tgt".')
    if not isinstance(sides, dict) or (len(sides) != 2 and not languages):
        raise Refused(
            '"translation" does not have exactly two languages. --languages en de selects two of several.'
        )
    return sides


def names_of(sides: dict[str, Any], languages: Languages | None) -> tuple[str, str]:
    """Return the keys of the source and of the target."""
    keys = list(sides)
    if languages:
        indices = [index_of(tuple(keys), name) for name in languages]
        if None in indices:
            raise Refused(f"The keys do not include {' and '.join(languages)}.")
        src, tgt = (keys[index] for index in indices if index is not None)
        return src, tgt
    texts = [key for key in keys if isinstance(sides[key], str)]
    known = [key for kind in (SOURCES, TARGETS) for key in texts if code(key) in kind]
    two = known if len(known) == 2 else texts
    return (two[0], two[1]) if len(two) == 2 else ("src", "tgt")


def text(sides: dict[str, Any], name: str) -> str:
    if name not in sides:
        raise Refused(f'The key "{name[:40]}" is missing.')
    value = sides[name]
    if not isinstance(value, str):
        raise Refused(f'"{name[:40]}" is {kind_of(value)}, not text.')
    if LONE_SURROGATE.search(value):
        raise Refused(f'"{name[:40]}" contains half a character (a lone surrogate such as \\ud800).')
    return value


def kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a Boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
