"""How many pairs give what quality? Tatoeba English to German, corpora of several sizes in the same time.

    python -m benchmarks.quality.pairs_and_minutes OUT [--pairs 5000 20000 80000 156820] [--budget 20m]
                                                   [--at-once 2] [--record] [--redraw]

Each run is `dragoman train --budget`, as a user types it, on a core of its own; --at-once run side by side. A
corpus contains the smaller ones; the largest is all that there is. Then `dragoman score` measures each model
on the official test set, 17,565 pairs, with its own beam, for some minutes more. OUT keeps what is done: an
unfinished run is resumed, a finished one is neither trained nor scored again. Writes OUT/facts.json and
OUT/pairs_and_quality.svg; with the default pairs and budget also the picture and the table of docs/faq.md.
`--redraw` makes these two again of the facts that were kept.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks import corpora, typed
from benchmarks.results import add_record, record
from benchmarks.results_page import DOCS, Facts, keep, kept, rows, stamp
from benchmarks.run_log import RunLog
from dragoman.config.training import seconds
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import LIGHT, Theme

NAME = "pairs_and_quality"
PAGE = DOCS / "faq.md"
DATA = corpora.DATA / "tatoeba-deu-eng"
SIDES = ("eng", "deu")
PAIRS = (5_000, 20_000, 80_000, 156_820)
BUDGET = "20m"
SENTENCE = "I couldn't eat the food because it was too hot."  # of the test set; what each model makes of it
# Of the same test set; github.com/Helsinki-NLP/Tatoeba-Challenge, commit 3da44cc,
# models/eng-deu/opusTCv20210807+bt-2021-12-08.scores.txt
PUBLISHED: Facts = {"label": "OPUS-MT, trained on all of OPUS", "bleu": 44.0, "chrf": 64.6}


def files(folder: Path, part: str) -> list[Path]:
    return [folder / f"{part}.{side}" for side in SIDES]


def write_corpus(folder: Path, pairs: int) -> list[Path]:
    """Write the first pairs of an order that is the same for every size."""
    sides = [typed.lines(file) for file in files(DATA, "train")]
    order = list(range(len(sides[0])))
    if pairs > len(order):
        raise SystemExit(f"There are {len(order):,} pairs, not {pairs:,}.")
    random.Random(1).shuffle(order)
    chosen = sorted(order[:pairs])
    return [
        typed.write(out, [side[n] for n in chosen])
        for out, side in zip(files(folder, "train"), sides, strict=True)
    ]


def take_core(free: SimpleQueue[int]) -> None:
    """Keep this thread, and so the processes that it starts, on a core that no other thread has."""
    os.sched_setaffinity(0, {free.get()})


def measure(out: Path, budget: str, pairs: int) -> Facts:
    home = out / f"{pairs}-{budget}"
    known = home / "measured.json"
    if not known.exists():
        train, run = write_corpus(home, pairs), home / "run"
        valid: list[str | Path] = ["--valid", *files(DATA, "dev"), "training.threads=1"]
        typed.train(run, None, *train, *valid, budget=budget)
        found = {"pairs": pairs, **trained(run), **scored(run)}
        known.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    facts: Facts = json.loads(known.read_text(encoding="utf-8"))
    return facts


def trained(run: Path) -> Facts:
    """What a run wrote down about itself."""
    log = RunLog(run)
    settings = tomllib.loads((run / "settings.toml").read_text(encoding="utf-8"))
    return {
        "preset": settings["model"]["preset"],
        "parameters": log.parameters,
        "updates": log.events("finished")[-1]["step"],
        "epochs": log.events("step")[-1]["epoch"],
        "minutes": round(log.minutes, 1),
        "curve": [[round(minutes, 2), round(bleu, 1)] for minutes, bleu in validations(log)],
    }


def validations(log: RunLog) -> Iterator[tuple[float, float]]:
    """Minutes since the start, and BLEU of the validation pairs that were decoded."""
    clock = 0.0
    for event in log.events("start", "resume", "step", "valid", "checkpoint"):
        clock = event["seconds"] if event["event"] in ("start", "resume") else clock + event["seconds"]
        if event["event"] == "valid":
            yield clock / 60, event["bleu"]


def scored(run: Path) -> Facts:
    test, outputs = files(DATA, "test"), run / "test.out"
    report = typed.score(run, *test, "--save", outputs)
    source, reference = (typed.lines(file) for file in test)
    line = source.index(SENTENCE)
    return {
        "sentences": len(source),
        "bleu": report["bleu"],
        "chrf": report["chrf"],
        "intervals": {name: report["intervals"][name] for name in ("bleu", "chrf")},
        "signature": report["signature"],
        "output": typed.lines(outputs)[line],
        "reference": reference[line],
    }


def measure_all(out: Path, sizes: Sequence[int], budget: str, at_once: int) -> Facts:
    cores: SimpleQueue[int] = SimpleQueue()
    for core in sorted(os.sched_getaffinity(0)):
        cores.put(core)
    at_once = min(at_once, cores.qsize())
    facts: Facts = {
        "measured": stamp(f"python -m benchmarks.quality.{Path(__file__).stem} OUT"),
        "budget": budget,
    }
    with ThreadPoolExecutor(at_once, initializer=take_core, initargs=(cores,)) as pool:
        return facts | {"sizes": list(pool.map(partial(measure, out, budget), sizes))}


def minutes(facts: Facts) -> float:
    return float(seconds(facts["budget"])) / 60


def picture(facts: Facts, theme: Theme) -> str:
    sizes: list[dict[str, Any]] = facts["sizes"]
    thousands = [found["pairs"] / 1000 for found in sizes]
    ours = Line(
        "Dragoman",
        [(x, float(found["bleu"])) for x, found in zip(thousands, sizes, strict=True)],
        [tuple(found["intervals"]["bleu"]) for found in sizes],
    )
    low, high = thousands[0] / 1.3, thousands[-1] * 1.3
    published = [(x, float(PUBLISHED["bleu"])) for x in (low, high)]
    theirs = Line("OPUS-MT", published, dashed=True)
    y = Axis("BLEU", 0, 50)
    x = Axis("thousands of training pairs", low, high, log=True, ticks=[round(x) for x in thousands])
    lines = [Line(f"{found['pairs']:,} pairs", [tuple(point) for point in found["curve"]]) for found in sizes]
    panels = [
        Panel(f"Test set, after {minutes(facts):g} minutes of one core", x, y, [ours, theirs]),
        Panel(
            "On the way, 200 validation sentences", Axis("minutes of training", 0, minutes(facts)), y, lines
        ),
    ]
    return draw("Quality by the number of pairs, Tatoeba English to German", panels, theme)


def table(facts: Facts) -> str:
    head = ["pairs", "times each was seen", "BLEU", "chrF", f"*{SENTENCE}*"]
    body = [
        [
            f"{found['pairs']:,}",
            f"{found['epochs']:.0f}",
            *(with_interval(found, name) for name in ("bleu", "chrf")),
            found["output"] or "(empty)",
        ]
        for found in facts["sizes"]
    ]
    body.append([PUBLISHED["label"], "", f"{PUBLISHED['bleu']:.1f}", f"{PUBLISHED['chrf']:.1f}", ""])
    body.append(["a person", "", "", "", facts["sizes"][0]["reference"]])
    return rows(head, [list(map(str, cells)) for cells in body])


def with_interval(found: Facts, name: str) -> str:
    low, high = found["intervals"][name]
    return f"{found[name]:.1f} [{low:.1f}, {high:.1f}]"


def keep_figures(facts: Facts) -> None:
    way = f"Tatoeba English to German, official test set, {minutes(facts):g} minutes of one core"
    for found in facts["sizes"]:
        note = f"{found['updates']:,} updates, `{found['preset']}`"
        for name, unit in (("bleu", "BLEU"), ("chrf", "chrF")):
            low, high = (round(end, 1) for end in found["intervals"][name])
            key, what = f"pairs_and_minutes.{name}_{found['pairs']}", f"{way}: {found['pairs']:,} pairs"
            record(key, round(found[name], 1), unit, (low, high), note, what=what)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, nargs="+", default=list(PAIRS))
    parser.add_argument("--budget", default=BUDGET)
    parser.add_argument("--at-once", type=int, default=2, help="runs side by side, a core each")
    parser.add_argument("--redraw", action="store_true")
    add_record(parser)
    args = parser.parse_args()
    facts = kept(NAME) if args.redraw else measure_all(args.out, args.pairs, args.budget, args.at_once)
    if not args.redraw:
        text = json.dumps(facts, indent=1, ensure_ascii=False)
        (args.out / "facts.json").write_text(text + "\n", encoding="utf-8")
        (args.out / f"{NAME}.svg").write_text(picture(facts, LIGHT), encoding="utf-8")
    if tuple(args.pairs) == PAIRS and args.budget == BUDGET:
        keep(NAME, facts, picture, table(facts), PAGE)
        if args.record:
            keep_figures(facts)
    print(table(facts))


if __name__ == "__main__":
    main()
