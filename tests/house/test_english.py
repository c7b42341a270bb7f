"""Words for which the field has a plainer one stay out of code, help and documentation."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTEAD = {
    r"stands?": "is in, appears in",
    r"behind": "after",
    r"(go|goes|going|gone|went) on": "continue, resume",
    r"how sure": "confidence",
    r"looks? nowhere": "has no attention",
    r"among them": "including",
    r"told": "reported, logged",
}
TICS = re.compile(r"\b(" + "|".join(INSTEAD) + r")\b", re.IGNORECASE)
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
]


def prose(file: Path) -> Iterator[tuple[int, str]]:
    """Comments and strings of a module, or the lines of a page, with their numbers."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        yield from enumerate(text.split("\n"), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("file", [*sorted((ROOT / "src").rglob("*.py")), *PAGES], ids=name_of)
def test_plain_english(file: Path) -> None:
    found = [
        f"{name_of(file)}:{line}  {tic[0]!r}" for line, text in prose(file) for tic in TICS.finditer(text)
    ]
    assert not found, "\n".join(
        ["", *found, "Instead: " + "; ".join(f"{a} → {b}" for a, b in INSTEAD.items())]
    )


def test_the_rule_finds_what_it_is_for() -> None:
    tics = [
        "It stands here.",
        "behind the end",
        "It goes on.",
        "how sure it is",
        "</s> among them",
        "as told",
    ]
    assert all(TICS.search(text) for text in tics)
    assert not TICS.search("It understands what follows after the standing order, and resumes.")
