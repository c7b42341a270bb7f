"""The decoded validation pairs of a run and the outputs of its model, one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.durable import write_file

NAME = "validation.jsonl"


def write_outputs(out: Path, pairs: Iterable[Pair], outputs: Iterable[str]) -> None:
    rows = (
        {"source": pair.src, "reference": pair.tgt, "output": output}
        for pair, output in zip(pairs, outputs, strict=True)
    )
    write_file(out / NAME, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def read_outputs(out: Path) -> tuple[list[Pair], list[str]] | None:
    """Return the pairs and the outputs; None if the run kept none."""
    try:
        lines = (out / NAME).read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line]
        pairs = [Pair(row["source"], row["reference"], number) for number, row in enumerate(rows, start=1)]
        return (pairs, [str(row["output"]) for row in rows]) if rows else None
    except (OSError, ValueError, KeyError, TypeError):  # none, or a file of someone else
        return None
