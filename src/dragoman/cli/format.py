"""Human-readable durations, sizes, counts and lists, and curves in one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from dragoman.data.pair import quote

MINUTE, HOUR, DAY = 60, 3600, 86_400
LISTED = 5  # names of a list that are shown
BLOCKS = "▁▂▃▄▅▆▇█"
HEADINGS = {
    "loss": "loss",
    "chrf": "chrF",
    "bleu": "BLEU",
    "exact_match": "exact",
    "accuracy": "accuracy",
    "span_f1": "span F1",
    "macro_f1": "macro-F1",
    "intent": "intent",
    "cer": "CER",
    "wer": "WER",
}


def duration(seconds: float) -> str:
    """Format a duration: 45 s, 12 min, 1 h 50, 2 d 3 h."""
    if not math.isfinite(seconds):
        return "a long time"
    whole = round(max(0.0, seconds))
    if whole <= 90:
        return f"{whole} s"
    if (minutes := round(whole / MINUTE)) < 60:
        return f"{minutes} min"
    if minutes < 2 * DAY / MINUTE:
        return f"{minutes // 60} h" + (f" {minutes % 60:02}" if minutes % 60 else "")
    hours = round(whole / HOUR)
    return f"{hours // 24} d" + (f" {hours % 24} h" if hours % 24 else "")


def span(low: float, high: float) -> str:
    """Format a range of durations; as one where both read the same."""
    first, last = duration(low), duration(high)
    return first if first == last else f"{first} – {last}"


def clock(seconds: float) -> str:
    """Format a duration as a clock does: 0:41, 12:05, 1:50:00."""
    whole = round(max(0.0, seconds)) if math.isfinite(seconds) else 0
    hours, rest = divmod(whole, HOUR)
    minutes, left = divmod(rest, MINUTE)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def format_bytes(count: int) -> str:
    """Format a number of bytes: 812 KB, 3.1 GB."""
    for unit, bytes in (("GB", 1e9), ("MB", 1e6)):
        if count >= bytes:
            return f"{count / bytes:.1f} {unit}" if count < 10 * bytes else f"{count / bytes:,.0f} {unit}"
    return f"{count / 1e3:.0f} KB"


def format_count(count: int) -> str:
    """Format a large number: 950, 41 k, 7.4 M."""
    if count < 10_000:
        return f"{count:,}"
    if count < 999_500:
        return f"{count / 1e3:.0f} k"
    return f"{count / 1e6:.1f} M" if count < 99.95e6 else f"{count / 1e6:,.0f} M"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listed(names: Sequence[str]) -> str:
    """Return the first few names, quoted."""
    more = ["…"] if len(names) > LISTED else []
    return ", ".join([*(quote(name) for name in names[:LISTED]), *more])


def perplexity(loss: float) -> str:
    """Format eˡᵒˢˢ; values above 1 M, as at the start of a bad run, are not written out."""
    value = math.exp(min(loss, 30.0)) if math.isfinite(loss) else math.inf
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}" if value < 1e6 else "> 1 M"


def number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw a curve of at most `width` characters; neighbours are averaged if there are more values."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite or width < 1:
        return ""
    columns = min(width, len(finite))
    cuts = [i * len(finite) // columns for i in range(columns + 1)]
    means = [sum(finite[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = min(means), max(means)
    step = (high - low) / (len(BLOCKS) - 1) or 1.0
    return "".join(BLOCKS[round((mean - low) / step)] for mean in means)


def measured(metric: str, value: float | None) -> str:
    """Format a score; all but the loss are between 0 and 100."""
    if metric == "exact_match" and value is not None:
        return f"{value:.1f} %"
    return number(value, 3 if metric == "loss" else 1)
