"""Every recipe with generated data, as a user types it: new, train, score. Minutes and the test score.

    python -m benchmarks.quality.recipes OUT [dates ocr tones …]

The lesson, which compares seven networks, has a script of its own (lesson.py). OUT keeps what is done.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks import typed
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog
from dragoman.data.recipes.build import RECIPES

FIGURES = {
    "tones": ("cer", "%"),
    "ocr": ("cer", "%"),
    "slots": ("span_f1", "span F1"),
    "intents": ("accuracy", "%"),
    "grammar": ("perplexity", "perplexity"),
}
METRICS = ("exact_match", "span_f1", "accuracy", "cer", "perplexity")


def processor_minutes() -> float:
    """Return the processor time of finished children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / 60


def measure(name: str, folder: Path) -> dict[str, Any]:
    begun, used = time.perf_counter(), processor_minutes()
    for words in (["new", name, "-o", str(folder)], ["train", str(folder)]):
        with folder.with_name(f"{name}.log").open("a", encoding="utf-8") as log:
            subprocess.run([*typed.DRAGOMAN, *words], check=True, stderr=log, stdout=log)
    minutes = (time.perf_counter() - begun) / 60
    scores = typed.score(folder)
    return {
        "recipe": name,
        "minutes": minutes,
        "core_minutes": processor_minutes() - used,
        "parameters": RunLog(folder).parameters,
        **{metric: scores[metric] for metric in METRICS if metric in scores},
    }


def row(found: dict[str, Any]) -> list[str]:
    scores = ", ".join(f"{metric} {found[metric]:.2f}" for metric in METRICS if metric in found)
    times = [f"{found['minutes']:.1f}", f"{found['core_minutes']:.1f}"]
    return [found["recipe"], f"{found['parameters']:,}", *times, scores]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [name for name, recipe in RECIPES.items() if recipe.splits and not recipe.lesson]
    parser.add_argument("out", type=Path)
    parser.add_argument("recipes", nargs="*", default=known)
    add_record(parser)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in args.recipes:
        done = args.out / f"{name}.json"
        if not done.exists():
            done.write_text(json.dumps(measure(name, args.out / name)), encoding="utf-8")
        found = json.loads(done.read_text(encoding="utf-8"))
        rows.append(row(found))
        if args.record and name in FIGURES:
            metric, unit = FIGURES[name]
            note = f"{found['core_minutes']:.1f} minutes of one core, one run"
            record(f"recipes.{name}", round(found[metric], 2), unit, note=note)
    typed.table(["recipe", "parameters", "minutes", "core minutes", "test scores"], rows)


if __name__ == "__main__":
    main()
