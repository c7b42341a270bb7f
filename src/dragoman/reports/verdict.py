"""What a model is worth, in a sentence or two: the result, what it is compared with, and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.inspection.data import Curve

if TYPE_CHECKING:
    from dragoman.reports.report import Contrast, Editing, EvaluationSet, Gain, Score, System

PERFECT = 100.0
LAST = 0.8  # of a run: what happened since then says whether it is still learning
CLEARLY = 0.02  # of a loss
LEAST_P = 0.001
MATCH = 75  # % of a sentence: translation memories usually offer no match that is worse
MOSTLY_RETYPED = 0.9  # of the sentences
MOSTLY_WRONG = 50.0  # of 100 characters or words
HARDLY_ANY, NEARLY_ALL = 5.0, 99.0  # of 100 examples are right

ADJECTIVES = {"validation set": "held-out", "test set": "test", "training data": "training"}
# Baselines as something that can be done instead; others are named as they are.
INSTEAD = {
    "copy of the source": "copying the source",
    "nearest training pair": "the nearest training pair",
    "most frequent label": "always answering with the most frequent label",
    "most frequent tag": "the most frequent tag of each word",
    "HMM": "a hidden Markov model",
}
STILL_FALLING = "Its validation loss was still falling when training stopped, so longer training should help"
EDITING_RULE = (
    f"Leave: equals the reference. Edit: at least {MATCH} % of the letters match it, the usual "
    "limit of a translation memory. Retype: the rest. This is estimated from the references, not from your "
    "editors, who also keep good translations in other words."
)


def verdict(
    test: EvaluationSet,
    scores: Sequence[Score],
    gains: Sequence[Gain],
    validation: Curve | None,
    editing: Editing | None = None,
) -> str:
    """Return the sentences, about the first of the scores and the strongest baseline."""
    if not scores:
        return "Nothing was measured."
    whole = next((one for one in scores if one.counted == "examples"), None)
    strongest = min(gains, key=lambda gain: gain.difference) if gains else None
    if whole and whole.value == PERFECT:
        return perfect(whole, test, strongest)
    main = scores[0]
    worth = compared(main, test, strongest) if strongest else f"{result(main, test)}."
    if is_useless(main, editing) and (strongest is None or strongest.interval[0] > 0):
        worth = f"Not usable yet: {worth}"
    worth = capitalised(worth)
    is_good = whole is not None and whole.value >= NEARLY_ALL  # and needs no advice
    learned = learning(validation) if validation and not is_good else ""
    return f"{worth} {learned}." if learned else worth


def perfect(whole: Score, test: EvaluationSet, strongest: Gain | None) -> str:
    """Say how few of the next ones can be wrong: that none of these is does not mean that none will be."""
    all_right = f"The only {one_of(test)} is right" if test.sentences == 1 else f"All {many(test)} are right"
    found = f"{all_right}: of new ones expect at least {int(whole.interval[0])} %."
    if strongest is None or strongest.baseline not in whole.baselines:
        return found
    name = INSTEAD.get(strongest.baseline, strongest.baseline)
    return f"{found} {capitalised(name)} gets {against(whole, strongest.baseline, test)}."


def compared(main: Score, test: EvaluationSet, gain: Gain) -> str:
    low, high = gain.interval
    name = INSTEAD.get(gain.baseline, gain.baseline)
    found, other = result(main, test), against(main, gain.baseline, test)
    if low > 0:
        return f"{found}; {name} gets {other}."
    if main.counted == "examples" and other == "none" and not hits(main.value, test):
        return f"{found}; {name} gets none, either."
    return f"{'No clear gain over' if high >= 0 else 'Worse than'} {name}: {found}, against {other}."


def result(score: Score, test: EvaluationSet) -> str:
    value = score.value
    if score.counted == "examples":
        right = hits(value, test)
        if not right:
            is_only = test.sentences == 1
            return f"the only {one_of(test)} is wrong" if is_only else f"none of the {many(test)} is right"
        share = "" if test.sentences == 100 else f" ({percentage(value)})"
        return f"{right:,} of {many(test)} {'are' if right > 1 else 'is'} right{share}"
    if score.is_error and score.counted:
        return f"{value:.1f} of 100 {score.counted} are wrong in {many(test)} ({score.title})"
    if score.counted:
        return f"{percentage(value)} of the {score.counted} in {many(test)} are right"
    if score.metric == "perplexity":
        choices = f"{value:.1f}" if value < 10 else f"{value:,.0f}"
        return (
            f"on {many(test)} it is as unsure of each token as if it chose among {choices} equally likely "
            f"ones (perplexity {value:.1f})"
        )
    return f"{value:.1f} {score.title} on {many(test)}"


def against(score: Score, baseline: str, test: EvaluationSet) -> str:
    """Return the score of a baseline, as short as it can be beside that of the model."""
    value = score.baselines[baseline]
    if score.counted == "examples":
        return f"{hits(value, test):,}" if hits(value, test) else "none"
    return percentage(value) if score.counted and not score.is_error else f"{value:.1f}"


def many(test: EvaluationSet) -> str:
    plural = "" if test.sentences == 1 else "s"
    return f"{test.sentences:,} {one_of(test)}{plural}"


def one_of(test: EvaluationSet) -> str:
    return f"{ADJECTIVES[test.kind]} {test.items.removesuffix('s')}"


def hits(value: float, test: EvaluationSet) -> int:
    return round(value * test.sentences / 100)


def capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def percentage(value: float) -> str:
    """Return a percentage without decimals, unless it would be rounded to nothing or to all."""
    near = min(value, PERFECT - value)
    digits = math.ceil(-math.log10(near)) if 0 < near < 1 else 0
    return f"{value:.{digits}f} %"


def is_useless(main: Score, editing: Editing | None) -> bool:
    if editing:
        return editing.retype >= MOSTLY_RETYPED * (editing.leave + editing.edit + editing.retype)
    if main.is_error:
        return main.counted != "" and main.value >= MOSTLY_WRONG
    return main.counted == "examples" and main.value < HARDLY_ANY


def learning(validation: Curve) -> str:
    """Say that the validation loss was still falling, or had risen, when the run stopped."""
    points = validation.points
    if len(points) < 3:
        return ""
    last_update, last = points[-1]
    before = [loss for update, loss in points if update <= LAST * last_update]
    best_update, best = min(points, key=lambda point: point[1])
    if last > (1 + CLEARLY) * best:
        since = f"{best_update:,.0f} of {last_update:,.0f}"
        return f"Its validation loss rose after update {since}: more data should help, more time will not"
    return STILL_FALLING if before and last < (1 - CLEARLY) * min(before) else ""


def editing_text(editing: Editing) -> str:
    """Return what is left, edited and retyped of 100 sentences, or of all if they are fewer."""
    leave, edit, retype = found = of_hundred(editing)
    sentences = "1 sentence" if sum(found) == 1 else f"{sum(found)} sentences"
    return f"Of {sentences} you would leave {leave}, edit {edit} and retype {retype}."


def of_hundred(editing: Editing) -> list[int]:
    """Return the numbers in proportion, whole and with the sum of 100, or as they are if they are fewer."""
    counts = (editing.leave, editing.edit, editing.retype)
    of = min(100, sum(counts))
    exact = [of * count / sum(counts) for count in counts]
    found = [int(share) for share in exact]
    by_remainder = sorted(range(len(counts)), key=lambda place: found[place] - exact[place])
    for place in by_remainder[: of - sum(found)]:
        found[place] += 1
    return found


def contrasted(contrasts: Sequence[Contrast], systems: Sequence[System]) -> str:
    """Return a sentence about each system against the first, by the main metric."""
    return " ".join(contrast_text(one, systems) for one in contrasts)


def contrast_text(one: Contrast, systems: Sequence[System]) -> str:
    ours, first = (
        next(score for score in system.scores if score.metric == one.metric)
        for system in (next(system for system in systems if system.name == one.system), systems[0])
    )
    name, value = systems[0].name, f"{one.title} {ours.value:.1f}{ours.unit and ' %'}"
    if one.difference == 0:
        return f"{one.system} scores the same as {name}: {value}."
    low, high = one.interval or (one.difference, one.difference)
    p = p_text(one.p_value)
    how = f"95 % interval {signed(low)} to {signed(high)}, p {p if p.startswith('≤') else f'= {p}'}"
    side = {True: "better than", False: "worse than", None: "not clearly different from"}[one.is_better]
    return (
        f"{one.system} is {side} {name}: {value} against {first.value:.1f}, a difference of "
        f"{signed(one.difference)} ({how})."
    )


def signed(value: float) -> str:
    return f"{value:+z.1f}".replace("-", "−")


def p_text(p: float) -> str:
    """Return a p-value; the smallest that a thousand resamples can show is about one in a thousand."""
    return "≤ 0.001" if p <= LEAST_P else f"{p:.3f}"
