"""A lesson: the models of a recipe, trained one after another and compared by length."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from dragoman.allocator import keep_freed_memory
from dragoman.api import load, trained
from dragoman.cli.format import duration, format_count, number
from dragoman.cli.terminal import say, talk
from dragoman.config.load import load as load_config
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import LIGHT, Theme

WITHOUT_ATTENTION = ("elman", "cho2014", "sutskever2014")
PARTS = 3  # from the shortest to the longest sources
TENTH = 10  # the last tenth of the updates is compared with the third last
FALLS = 0.9  # a loss below this share of the earlier one still falls
DONE = 0.02  # a loss below this has converged


def teach(folder: Path, names: Sequence[str]) -> None:
    """Train each model that is not trained yet, then report the results."""
    keep_freed_memory()
    talk(f"{len(names)} models, one after another; Ctrl-C saves, and the same command resumes.")
    results: list[dict[str, Any]] = []
    for name in names:
        results.append(taught(folder, name))
        if len(results) == 1:
            for line in heading(results):
                talk(line)
        talk(row(results[-1]))
    (folder / "comparison.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / "comparison.svg").write_text(picture(results), encoding="utf-8")
    for line in (*heading(results), *map(row, results)):
        say(line)
    if any(result["still_learning"] for result in results):
        say("* still learning when its training ended")
    talk(f"Also in {folder / 'comparison.json'}, and as a picture in {folder / 'comparison.svg'}.")
    talk(f"Next: dragoman run {folder / names[-1]} '3 1 4 1 5'")


def taught(folder: Path, name: str) -> dict[str, Any]:
    out = folder / name
    if not (out / "model").exists():
        trained(load_config(folder / f"{name}.toml"), out, None, progress=True, brief=True)
    pairs = list(open_pairs([folder / "test.tsv"]))
    outputs = [result.text for result in load(out)([pair.src for pair in pairs])]
    return {"name": name, **recorded(out), "by_length": by_length(pairs, outputs)}


def by_length(pairs: Sequence[Pair], outputs: Sequence[str]) -> dict[int, float]:
    """Return the share of words that are correct and in the correct position, by number of words."""
    found: dict[int, list[float]] = {}
    for pair, output in zip(pairs, outputs, strict=True):
        wanted = pair.tgt.split()
        right = sum(a == b for a, b in zip(wanted, output.split(), strict=False))
        found.setdefault(len(wanted), []).append(right / len(wanted))
    return {length: fmean(found[length]) for length in sorted(found)}


def recorded(out: Path) -> dict[str, Any]:
    """Return what the run recorded, even if it was trained earlier."""
    lines = (out / "events.jsonl").read_text(encoding="utf-8").split("\n")
    events = [json.loads(line) for line in lines if line]
    last_events = {event["event"]: event for event in events}
    losses = [event["loss"] for event in events if event["event"] == "step" and event["loss"] is not None]
    return {
        "parameters": last_events["start"]["parameters"],
        "updates": last_events["finished"]["step"],
        "seconds": last_events["finished"]["seconds"],
        **ended(losses),
    }


def ended(losses: Sequence[float]) -> dict[str, Any]:
    """Return the loss of the last tenth of the updates, and whether it still falls."""
    size = max(1, len(losses) // TENTH)
    last, before = fmean(losses[-size:]), fmean(losses[-3 * size : -2 * size] or losses[:1])
    return {"loss": last, "still_learning": DONE < last < FALLS * before}


def parts_of(by_length: dict[int, float]) -> list[tuple[int, int, float]]:
    """Return the shortest length, the longest length and the mean share of each part."""
    lengths = list(by_length)
    cuts = [len(lengths) * part // PARTS for part in range(PARTS + 1)]
    parts = [lengths[a:b] for a, b in pairwise(cuts) if a < b]
    return [(part[0], part[-1], fmean(by_length[length] for length in part)) for part in parts]


def heading(results: Sequence[dict[str, Any]]) -> list[str]:
    spans = "".join(f"{f'{a}–{b}':>9}" for a, b, _ in parts_of(results[0]["by_length"]))
    names = f"{'model':<14}{'parameters':>11}{'updates':>9}{'time':>8}{'loss':>7}"
    return [f"{'':<{len(names)}}{'words right, by length':>{len(spans)}}", names + spans]


def row(result: dict[str, Any]) -> str:
    cells = "".join(f"{100 * share:>7.1f} %" for _, _, share in parts_of(result["by_length"]))
    known = f"{format_count(result['parameters']):>11}{result['updates']:>9,}{duration(result['seconds']):>8}"
    still = " *" if result["still_learning"] else ""
    return f"{result['name']:<14}{known}{number(result['loss'], 2):>7}{cells}{still}"


def picture(results: Sequence[dict[str, Any]], theme: Theme = LIGHT) -> str:
    lines = [
        Line(
            r["name"],
            [(float(length), 100 * share) for length, share in r["by_length"].items()],
            group="without attention" if r["name"] in WITHOUT_ATTENTION else "with attention",
        )
        for r in sorted(results, key=lambda r: r["name"] in WITHOUT_ATTENTION)
    ]
    longest = max(point[0] for line in lines for point in line.points)
    panel = Panel("", Axis("words to write", 0.0, longest), Axis("words right, %", 0.0, 100.0), lines)
    return draw(title(results), [panel], theme)


def title(results: Sequence[dict[str, Any]]) -> str:
    """Return what the picture shows, if it does: of long sources, each model with attention is better."""
    last: dict[bool, list[float]] = {True: [], False: []}
    for result in results:
        last[result["name"] in WITHOUT_ATTENTION].append(parts_of(result["by_length"])[-1][2])
    is_shown = min(last[False], default=0.0) > max(last[True], default=1.0)
    return "Without attention, long sentences fail" if is_shown else "Words that are right, by length"
