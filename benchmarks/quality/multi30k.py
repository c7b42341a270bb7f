"""A real benchmark: Multi30k, test2016, averaged weights, greedy and beam 5.

    python -m benchmarks.quality.multi30k OUT [NAME …] [--to en] [--cased] [--seed 2]
        [--set section.key=value …]

Trains each settings file of multi30k/ into a folder of its own below OUT (an unfinished run is gone
on with, a finished one is only scored), then prints BLEU and chrF, lower-cased and cased, with minutes and
the learning curve, and at the end one table. `--to` gives the language that is written, `--cased` trains on
the text as it is instead of lower-cased text. Minutes stand by the clock, and in brackets as all updates
would take at their median time. What was found is kept in OUT/RUN.json: figures, target tokens, command,
commit, date and machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.results import add_record, record
from benchmarks.results_page import rows, stamp
from benchmarks.run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "multi30k"
DRAGOMAN = [sys.executable, "-m", "dragoman"]


@dataclass(frozen=True)
class Run:
    name: str
    tgt: str
    cased: bool
    home: Path
    threads: int = 0
    seed: int = 1
    settings: tuple[str, ...] = ()

    @property
    def out(self) -> Path:
        seed = "" if self.seed == 1 else f"-seed{self.seed}"
        return (
            self.home
            / f"{self.name}{'' if self.tgt == 'de' else '-' + self.tgt}{'-cased' * self.cased}{seed}"
        )

    def files(self, part: str) -> list[str]:
        src = "en" if self.tgt == "de" else "de"
        return [str(DATA / f"{part}.{language}") for language in (src, self.tgt)]

    def train(self) -> None:
        if (self.out / "model").exists():
            return
        settings = str(HERE / "multi30k" / f"{self.name}.toml")
        command = [*DRAGOMAN, "train", *self.files("train"), "--valid", *self.files("val"), "-c", settings]
        case = ["text.lowercase=false"] if self.cased else []
        more = [f"training.threads={self.threads}", f"training.seed={self.seed}", *case, *self.settings]
        subprocess.run([*command, "-o", str(self.out), "--yes", *more], check=True)

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
        """Target tokens so far, held-out loss and BLEU of each validation."""
        tokens, curve = 0, []
        for event in self.log.events("step", "valid"):
            if event["event"] == "step":
                tokens += event["tokens"]
            else:
                curve.append((tokens, round(event["loss"], 3), round(event["bleu"], 1)))
        return curve


def measure(run: Run) -> dict[str, Any]:
    run.train()
    beam = ("search.kind=beam", "search.size=5")
    scores = {
        "greedy": run.score("search.kind=greedy", "--lowercase"),
        "lower": run.score(*beam, "--lowercase"),
        "cased": run.score(*beam),
    }
    log = run.log
    print(f"{run.out.name}: {log.minutes:.0f} minutes of training, {log.tokens_per_second:,.0f} tokens/s")
    for label, report in scores.items():
        low, high = report["intervals"]["bleu"]
        print(f"  {label:<8} BLEU {report['bleu']:.2f} [{low:.2f}, {high:.2f}]   chrF {report['chrf']:.2f}")
    print(f"  {scores['lower']['signature']['bleu']}")
    print("  target tokens, dev loss, dev BLEU (200 pairs): " + "  ".join(map(str, run.curve)))
    command = " ".join(["python -m benchmarks.quality.multi30k OUT", *sys.argv[2:]])
    facts = {
        "name": run.out.name,
        "measured": stamp(command),
        "settings": (HERE / "multi30k" / f"{run.name}.toml").read_text(encoding="utf-8"),
        "seed": run.seed,
        "tokens": log.tokens,
        "minutes": log.minutes,
        "minutes_undisturbed": log.minutes_undisturbed,
        "tokens_per_second": log.tokens_per_second,
        "parameters": log.parameters,
        "curve": run.curve,
        **scores,
    }
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    (run.home / f"{run.out.name}.json").write_text(text + "\n", encoding="utf-8")
    return facts


def cells(found: dict[str, Any]) -> list[str]:
    minutes = f"{found['minutes']:.0f} ({found['minutes_undisturbed']:.0f})"
    sizes = [f"{found['tokens'] / 1e6:.1f} M", minutes, f"{found['parameters'] / 1e6:.1f} M"]
    greedy, beam, cased = found["greedy"], found["lower"], found["cased"]
    scores = [greedy["bleu"], beam["bleu"], beam["chrf"], cased["bleu"]]
    return [
        found["name"],
        *sizes,
        f"{found['tokens_per_second']:,.0f}",
        *(f"{score:.2f}" for score in scores),
    ]


def keep(run: Run, facts: dict[str, Any]) -> None:
    name = run.name.replace("-", "_")
    way = f"Multi30k {'German to English' if run.tgt == 'en' else 'English to German'}"
    way += f", test2016, lower-cased, sub-words: `{run.name}`"
    group = "multi30k_en" if run.tgt == "en" else "multi30k"
    note = f"{facts['minutes']:.0f} minutes of training"
    for key, label in (("greedy", "greedy"), ("lower", "beam of 5")):
        low, high = facts[key]["intervals"]["bleu"]
        record(
            f"{group}.{name}_{label.partition(' ')[0]}",
            round(facts[key]["bleu"], 1),
            "BLEU",
            (round(low, 1), round(high, 1)),
            note,
            what=f"{way}, {label}",
        )
    if run.tgt == "de":
        record(f"{group}.{name}_chrf", round(facts["lower"]["chrf"], 1), "chrF", what=f"{way}, beam of 5")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=["transformer-tiny", "rnn-small"])
    parser.add_argument("--to", choices=["de", "en"], default="de")
    parser.add_argument("--cased", action="store_true")
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", nargs="+", default=[], help="more settings of each training")
    add_record(parser)
    args = parser.parse_args()
    more = (args.threads, args.seed, tuple(args.set))
    runs = [Run(name, args.to, args.cased, args.out, *more) for name in args.names]
    found = [measure(run) for run in runs]
    for run, facts in zip(runs, found, strict=True):
        text = "cased" if run.cased else "lower-cased"
        print(json.dumps({"benchmark": "multi30k", "to": run.tgt, "trained_on": text, **facts}))
        if args.record and not run.cased:
            keep(run, facts)
    columns = ["model", "target tokens", "minutes", "parameters", "tokens/s", "BLEU, greedy", "BLEU, beam 5"]
    print(rows([*columns, "chrF, beam 5", "cased BLEU, beam 5"], [cells(facts) for facts in found]))


if __name__ == "__main__":
    main()
