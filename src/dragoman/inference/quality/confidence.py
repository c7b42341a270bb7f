"""Calibration of a model on held-out pairs: its confidence, and the thresholds of its flags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from dragoman.data.collate import collate_sources
from dragoman.data.pair import Pair
from dragoman.errors import DataError
from dragoman.inference.quality.checks import OutputChecker, learn_output_bounds
from dragoman.inference.quality.flags import FlagInput, Limits, compute_flags, length_ratio
from dragoman.inference.result import Result
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.metrics.calibration import calibration_error, fit_logistic, fit_monotone, monotone
from dragoman.metrics.sentence_distance import chrf_distance
from dragoman.models.calibration import Calibration
from dragoman.protocols import send
from dragoman.search.forced import References, top1_confidence
from dragoman.search.repetition import OutputBounds
from dragoman.text.specials import EOS

BATCH_PAIRS = 64  # pairs per batch of forced decoding
LENGTH_TAIL = 0.001  # share of the references beyond each of the two length thresholds
LOW_CONFIDENCE_TAIL = 0.02  # share of the outputs with the flag low_confidence
MAX_FALSE_FLAG_RATE = 0.01  # a flag that a larger share of the references raises is muted


def calibrate(
    translator: TorchRuntime,
    pairs: Sequence[Pair],
    bounds: OutputBounds | None = None,
    results: Sequence[Result] | None = None,
) -> Calibration:
    """Fit a calibration to held-out pairs.

    Pairs with a side that is empty or too long for the model are left out. `bounds` are output bounds that
    were fitted to more references than these, `results` the outputs for the pairs, if they are known.
    """
    fits = [is_usable(translator, pair) for pair in pairs]
    usable = list(compress(pairs, fits))
    if not usable:
        raise no_pairs()
    text = translator.text
    ids = [] if bounds else [(text.src.encode(pair.src), text.tgt.encode(pair.tgt)) for pair in usable]
    bounds = bounds or learn_output_bounds(text, ids)
    translator.checker = OutputChecker(text, None, bounds)
    halves = [
        top1_confidence(translator.model, references(translator, half))
        for half in (usable[::2], usable[1::2])
        if half
    ]
    confidences, correct = (np.concatenate(side) for side in zip(*halves, strict=True))
    tokens = fit_monotone(confidences, correct)
    outputs = compress(results, fits) if results else translator([pair.src for pair in usable])
    mean_log_p, quality = output_quality(translator, usable, list(outputs))
    slope, offset = fit_logistic(mean_log_p, quality)
    limits = flag_limits(translator, usable, bounds)
    return Calibration(
        sentences=len(usable),
        tokens=tokens,
        slope=slope,
        offset=offset,
        # By the rank that leaves this share of further outputs below it: numpy's default leaves 6 % after 21.
        lowest=float(np.quantile(mean_log_p, LOW_CONFIDENCE_TAIL, method="weibull")),
        shortest=limits.shortest,
        longest=limits.longest,
        muted=tuple(sorted(limits.muted)),
        bounds=bounds,
        error=(calibration_error(confidences, correct), error_elsewhere(halves)),
    )


def error_elsewhere(halves: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]) -> float:
    """Return the calibration error of each half of the pairs by a curve that was fitted to the other."""
    mapped = [
        monotone(here, fit_monotone(*there))
        for (here, _), there in zip(halves, reversed(halves), strict=True)
    ]
    return calibration_error(np.concatenate(mapped), np.concatenate([correct for _, correct in halves]))


def no_pairs() -> DataError:
    return DataError(
        "There are no pairs to calibrate on: each has an empty side or is too long.",
        expected="a development set that the model has not seen in training",
        hint="dragoman score MODEL dev.src dev.tgt --calibrate",
    )


def is_usable(translator: TorchRuntime, pair: Pair) -> bool:
    src, tgt = translator.text.src.encode(pair.src), translator.text.tgt.encode(pair.tgt)
    fits = len(src) <= translator.longest_source and len(tgt) < translator.longest_target
    return fits and bool(pair.src.strip() and pair.tgt.strip())


def references(translator: TorchRuntime, pairs: Sequence[Pair]) -> Iterator[References]:
    """Yield batches of pairs of similar length."""
    text = translator.text
    ids = [(text.src.encode(pair.src), [*text.tgt.encode(pair.tgt), EOS]) for pair in pairs]
    ids.sort(key=lambda sides: (len(sides[1]), len(sides[0])))
    for start in range(0, len(ids), BATCH_PAIRS):
        rows = ids[start : start + BATCH_PAIRS]
        src, keep = collate_sources([src for src, _ in rows])
        yield send(src, translator.device), send(keep, translator.device), [tgt for _, tgt in rows]


def output_quality(
    translator: TorchRuntime, pairs: Sequence[Pair], results: Sequence[Result]
) -> tuple[list[float], list[float]]:
    """Return the mean log p of the model's own outputs, and their chrF from 0 to 1."""
    distance, lowercase = chrf_distance(), translator.text.lowercase
    wanted = [pair.tgt.lower() if lowercase else pair.tgt for pair in pairs]
    quality = [1.0 - distance(result.text, text) for result, text in zip(results, wanted, strict=True)]
    return [mean_log_p(result) for result in results], quality


def mean_log_p(result: Result) -> float:
    return result.log_p / max(len(result.tokens) + (not result.truncated), 1)


def flag_limits(translator: TorchRuntime, pairs: Sequence[Pair], bounds: OutputBounds) -> Limits:
    """Return the thresholds of this task, never narrower than the defaults.

    Flags that the references raise too often are muted, except for loops, as long as the guard cuts them.
    """
    ratios = [length_ratio(pair.src, pair.tgt) for pair in pairs]
    low, high = np.quantile(ratios, [LENGTH_TAIL, 1 - LENGTH_TAIL])
    limits = Limits(min(Limits().shortest, float(low)), max(Limits().longest, float(high)))
    counts = Counter(flag for pair in pairs for flag in flags_of(translator, pair, limits))
    frequent = {flag for flag, count in counts.items() if count > MAX_FALSE_FLAG_RATE * len(pairs)} - {
        "repetition"
    }
    return limits._replace(muted=frozenset(frequent | ({"repetition"} if bounds.repeats is None else set())))


def flags_of(translator: TorchRuntime, pair: Pair, limits: Limits) -> tuple[str, ...]:
    """Return the flags that the reference would raise."""
    text = translator.text
    repeats = translator.checker.repeats(text.src.encode(pair.src), text.tgt.encode(pair.tgt))
    return compute_flags(FlagInput(pair.src, pair.tgt, False, repeats), limits)
