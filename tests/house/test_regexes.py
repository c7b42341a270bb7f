"""Every regular expression of the package takes time linear in the text: a line of 1 MB is no attack."""

from __future__ import annotations

import ast
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragoman.steering.placeholders import (
    KINDS,
    PATTERNS,
    find_placeholders,
    remove_placeholders,
)
from dragoman.steering.reinsertion import Wanted, reinsert_by_position

ROOT = Path(__file__).parents[2] / "src" / "dragoman"
CALLS = {"compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer"}
LINE = 1 << 20  # what `run` accepts
PROBE = 1 << 16  # characters; the square of it takes far longer than
SECONDS = 0.5
# Runs of characters, and of pairs of them, that patterns are made of; each ends in what fits nothing.
RUNS = "a10 .-_@<{[%&\\'#=,w/ä"
PAIRS = [
    "a.",
    "a@",
    "a-",
    "a=",
    "a ",
    "1.",
    "1,",
    "<a",
    "[a",
    "[ ",
    "{a",
    "%0",
    "%(",
    "&#",
    "\\u",
    ">>",
    ", ",
]
FEW = "a10 .-,"
STARTS = ["", "%", "<a", "</a", "[", "[[", "{", "&", ">>", "http://", "www.", "a@", "x = ", "{'descr': '"]


class TooSlow(Exception):
    pass


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Of processor time; `re` looks for signals while it works."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@cache
def patterns() -> dict[str, tuple[str, str]]:
    """How each is used, and what it is, by the place where it stands."""
    found = {
        f"steering/placeholders.py {n} {name}": ("finditer", pattern)
        for n, (name, pattern) in enumerate(PATTERNS)
    }
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                continue
            is_call = node.func.attr in CALLS and ast.unparse(node.func.value) == "re"
            if is_call and isinstance(node.args[0], ast.Constant):
                used = node.func.attr if node.func.attr in ("match", "fullmatch") else "finditer"
                place = f"{file.relative_to(ROOT).as_posix()}:{node.lineno}"
                pattern = node.args[0].value
                found[place] = used, pattern if isinstance(pattern, str) else pattern.decode()
    return found


def probes() -> list[str]:
    runs = [f"{start}{run * PROBE}" for start in STARTS for run in (RUNS if not start else FEW)]
    return [f"{text}\0" for text in (*runs, *(pair * (PROBE // 2) for pair in PAIRS))]


def slow(used: str, pattern: str) -> str | None:
    """The text that it takes too long with, whenever it is tried."""
    use = getattr(re.compile(pattern), used)
    for text in probes():
        if not any(is_done(use, text, seconds) for seconds in (SECONDS, 4 * SECONDS)):
            return f"{text[:16]!r}…"
    return None


def is_done(use: Callable[[str], Any], text: str, seconds: float) -> bool:
    try:
        with limited(seconds):
            found = use(text)
            if isinstance(found, Iterator):
                deque(found, maxlen=0)  # a list of all would have the collector go through the whole process
    except TooSlow:
        return False
    return True


@pytest.mark.parametrize("place", patterns())
def test_a_pattern_is_linear(place: str) -> None:
    assert slow(*patterns()[place]) is None, patterns()[place]


def test_a_pattern_that_is_not_is_caught() -> None:
    assert slow("finditer", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
    assert slow("finditer", r"%[-+#0]*\d*s")
    assert slow("match", r"\s*\[+\s*([a-z.\s]+?)\s*\]+\s*(#.*)?$")
    assert len(patterns()) > 20


LINES = {
    "one word": "a" * LINE,
    "an address without end": "a" * (LINE // 2) + "@" + "b" * (LINE // 2),
    "zeros": "%" + "0" * LINE,
    "a tag without end": "<a " + " " * LINE,
    "digits": "1" * LINE + "a",
    "placeholders": "{a}" * (LINE // 3),
    "tags and numbers": "<b> 12 " * (LINE // 7),
}


@pytest.mark.parametrize("name", LINES)
def test_what_is_kept_of_a_line_of_a_megabyte(name: str) -> None:
    line, start = LINES[name], time.process_time()
    with limited(30):
        kept = find_placeholders(line, KINDS)
        left, holes = remove_placeholders(line, kept)
        assert len(holes) == len(kept)
        assert len(left) <= len(line)
        reinsert_by_position("ein kurzer Satz " * 40, Wanted(line, kept, KINDS))
    assert time.process_time() - start < 10
