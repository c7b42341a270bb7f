"""The verdict of a report: one plain sentence about what a model is worth, and whether it still learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.inspection.data import Curve
from dragoman.metrics.names import PERCENT
from dragoman.reports.data import Gain, Score
from dragoman.reports.text import p_text

if TYPE_CHECKING:
    from dragoman.reports.comparison import Contrast

LAST = 0.8  # of a run: what happened since then says whether it is still learning
CLEARLY = 0.02  # of a loss
# Baselines as something that can be done instead; others are named as they are.
INSTEAD = {
    "copy of the source": "copying the source",
    "nearest training pair": "the nearest training pair",
    "most frequent label": "always answering with the most frequent label",
    "most frequent tag": "the most frequent tag of each word",
    "HMM": "a hidden Markov model",
}


def verdict(scores: Sequence[Score], gains: Sequence[Gain], validation: Curve | None) -> str:
    """Return the sentence: against the strongest baseline if there is one, else the first score."""
    if gains:
        worth = compared(min(gains, key=lambda gain: gain.difference))
    else:
        worth = measured(scores[0]) if scores else "Nothing was measured"
    learned = learning(validation) if validation else ""
    return f"{worth}, {learned}." if learned else f"{worth}."


def compared(gain: Gain) -> str:
    low, high = gain.interval
    baseline = INSTEAD.get(gain.baseline, gain.baseline)
    unit = f"points of {gain.title}" if gain.metric in PERCENT else gain.title
    if low <= 0 <= high:
        return (
            f"Not clearly better than {baseline}: {signed(gain.difference)} {unit} "
            f"(95 % interval {signed(low)} to {signed(high)})"
        )
    first, last = (low, high) if low > 0 else (-high, -low)
    side = "Better" if low > 0 else "Worse"
    return (
        f"{side} than {baseline} by {abs(gain.difference):.1f} {unit} (95 % interval {first:.1f}–{last:.1f})"
    )


def contrasted(contrasts: Sequence[Contrast], first: str) -> str:
    """Return a sentence about each system against the first, by the main metric."""
    return " ".join(f"{contrast_text(one, first)}." for one in contrasts)


def contrast_text(one: Contrast, first: str) -> str:
    low, high = one.interval or (one.difference, one.difference)
    unit = f"points of {one.title}" if one.metric in PERCENT else one.title
    p = p_text(one.p_value)
    how = f"(95 % interval {signed(low)} to {signed(high)}, p {p if p.startswith('≤') else f'= {p}'})"
    if one.is_better is None:
        return f"{one.system} is not clearly different from {first}: {signed(one.difference)} {unit} {how}"
    side = "better" if one.is_better else "worse"
    return f"{one.system} is {side} than {first}: {signed(one.difference)} {unit} {how}"


def signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def measured(score: Score) -> str:
    low, high = score.interval
    return f"{score.title} {score.value:.2f}{score.unit and ' %'} (95 % interval {low:.2f}–{high:.2f})"


def learning(validation: Curve) -> str:
    """Say whether the validation loss was still falling, or had risen, when the run stopped."""
    points = validation.points
    if len(points) < 3:
        return ""
    last_update, last = points[-1]
    before = [loss for update, loss in points if update <= LAST * last_update]
    best_update, best = min(points, key=lambda point: point[1])
    if last > (1 + CLEARLY) * best:
        return f"with a validation loss that rose after update {best_update:,.0f} of {last_update:,.0f}"
    if before and last < (1 - CLEARLY) * min(before):
        return "with a validation loss that was still falling"
    return "with a validation loss that no longer fell"
