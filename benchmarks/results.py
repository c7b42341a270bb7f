"""The figures of the documentation: results.json has an entry for each, written by what measured it.

    record("cells.peephole", 1.62, "×")

replaces the figure of that key, and says how, on which revision, when and where it was measured. Then
`python docs/generate_benchmarks.py` writes the page, and a test compares the README's table with it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.results_page import commit, processor

RESULTS = Path(__file__).resolve().parent / "results.json"
Entry = dict[str, Any]


def entries() -> dict[str, Entry]:
    """Return the entries by their keys, in the order of the page."""
    return {entry["key"]: entry for entry in json.loads(RESULTS.read_text(encoding="utf-8"))}


def record(
    key: str,
    figure: float,
    unit: str,
    interval: tuple[float, float] | None = None,
    note: str | None = None,
    *,
    what: str | None = None,
    command: str | None = None,
) -> None:
    """Keep a figure, rounded as it is to be shown. A new key needs `what`, which says what was measured."""
    found = entries()
    what = what or found.get(key, {}).get("what")
    if not what:
        raise SystemExit(f"{key} is new: say what it is.")
    entry: Entry = {"key": key, "what": what, "figure": figure, "unit": unit}
    entry |= {"command": command or command_line(), "commit": commit()}
    entry |= {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "machine": machine()}
    if interval:
        entry["interval"] = list(interval)
    if note:
        entry["note"] = note
    found[key] = entry
    text = json.dumps(list(found.values()), indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def add_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--record", action="store_true", help="keep the figures in benchmarks/results.json")


def command_line() -> str:
    """How this process was started; of paths only the last part, for the others are of one machine."""
    spec = sys.modules["__main__"].__spec__
    if spec is None:
        raise SystemExit("Not run as python -m MODULE: say the command.")
    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    words = [word for word in words if word != "--record"]
    return shlex.join(["python", "-m", spec.name, *words])


def machine() -> str:
    flags = Path("/proc/cpuinfo")
    amx = ""
    if flags.exists():
        has_amx = re.search(r"^flags\s*:.*\bamx_tile\b", flags.read_text(encoding="utf-8"), re.M)
        amx = " with AMX" if has_amx else " without AMX"
    return f"{os.cpu_count()} cores of {processor()}{amx}, torch {metadata.version('torch')}"


def shown(entry: Entry) -> str:
    """The figure and its unit, as the page and the README show them."""
    figure = entry["figure"]
    digits = f"{figure:,}" if isinstance(figure, int) or abs(figure) >= 1e-4 else f"{figure:f}"
    return f"{digits} {entry['unit']}".strip()
