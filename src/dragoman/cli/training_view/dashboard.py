"""The live display of a run, for a terminal of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.text import Text

from dragoman.allocator import peak_bytes
from dragoman.cli.format import (
    HEADINGS,
    clock,
    duration,
    format_bytes,
    format_count,
    measured,
    number,
    perplexity,
    sparkline,
)
from dragoman.cli.terminal import printable
from dragoman.cli.wrapping import shortened
from dragoman.metrics.validation import METRICS
from dragoman.training.progress import RunProgress, Validation

ROWS = 8  # maximum validations shown
WIDE = 84  # columns from which figures are shown next to the table
SPARK = 48  # maximum columns of a curve
COLUMNS = {"time": 8, "step": 10, "loss": 8, "dev ppl": 9, "chrf": 7, "bleu": 7, "exact_match": 9}


@dataclass(frozen=True)
class Dashboard:
    """A renderable, drawn from `progress` at every refresh."""

    progress: RunProgress
    name: str
    model: str
    metric: str  # selects the best checkpoint

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = max(options.max_width - 1, 8)  # some terminals wrap a line that fills the last column
        for line in self.lines(width, console.size.height):
            line.no_wrap, line.overflow = True, "ellipsis"
            line.truncate(width, overflow="ellipsis")
            yield line

    def lines(self, width: int, height: int) -> Iterator[Text]:
        room = height - (4 if width >= WIDE else 6)
        sample = list(self.sample(width)) if room >= 6 else []
        room -= len(sample)
        yield self.head(width)
        yield from self.bar(width)
        if width < WIDE:
            yield from (Text(line) for line in self.figures(width)[:1])
        if room >= 4:
            yield Text()
            yield from self.table(width, min(ROWS, room - 2))
        yield from sample
        if not self.progress.is_over:
            last = self.progress.step >= self.progress.updates
            yield Text(
                "Comparing the last weights with the best" if last else "Ctrl-C saves and stops", "dim"
            )

    def head(self, width: int) -> Text:
        p = self.progress
        left = p.left
        about = "" if p.until or p.is_over else "~"
        total = f" of {about}{clock(p.elapsed + left)}" if left is not None else ""
        right = f"{clock(p.elapsed)}{total}"
        room = width - len(right) - 2
        parts = [self.name, self.model, f"{format_count(p.parameters)} parameters"]
        while parts and cell_len(" · ".join(parts)) > room:
            parts.pop()
        title = set_cell_size(" · ".join(parts), max(room, 0))
        return Text(title, "bold") + Text("  " + right if room > 0 else right)

    def bar(self, width: int) -> Iterator[Text]:
        p = self.progress
        percent = f" {p.share:4.0%}".replace("%", " %")
        facts = [f"epoch {p.epoch:.1f}", f"{p.pace.tokens_per_second:,.0f} tok/s", format_bytes(peak_bytes())]
        left = [f"{duration(p.left)} left"] if p.left is not None and p.step < p.updates else []
        if width >= WIDE:
            aside = "".join(f"   {fact}" for fact in [*facts, *left])
            yield blocks(p.share, width - len(percent) - len(aside)) + Text(percent, "bold") + Text(aside)
        else:
            yield blocks(p.share, width - len(percent)) + Text(percent, "bold")
            yield Text("   ".join([*left, *facts]))

    def figures(self, width: int) -> list[str]:
        """Return curves and figures, one line each; narrow terminals show the first line only."""
        room = max(4, min(SPARK, width - 20))
        p = self.progress
        lines = []
        if points := p.curve.points:
            curve = sparkline([math.log(max(point, 1e-6)) for point in points], room)  # linear is soon flat
            lines.append(f"loss  {number(points[0], 2):>6} {curve} {number(p.loss.value, 2)}")
        scores = [score for v in p.validations if (score := v.metric(self.metric)) is not None]
        if len(scores) > 1:
            first, last = (measured(self.metric, score) for score in (scores[0], scores[-1]))
            lines.append(f"{HEADINGS[self.metric]:<5} {first:>6} {sparkline(scores, room)} {last}")
        skipped = f"   {p.skipped:,} skipped" if p.skipped else ""
        if p.step:  # before the first update both are unknown
            lines.append(f"grad  {number(p.norm, 2):>6}   lr {p.lr:.1e}{skipped}")
        return lines

    def table(self, width: int, rows: int) -> Iterator[Text]:
        shown = chosen(self.progress.validations, self.progress.best_step, rows)
        names = fitting(self.columns(shown), width - 3, self.metric)
        heading = "".join(f"{HEADINGS.get(name, name):>{COLUMNS[name]}}" for name in names)
        left = [Text(heading if shown else "", "dim")]
        for row in shown:
            best = row.step == self.progress.starred
            left.append(Text("".join(f"{cell(row, name):>{COLUMNS[name]}}" for name in names)))
            left[-1].append(" ★ " if best else "   ", "yellow")
        aside = ["", *self.figures(width - len(heading) - 5)] if width >= WIDE else []
        for line, figure in zip_longest(left, aside[: rows + 1]):
            row_text = line or Text()
            if figure:
                row_text.pad_right(max(0, len(heading) + 5 - len(row_text)))
                row_text.append(figure)
            yield row_text

    def columns(self, shown: Sequence[Validation]) -> list[str]:
        return [
            "time",
            "step",
            "loss",
            "dev ppl",
            *(m for m in METRICS if any(m in v.metrics for v in shown)),
        ]

    def sample(self, width: int) -> Iterator[Text]:
        if self.progress.sample:
            yield Text()
        for name, text in self.progress.sample.items():
            shown = shortened(printable(text), width - len(f"  {name}  "))
            yield Text(f"  {name}  ", "dim") + Text(shown, "bold" if name == "out" else "")


def blocks(share: float, width: int) -> Text:
    done = round(min(max(share, 0.0), 1.0) * max(width, 0))
    return Text("█" * done, "cyan") + Text("░" * (max(width, 0) - done), "dim")


def chosen(validations: Sequence[Validation], best_step: int, rows: int) -> list[Validation]:
    """Return the last validations, always including the best one."""
    last = list(validations[-rows:])
    if last and best_step < last[0].step:
        return [*(v for v in validations if v.step == best_step), *last[1:]]
    return last


def fitting(names: list[str], width: int, metric: str) -> list[str]:
    """Return the columns that fit; the metric that selects checkpoints is never dropped."""
    dispensable = [name for name in ("exact_match", "bleu", "loss", "chrf", "time") if name != metric]
    while dispensable and sum(COLUMNS[name] for name in names) > width:
        dropped = dispensable.pop(0)
        names = [name for name in names if name != dropped]
    return names


def cell(row: Validation, name: str) -> str:
    match name:
        case "time":
            return clock(row.seconds)
        case "step":
            return f"{row.step:,}"
        case "loss":
            return number(row.loss, 2)
        case "dev ppl":
            return perplexity(row.dev_loss)
    return measured(name, row.metric(name))
