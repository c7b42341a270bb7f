"""The summary of a run: scores, files, and the next commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from dragoman.cli.format import HEADINGS, clock, duration, format_bytes, measured, perplexity, plural
from dragoman.cli.next_commands import to_run, to_score
from dragoman.cli.training_view.learning_curve import NAME
from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config
from dragoman.metrics.names import ALL_TITLES
from dragoman.metrics.validation import METRICS
from dragoman.tasks.search_choice import SearchChoice
from dragoman.training.events import FinishedEvent, LossAndMetrics

MAX_EXAMPLE_CHARACTERS = 50  # of an example sentence: quoted, it fits a narrow terminal
EXACT = 600  # seconds: the time of shorter runs is shown to the second


def finished(
    event: FinishedEvent, seconds: float, planned: float | None, config: Config, out: Path
) -> Iterator[str]:
    plan = f" (planned {duration(planned)})" if planned is not None else ""
    taken = clock(seconds) if 90 < seconds < EXACT else duration(seconds)
    yield f"{why(event, config)} {taken}{plan}."
    yield f"  dev     {scores(event['valid'])}"
    yield f"  chosen  {weights(event, config)}"
    if choice := event.get("search"):
        yield f"  search  {SearchChoice(**choice).sentence}"
    folder = Path(event["folder"])
    size = format_bytes(folder_size(folder))
    yield f"  model   {shlex.quote(str(folder))}   {size}   learning curve: {NAME}"
    yield f"Next: {to_score(config, str(out))}"
    yield f"      {to_run(config, str(out), to_try(config, event['sample'].get('src', '')))}"
    if config.is_text_to_text:
        yield f"      {shlex.join(['dragoman', 'show', str(out), '--open'])}"


def why(event: FinishedEvent, config: Config) -> str:
    if event["reason"] == "early":
        checks = plural(config.training.patience, "validation")
        return f"Stopped at update {event['step']:,}, no improvement for {checks}:"
    if event["reason"] == "finish":
        return f"Finished on request, after {plural(event['step'], 'update')} in"
    return f"Finished: {plural(event['step'], 'update')} in"


def scores(valid: LossAndMetrics) -> str:
    named = [f"{HEADINGS[m]} {measured(m, valid[m])}" for m in METRICS if m in valid]
    return "   ".join([*named, f"ppl {perplexity(valid['loss'])}"])


def weights(event: FinishedEvent, config: Config) -> str:
    tied = ", as good as the best" if event.get("ties") else ""
    metric = config.training.valid_metric
    match event["chosen"]:
        case "best":
            return f"the best checkpoint, by {ALL_TITLES.get(metric, metric)}"
        case "average":
            return f"the mean of the last {event['averaged']} checkpoints{tied}"
    return f"the last checkpoint{tied}"


def folder_size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def to_try(config: Config, source: str) -> str:
    """Return an example: the source, if it can be typed; or "" for a file, which is named otherwise."""
    fits = 0 < len(source) <= MAX_EXAMPLE_CHARACTERS and source.isprintable() and not source.startswith("-")
    is_text = isinstance(config.data.source, TextSource)
    return source if fits else "some text" * is_text
