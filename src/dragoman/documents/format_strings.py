"""Format strings of programs: whether a translation would be refused by `msgfmt --check-format`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dragoman.steering.placeholders import find_placeholders

PRINTF = ("c", "objc", "python", "php", "perl", "awk", "lua", "javascript", "pascal", "tcl", "gcc-internal")
BRACES = ("python-brace", "perl-brace", "java", "csharp")
DIRECTIVE = re.compile(
    r"%(?:%|(?:\((?P<name>[^()]*+)\)|(?P<number>\d++)\$)?[-+ #0']*+(?P<width>\*|\d*+)"
    r"(?:\.(?P<precision>\*|\d*+))?(?P<kind>(?:hh|ll|[hlqjztL])?[A-Za-z@]))?"
)
BRACE = re.compile(r"\{\{|\}\}|\{[^{}]*+\}|[{}]")


def breaks_formats(flags: Iterable[str], source: str, output: str) -> bool:
    """Return whether the output has other directives than its source, for an entry with these flags."""
    kinds = [flag.removesuffix("-format") for flag in flags if flag.endswith("-format")]
    return any(
        directives(kind, source) != directives(kind, output) for kind in kinds if not kind.startswith("no-")
    )


def directives(kind: str, text: str) -> set[str]:
    """Return what a program would fill in; "%" or a brace alone stand for what it cannot read."""
    if kind in PRINTF:
        return set(printf_arguments(text))
    if kind in BRACES:
        found = [brace for brace in BRACE.findall(text) if brace not in ("{{", "}}")]
        return {*found, f"{found.count('{}')} {{}}"}
    return {kept.literal for kept in find_placeholders(text, ["placeholders"])}


def printf_arguments(text: str) -> Iterable[str]:
    """Yield the name or number of each argument with its type."""
    count = 0
    for found in DIRECTIVE.finditer(text):
        if found[0] == "%%":
            continue
        if not found["kind"]:
            yield "%"
            continue
        for star in (found["width"], found["precision"]):
            if star == "*":
                count += 1
                yield f"{count}*"
        if found["name"] is None and found["number"] is None:
            count += 1
        yield f"{found['name'] or found['number'] or count}{found['kind']}"
