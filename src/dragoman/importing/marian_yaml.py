"""A parser for the subset of YAML that Marian writes: `key: value` lines, lists of scalars, and vocabularies.

It creates only strings, numbers, booleans and lists of them.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None
Value = Scalar | list[Scalar]

NUMBER = re.compile(r"[-+]?(\d+|\d+\.\d*|\.\d+)([eE][-+]?\d+)?")
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S)
SHORT = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
SHORT |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}


def parse(text: str) -> dict[str, Value]:
    """Return the top-level keys. Nested values other than lists are ignored."""
    found: dict[str, Value] = {}
    key = ""
    for line in text.split("\n"):
        bare = line.strip()
        if not bare or bare.startswith(("#", "---", "...")):
            continue
        item = re.match(r"\s*- (.*)", f"{line} ")
        if item and key:
            items = found[key]
            if not isinstance(items, list):
                items = found[key] = []
            items.append(scalar(item[1].strip()))
        elif line[0] not in " \t-":
            name, _, value = bare.partition(":")
            key = str(scalar(name))
            found[key] = inline(value.strip())
    return found


def inline(text: str) -> Value:
    if text.startswith("[") and text.endswith("]"):
        return [scalar(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    return scalar(text)


def scalar(text: str) -> Scalar:
    if text[:1] in ('"', "'"):
        return unquoted(text)
    if NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    return {"true": True, "false": False, "null": None, "~": None, "": None}.get(text, text)


def unquoted(text: str) -> str:
    if text[:1] == "'" == text[-1:] and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] == '"' == text[-1:] and len(text) > 1:
        return ESCAPE.sub(_unescaped, text[1:-1])
    return text


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else SHORT.get(found[4], found[4])


def vocabulary(text: str) -> dict[str, int]:
    """Parse one `token: id` per line, the token quoted or not, or `? token` and `: id` on two lines."""
    found: dict[str, int] = {}
    waiting: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.rstrip("\r")
        if not line or line in ("---", "..."):
            continue
        if line.startswith("? "):
            waiting = unquoted(line[2:])
            continue
        token, _, id = line.rpartition(":")
        if not id.strip().isdecimal() or (waiting is not None and token.strip()):
            raise ValueError(f"line {number} is not `token: id`: {line[:40]!r}")
        found[waiting if waiting is not None else unquoted(token)] = int(id)
        waiting = None
    return found
