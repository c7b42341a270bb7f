"""Writes benchmarks.md from benchmarks/results.json; a test says when it is out of date."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "benchmarks" / "results.json"
PAGE = HERE / "benchmarks.md"

HEAD = """\
# Benchmarks

<!-- Made by generate_benchmarks.py from benchmarks/results.json. Change the results there, then run it. -->

Every figure comes from a script that you can run. Measured on 2026-11-15 on 2 cores of a Xeon with AMX, no
GPU, torch 2.13, unless a row says otherwise. The machine is noisy, so speeds are ratios that were measured in
one run, alternating.

| what | result | script |
|---|---|---|
"""


def page() -> str:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return HEAD + "".join(f"| {row['what']} | {row['result']} | {row['how']} |\n" for row in results)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
