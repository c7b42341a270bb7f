"""Writes benchmarks.md from benchmarks/results.json; a test says when it is out of date.

python docs/generate_benchmarks.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # where the package `benchmarks` is

from benchmarks.results import entries, shown  # noqa: E402

PAGE = HERE / "benchmarks.md"
FOLDERS = {
    "speed": "Speed",
    "quality": "Quality",
    "robustness": "Robustness",
    "scale": "Scale",
    "peers": "Peers",
}
HEAD = """\
# Benchmarks

<!-- Made by generate_benchmarks.py from benchmarks/results.json. Change the results there, then run it. -->

Every figure comes from a script that you can run; `benchmarks/README.md` has the minutes of each. No GPU was
used. The machines are noisy, so speeds are ratios that were measured in one run, alternating. “×” means times
as fast, or as long where the row says so. **Older** marks a figure from before a change of what it measures.
"""


def page() -> str:
    return HEAD + "".join(f"\n## {title}\n\n{table(folder)}" for folder, title in FOLDERS.items())


def table(folder: str) -> str:
    head = "| what | figure | measured |\n|---|---|---|\n"
    return head + "".join(row(entry) for entry in entries().values() if folder_of(entry) == folder)


def folder_of(entry: dict[str, Any]) -> str:
    return str(entry["command"]).split(".")[1]


def row(entry: dict[str, Any]) -> str:
    return f"| {entry['what']} | {'; '.join(said(entry))} | {measured(entry)} |\n"


def said(entry: dict[str, Any]) -> Iterator[str]:
    low, high = entry.get("interval", (None, None))
    yield shown(entry) if low is None else f"{shown(entry)} (95 %: {low:,} to {high:,})"
    if "note" in entry:
        yield entry["note"]
    if "older" in entry:
        yield f"**older**: {entry['older']}"


def measured(entry: dict[str, Any]) -> str:
    return f"`{entry['command']}`, {entry['date']}, {entry['commit']}, {entry['machine']}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
