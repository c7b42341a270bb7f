"""A pair that is longer than the model has places for is left out and counted, not met in training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.config.load import load
from dragoman.training.run import Run

PART = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 16, "max_positions": 9}


def test_pairs_beyond_the_positions_are_left_out(tmp_path: Path) -> None:
    lines = [f"{'ab' * (1 + n % 6)}\t{'ba' * (1 + n % 6)}\n" for n in range(60)]  # 2 to 12 letters
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(lines), encoding="utf-8")
    base: dict[str, Any] = {
        "data": {"train": [{"files": [str(pairs)]}], "valid": {"files": [str(pairs)]}},
        "text": {"kind": "char"},
        "model": {"encoder": PART, "decoder": PART},
        "training": {"updates": 3, "batch_tokens": 128, "threads": 1, "precision": "fp32"},
    }
    told: list[dict[str, Any]] = []
    config = load(None, base=base)
    assert config.longest_side == 8
    assert Run(config, tmp_path / "run", [told.append], lambda _: True).train().reason == "done"
    counts = next(event["counts"] for event in told if event["event"] == "prepared")
    assert (counts["kept"], counts["too_long"]) == (40, 20)
