"""BLEU against the length of the source: one recurrent network with and without attention, a Transformer.

    python -m benchmarks.quality.bleu_against_length OUT [section.key=value …] [--redraw]

Multi30k German to English, lower-cased. Sentences of more than twenty words are rare there, so lines that
follow each other are joined: for training by one, two, three and four, and for the test until each bucket of
lengths is filled, from all of test2016 and each line once a bucket, so that buckets differ in length and not
in what is said. Trains each settings file of lengths/ below OUT (an unfinished run is gone on with,
a finished one is kept), translates once, and scores each bucket with its 95 % interval. Writes
OUT/facts.json and, where no setting was given, the facts, the picture and the table of docs/architectures.md;
`--redraw` makes the last two of the facts that are there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality.multi30k import DATA, DRAGOMAN, HERE
from benchmarks.results_page import Facts, keep, kept, rows, stamp
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import LIGHT, Theme
from dragoman.metrics.bleu import bleu

NAME = "bleu_against_length"
RARE = 0.05  # of the training pairs
MODELS = {"gru": "GRU", "gru-attention": "GRU with attention", "transformer": "Transformer"}
LANGUAGES = ("de", "en")
JOINED = (1, 2, 3, 4)
BUCKETS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, 60), (61, 80))


class Pair(NamedTuple):
    src: str
    tgt: str

    @property
    def words(self) -> int:
        return len(self.src.split())


def lines_of(part: str) -> list[Pair]:
    texts = [(DATA / f"{part}.{language}").read_text(encoding="utf-8") for language in LANGUAGES]
    return [Pair(*pair) for pair in zip(*(text.split("\n")[:-1] for text in texts), strict=True)]


def join(pairs: Sequence[Pair]) -> Pair:
    return Pair(" ".join(pair.src for pair in pairs), " ".join(pair.tgt for pair in pairs))


def training_pairs(lines: Sequence[Pair]) -> Iterator[Pair]:
    """All lines one by one, then all of them two by two, and so on."""
    for count in JOINED:
        for start in range(0, len(lines) - count + 1, count):
            yield join(lines[start : start + count])


def validation_pairs(lines: Sequence[Pair]) -> Iterator[Pair]:
    """One line, then two joined, then three, then four, then one: each line once."""
    start = 0
    while start + sum(JOINED) <= len(lines):
        for count in JOINED:
            yield join(lines[start : start + count])
            start += count


def bucket(lines: Sequence[Pair], low: int, high: int) -> Iterator[Pair]:
    """Lines that follow each other, joined until they are long enough; one that makes them too long begins
    anew, and what was held is left out.
    """
    held: list[Pair] = []
    for line in lines:
        held = [*held, line] if join([*held, line]).words <= high else [line]
        if low <= join(held).words <= high:
            yield join(held)
            held = []


def write_pairs(folder: Path, name: str, pairs: Sequence[Pair]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for language, side in zip(LANGUAGES, zip(*pairs, strict=True), strict=True):
        text = "".join(f"{line}\n" for line in side)
        (folder / f"{name}.{language}").write_text(text, encoding="utf-8")


def train(name: str, data: Path, out: Path, settings: list[str]) -> None:
    if (out / "model").exists():
        return
    files = {part: [str(data / f"{part}.{language}") for language in LANGUAGES] for part in ("train", "val")}
    command = [*DRAGOMAN, "train", *files["train"], "--valid", *files["val"]]
    command += ["-c", str(HERE / "lengths" / f"{name}.toml"), "-o", str(out), "--yes", *settings]
    subprocess.run(command, check=True)


def translate(run: Path, source: Path) -> list[str]:
    outputs = run / "test.out"
    if not outputs.exists():
        command = [*DRAGOMAN, "run", str(run), "--file", str(source), "-o", str(outputs)]
        subprocess.run(command, check=True)
    return outputs.read_text(encoding="utf-8").split("\n")[:-1]


def scored(outputs: Sequence[str], buckets: Sequence[Sequence[Pair]]) -> Iterator[Facts]:
    """BLEU of each bucket; the outputs stand in the order of the buckets."""
    start = 0
    for pairs in buckets:
        score = bleu(outputs[start : start + len(pairs)], [pair.tgt for pair in pairs], lowercase=True)
        yield {"bleu": score.value, "interval": list(score.interval), "signature": score.signature}
        start += len(pairs)


def told(run: Path) -> Facts:
    """What a run wrote down about itself."""
    lines = (run / "events.jsonl").read_text(encoding="utf-8").split("\n")
    events = [json.loads(line) for line in lines if line]
    last = {event["event"]: event for event in events}
    return {
        "minutes": round(last["finished"]["seconds"] / 60, 1),
        "parameters": last["start"]["parameters"],
        "updates": last["step"]["step"],
    }


def measure(out: Path, settings: list[str]) -> Facts:
    data, lines = out / "data", lines_of("train")
    trained_on, test = list(training_pairs(lines)), lines_of("test2016")
    buckets = [list(bucket(test, low, high)) for low, high in BUCKETS]
    write_pairs(data, "train", trained_on)
    write_pairs(data, "val", list(validation_pairs(lines_of("val"))))
    write_pairs(data, "test", [pair for pairs in buckets for pair in pairs])
    facts: Facts = {
        "measured": stamp(f"python -m benchmarks.quality.{NAME} OUT"),
        "buckets": [],
        "models": {},
    }
    for (low, high), pairs in zip(BUCKETS, buckets, strict=True):
        mean = sum(pair.words for pair in pairs) / len(pairs)
        as_long = sum(pair.words >= low for pair in trained_on) / len(trained_on)
        sizes = {"sentences": len(pairs), "mean": round(mean, 1), "as_long": round(as_long, 4)}
        facts["buckets"].append({"words": [low, high], **sizes})
    for name, label in MODELS.items():
        train(name, data, out / name, settings)
        scores = list(scored(translate(out / name, data / "test.de"), buckets))
        facts["models"][label] = {**told(out / name), "scores": scores}
    return facts


def picture(facts: Facts, theme: Theme) -> str:
    means = [found["mean"] for found in facts["buckets"]]
    lines = [
        Line(
            label,
            list(zip(means, (score["bleu"] for score in model["scores"]), strict=True)),
            [tuple(score["interval"]) for score in model["scores"]],
        )
        for label, model in facts["models"].items()
    ]
    highest = max(score["interval"][1] for model in facts["models"].values() for score in model["scores"])
    rare = next(found["words"][0] - 1 for found in facts["buckets"] if found["as_long"] < RARE)
    x = Axis(f"words of the source; hardly any training pair has more than {rare}", 0, 80)
    y = Axis("BLEU", 0, 10 * (highest // 10 + 1))
    title = "BLEU against the length of the source, Multi30k German to English"
    panel = Panel("Buckets of lengths at their mean, with 95 % intervals", x, y, lines)
    return draw(title, [panel], theme)


def table(facts: Facts) -> str:
    head = ["words of the source", "sentences", "of training as long or longer"]
    head += [f"{label}: {model['minutes']:.0f} min" for label, model in facts["models"].items()]
    body = []
    for place, found in enumerate(facts["buckets"]):
        low, high = found["words"]
        cells = [f"{low}–{high}", f"{found['sentences']:,}", f"{100 * found['as_long']:.0f} %"]
        for model in facts["models"].values():
            score = model["scores"][place]
            first, last = score["interval"]
            cells.append(f"{score['bleu']:.1f} [{first:.1f}, {last:.1f}]")
        body.append(cells)
    return rows(head, body)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("settings", nargs="*")
    parser.add_argument("--redraw", action="store_true")
    args = parser.parse_args()
    facts = kept(NAME) if args.redraw else measure(args.out, args.settings)
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    if not args.redraw:
        (args.out / "facts.json").write_text(text + "\n", encoding="utf-8")
        (args.out / f"{NAME}.svg").write_text(picture(facts, LIGHT), encoding="utf-8")
    if not args.settings:
        keep(NAME, facts, picture, table(facts))
    print(table(facts))
    print(json.dumps({"benchmark": NAME, **facts}))


if __name__ == "__main__":
    main()
