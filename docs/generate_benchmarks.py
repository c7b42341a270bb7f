"""Writes the figures of benchmarks/results.json into benchmarks.md; a test says when they are out of date.

python docs/generate_benchmarks.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # where the package `benchmarks` is

from benchmarks.results import entries, shown  # noqa: E402
from benchmarks.results_page import with_section  # noqa: E402

PAGE = HERE / "benchmarks.md"
FOLDERS = {
    "speed": "Speed",
    "quality": "Quality",
    "robustness": "Robustness",
    "scale": "Scale",
    "peers": "Peers",
}


def page() -> str:
    return with_section(PAGE.read_text(encoding="utf-8"), "figures", figures())


def figures() -> str:
    """A heading for each folder, a list for what was measured together, and below it how."""
    lines: list[str] = []
    for folder, title in FOLDERS.items():
        lines += [f"## {title}", ""]
        topic = None
        inside = (entry for entry in entries().values() if folder_of(entry) == folder)
        for (name, how), together in groupby(inside, lambda entry: (topic_of(entry), measured(entry))):
            lines += [f"**{name[0].upper()}{name[1:]}**", ""] if name and name != topic else []
            lines += [*map(row, together), "", how, ""]
            topic = name
    return "\n".join(lines).rstrip()


def folder_of(entry: dict[str, Any]) -> str:
    return str(entry["command"]).split(".")[1]


def topic_of(entry: dict[str, Any]) -> str:
    return str(entry["what"].rpartition(": ")[0])


def row(entry: dict[str, Any]) -> str:
    return f"- {entry['what'].rpartition(': ')[2]}: {'; '.join(said(entry))}"


def said(entry: dict[str, Any]) -> Iterator[str]:
    low, high = entry.get("interval", (None, None))
    yield f"**{shown(entry)}**" if low is None else f"**{shown(entry)}** (95 %: {low:,} to {high:,})"
    if "note" in entry:
        yield entry["note"]


def measured(entry: dict[str, Any]) -> str:
    how = f"`{entry['command']}`, {entry['date']}, {entry['commit']}, {entry['machine']}."
    return f"{how} **Older**: {entry['older']}." if "older" in entry else how


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
