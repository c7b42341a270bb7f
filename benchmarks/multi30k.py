"""A real benchmark: Multi30k en→de, test2016, beam 5, averaged weights.

    python benchmarks/multi30k.py OUT [transformer-tiny] [rnn-small]

Trains each settings file of benchmarks/multi30k into OUT/NAME (an unfinished run is gone on with, a finished
one is only scored), then prints BLEU and chrF, lower-cased and cased, with minutes and the learning curve.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", HERE.parent.parent / "shared" / "data")) / "multi30k"
DRAGOMAN = [sys.executable, "-m", "dragoman"]


def train(name: str, out: Path) -> None:
    if (out / "model").exists():
        return
    files = [
        str(DATA / "train.en"),
        str(DATA / "train.de"),
        "--valid",
        str(DATA / "val.en"),
        str(DATA / "val.de"),
    ]
    subprocess.run(
        [*DRAGOMAN, "train", *files, "-c", str(HERE / "multi30k" / f"{name}.toml"), "-o", str(out), "--yes"],
        check=True,
    )


def score(out: Path, *options: str) -> dict[str, Any]:
    test = [str(DATA / "test2016.en"), str(DATA / "test2016.de")]
    command = [*DRAGOMAN, "score", str(out), *test, "search.kind=beam", "search.size=5", "--json", *options]
    report: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return report


def curve(out: Path) -> list[tuple[int, float, float]]:
    """Update, held-out loss and greedy BLEU of each validation."""
    events = [
        json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    return [(e["step"], round(e["loss"], 3), round(e["bleu"], 1)) for e in events if e["event"] == "valid"]


def minutes(out: Path) -> float:
    events = [
        json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    return float(next(e["seconds"] for e in events if e["event"] == "finished")) / 60


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=["transformer-tiny", "rnn-small"])
    args = parser.parse_args()
    for name in args.names:
        out = args.out / name
        train(name, out)
        lower, cased = score(out, "--lowercase"), score(out)
        print(f"{name}: {minutes(out):.0f} minutes of training")
        for label, report in (("lower-cased", lower), ("cased", cased)):
            low, high = report["intervals"]["bleu"]
            print(
                f"  {label:<12} BLEU {report['bleu']:.2f} [{low:.2f}, {high:.2f}]   chrF {report['chrf']:.2f}"
            )
        print(f"  {lower['signature']['bleu']}")
        print("  update, dev loss, dev BLEU (greedy, 200 pairs): " + "  ".join(map(str, curve(out))))
        print(json.dumps({"name": name, "minutes": minutes(out), "lower": lower, "cased": cased}))


if __name__ == "__main__":
    main()
