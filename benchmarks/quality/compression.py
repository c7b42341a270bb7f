"""The cheap-CPU road on Multi30k en→de: teacher, distilled student, trimmed vocabulary, int8, step by step.

    python -m benchmarks.quality.compression OUT --teacher MODEL [--layers 2 1] [--plain] [--threads N]
        [SETTING …]

The teacher writes OUT/distilled; for each number of layers a student with such a decoder learns from it
(OUT/student-N), is trimmed (OUT/student-N-trimmed) and exported; with --plain the same network also learns
from the real pairs, to tell what distilling gave. What is there already is not made again, an unfinished
training is gone on with. Then CTranslate2 decodes test2016 with every step in turn, --rounds times, on 2
threads. SETTINGs (model.encoder.layers=6) change the students. Prints a table and keeps it with a picture in
docs; `--redraw` makes both again of the facts that were kept.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.quality.multi30k import DATA, DRAGOMAN
from benchmarks.results_page import DOCS, Facts, keep, kept, rows, stamp
from dragoman.config.search import SearchConfig
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.export.ct2 import export_ct2
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.ct2 import CTranslate2Engine
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import Theme
from dragoman.metrics.report import values
from dragoman.models.bundle import load_bundle
from dragoman.text.tokenizer_pair import TokenizerPair

NAME = "compression"
PAGE = DOCS / "benchmarks.md"
THREADS = 2  # of CTranslate2
SEARCHES = {
    "greedy": SearchConfig(kind="greedy"),
    "beam 5": SearchConfig(kind="beam", size=5),
    "greedy, one by one": SearchConfig(kind="greedy", batch_sentences=1),
}
REAL = ", real pairs"
FASTER, LOSS = 2.0, 1.0  # asked of a student in int8, beside its teacher in int8


@dataclass(frozen=True)
class Step:
    """A model as it stands on the road; `line` is what it belongs to in the picture."""

    line: str
    label: str
    model: Path
    quantization: Any

    @property
    def name(self) -> str:
        return f"{self.line}{self.label}, {self.quantization}"


def files(part: str) -> list[str]:
    return [str(DATA / f"{part}.{language}") for language in ("en", "de")]


def dragoman(*words: str) -> None:
    print(f"$ dragoman {shlex.join(words)}", flush=True)
    subprocess.run([*DRAGOMAN, *words], check=True)


def make(args: argparse.Namespace) -> list[Step]:
    """Whatever is not there yet; then every step of the road."""
    distilled = args.out / "distilled"
    if not (distilled / "dragoman.toml").exists():
        dragoman("new", "distil", "--teacher", str(args.teacher), "-o", str(distilled))
    settings = [*args.settings, f"training.threads={args.threads}", "--yes"]
    found = [Step("teacher", "", args.teacher, kind) for kind in ("float32", "int8")]
    for layers in args.layers:
        student, line = args.out / f"student-{layers}", f"student, {layers} layer{'s' * (layers > 1)}"
        shape = f"model.decoder.layers={layers}"
        if not (student / "model").exists():
            dragoman("train", str(distilled), "-o", str(student), shape, *settings)
        trimmed = args.out / f"student-{layers}-trimmed"
        if not trimmed.exists():
            dragoman("trim", str(student), "--separate", "-o", str(trimmed))
        found += [Step(line, "", student, kind) for kind in ("float32", "int8")]
        found += [Step(line, ", trimmed", trimmed, kind) for kind in ("float32", "int8")]
        plain = args.out / f"plain-{layers}"
        if args.plain and not (plain / "model").exists():
            data = [*files("train"), "--valid", *files("val"), "-c", str(distilled / "dragoman.toml")]
            dragoman("train", *data, "-o", str(plain), shape, *settings)
        if args.plain:
            found += [Step(line + REAL, "", plain, kind) for kind in ("float32", "int8")]
    return found


@dataclass
class System:
    """A step that can decode, with its times."""

    text: TokenizerPair
    engine: CTranslate2Engine
    sources: list[list[int]]
    facts: dict[str, Any]
    seconds: dict[str, list[float]]


def system(step: Step, home: Path, sources: list[str]) -> System:
    folder = home / f"{step.model.name}-{step.quantization}"
    if not folder.exists():
        export_ct2(step.model, folder, step.quantization)
    bundle = load_bundle(find_model(step.model))
    facts = {
        "name": step.name,
        "line": step.line,
        "quantization": step.quantization,
        "parameters": sum(p.numel() for p in bundle.model.parameters()),
        "entries": [bundle.text.src.size, bundle.text.tgt.size],
        "bytes": (folder / "model.bin").stat().st_size,
    }
    ids = [row.tolist() for row in bundle.text.src.encode_batch(sources)]
    return System(bundle.text, CTranslate2Engine(folder, bundle.text, threads=THREADS), ids, facts, {})


def measure(steps: list[Step], args: argparse.Namespace) -> Facts:
    """In each round every system decodes once, so that a busy moment hits them alike."""
    measured = stamp(f"python -m benchmarks.quality.compression {shlex.join(sys.argv[1:])}")
    pairs = list(open_pairs(files("test2016")))
    sources, references = [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    systems = [system(step, args.out / "ct2", sources) for step in steps]
    for name, search in SEARCHES.items():
        for one in systems:
            found = one.engine.search(one.sources, search)  # also warms it up
            texts = [one.text.tgt.decode(best.tokens) for best, *_ in found]
            one.facts[name] = {"bleu": values(texts, references, lowercase=True)["bleu"]}
        for _ in range(args.rounds):
            for one in systems:
                start = time.perf_counter()
                one.engine.search(one.sources, search)
                one.seconds.setdefault(name, []).append(time.perf_counter() - start)
        for one in systems:
            one.facts[name]["per_second"] = len(sources) / statistics.median(one.seconds[name])
    facts = [one.facts for one in systems]
    return {"measured": measured, "sentences": len(pairs), "threads": THREADS, "steps": facts}


def table(facts: Facts) -> str:
    teacher = next(step for step in facts["steps"] if step["name"] == "teacher, int8")
    head = ["", "parameters", "MB", "greedy BLEU", "beam 5 BLEU"]
    head += [f"{name}, sentences/s" for name in SEARCHES]
    body = []
    for step in facts["steps"]:
        speeds = [
            f"{speed:,.0f} ({speed / teacher[name]['per_second']:.2f} ×)"
            for name in SEARCHES
            for speed in (step[name]["per_second"],)
        ]
        scores = [f"{step[name]['bleu']:.2f}" for name in ("greedy", "beam 5")]
        size = [f"{step['parameters'] / 1e6:.2f} M", f"{step['bytes'] / 1e6:.1f}"]
        body.append([step["name"], *size, *scores, *speeds])
    note = (
        f"Test2016, lower-cased; CTranslate2 on {facts['threads']} threads; "
        "× is relative to the teacher in int8."
    )
    return f"{rows(head, body)}\n\n{note} {verdict(facts)}"


def verdict(facts: Facts) -> str:
    """The fastest student that loses no more than was asked, by the same search as its teacher."""
    teacher = next(step for step in facts["steps"] if step["name"] == "teacher, int8")
    fit = [
        (step[name]["per_second"] / teacher[name]["per_second"], step["name"], name, lost)
        for step in facts["steps"]
        for name in SEARCHES
        if step["line"].startswith("student")
        and not step["line"].endswith(REAL)
        and step["quantization"] == "int8"
        and (lost := teacher[name]["bleu"] - step[name]["bleu"]) <= LOSS
    ]
    if not fit:
        return f"No student comes within {LOSS} BLEU of its teacher."
    ratio, student, search, lost = max(fit)
    word = "met" if ratio >= FASTER else "not met"
    figures = f"{ratio:.2f} times as fast as the teacher in int8 ({search}), BLEU {-lost:+.2f}"
    return f"{student}: {figures}; the target, {FASTER:g} times, is {word}."


def picture(facts: Facts, theme: Theme) -> str:
    return draw("Speed against quality, step by step", [panel(facts, name) for name in SEARCHES], theme)


def panel(facts: Facts, search: str) -> Panel:
    names = dict.fromkeys(step["line"] for step in facts["steps"])
    points = {
        name: sorted(
            (step[search]["per_second"], step[search]["bleu"])
            for step in facts["steps"]
            if step["line"] == name
        )
        for name in names
    }
    every = [point for line in points.values() for point in line]
    low, high = min(y for _, y in every), max(y for _, y in every)
    return Panel(
        search,
        Axis("sentences a second", 0, 1.05 * max(x for x, _ in every)),
        Axis("BLEU", low // 1, high // 1 + 1),
        [Line(name, line) for name, line in points.items()],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("settings", nargs="*", metavar="SETTING", help="of the students")
    parser.add_argument("--teacher", type=Path, metavar="MODEL")
    parser.add_argument("--layers", type=int, nargs="+", default=[2, 1], help="of the students' decoders")
    parser.add_argument("--plain", action="store_true", help="students of the real pairs, too")
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--redraw", action="store_true", help="of the facts that are kept")
    args = parser.parse_intermixed_args()
    if not args.redraw and not (args.out and args.teacher):
        parser.error("OUT and --teacher are needed")
    facts = kept(NAME) if args.redraw else measure(make(args), args)
    keep(NAME, facts, picture, table(facts), PAGE)
    print(table(facts))
    return int(not verdict(facts).endswith("is enough."))


if __name__ == "__main__":
    sys.exit(main())
