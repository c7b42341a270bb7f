"""A real benchmark: Multi30k, test2016, averaged weights, beam 5 and greedy.

    python benchmarks/multi30k.py OUT [NAME …] [--to en] [--cased]

Trains each settings file of benchmarks/multi30k into a folder of its own below OUT (an unfinished run is gone
on with, a finished one is only scored), then prints BLEU and chrF, lower-cased and cased, with minutes and
the learning curve, and at the end one table. `--to` gives the language that is written, `--cased` trains on
the text as it is instead of lower-cased text. Minutes stand by the clock, and in brackets as all updates
would take at their median time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", HERE.parent.parent / "shared" / "data")) / "multi30k"
DRAGOMAN = [sys.executable, "-m", "dragoman"]


@dataclass(frozen=True)
class Run:
    name: str
    tgt: str
    cased: bool
    home: Path
    threads: int = 0

    @property
    def out(self) -> Path:
        return self.home / f"{self.name}{'' if self.tgt == 'de' else '-' + self.tgt}{'-cased' * self.cased}"

    def files(self, part: str) -> list[str]:
        src = "en" if self.tgt == "de" else "de"
        return [str(DATA / f"{part}.{language}") for language in (src, self.tgt)]

    def train(self) -> None:
        if (self.out / "model").exists():
            return
        settings = str(HERE / "multi30k" / f"{self.name}.toml")
        command = [*DRAGOMAN, "train", *self.files("train"), "--valid", *self.files("val"), "-c", settings]
        case = ["text.lowercase=false"] if self.cased else []
        threads = f"training.threads={self.threads}"
        subprocess.run([*command, "-o", str(self.out), "--yes", threads, *case], check=True)

    def score(self, *options: str) -> dict[str, Any]:
        command = [*DRAGOMAN, "score", str(self.out), *self.files("test2016"), "--json", *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    @property
    def log(self) -> RunLog:
        return RunLog(self.out)

    @property
    def curve(self) -> list[tuple[int, float, float]]:
        """Update, held-out loss and BLEU of each validation."""
        return [(e["step"], round(e["loss"], 3), round(e["bleu"], 1)) for e in self.log.events("valid")]


def measure(run: Run) -> dict[str, Any]:
    run.train()
    beam = ("search.kind=beam", "search.size=5")
    scores = {
        "lower": run.score(*beam, "--lowercase"),
        "cased": run.score(*beam),
        "greedy": run.score("search.kind=greedy", "--lowercase"),
    }
    log = run.log
    print(f"{run.out.name}: {log.minutes:.0f} minutes of training, {log.tokens_per_second:,.0f} tokens/s")
    for label, report in scores.items():
        low, high = report["intervals"]["bleu"]
        print(f"  {label:<8} BLEU {report['bleu']:.2f} [{low:.2f}, {high:.2f}]   chrF {report['chrf']:.2f}")
    print(f"  {scores['lower']['signature']['bleu']}")
    print("  update, dev loss, dev BLEU (200 pairs): " + "  ".join(map(str, run.curve)))
    facts = {
        "name": run.out.name,
        "minutes": log.minutes,
        "minutes_undisturbed": log.minutes_undisturbed,
        "tokens_per_second": log.tokens_per_second,
        "parameters": log.parameters,
    }
    return facts | scores


def row(found: dict[str, Any]) -> str:
    minutes = f"{found['minutes']:.0f} ({found['minutes_undisturbed']:.0f})"
    figures = f"{minutes} | {found['parameters'] / 1e6:.1f} M | {found['tokens_per_second']:,.0f}"
    scores = f"{found['greedy']['bleu']:.2f} | {found['lower']['bleu']:.2f} | {found['lower']['chrf']:.2f}"
    return f"| {found['name']} | {figures} | {scores} | {found['cased']['bleu']:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=["transformer-tiny", "rnn-small"])
    parser.add_argument("--to", choices=["de", "en"], default="de")
    parser.add_argument("--cased", action="store_true")
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    args = parser.parse_args()
    runs = [Run(name, args.to, args.cased, args.out, args.threads) for name in args.names]
    found = [measure(run) for run in runs]
    for run, facts in zip(runs, found, strict=True):
        text = "cased" if run.cased else "lower-cased"
        print(json.dumps({"benchmark": "multi30k", "to": run.tgt, "trained_on": text, **facts}))
    print("| model | minutes | parameters | tokens/s | greedy BLEU | beam 5 BLEU | chrF | cased BLEU |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(map(row, found)))


if __name__ == "__main__":
    main()
