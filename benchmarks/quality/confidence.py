"""How much a model's confidence is worth, on pairs that its calibration has not seen.

    python -m benchmarks.quality.confidence MODEL FILE [FILE] [--calibrate FILE [FILE]]
        [--foreign FILE] [--pairs 500]

Prints the calibration error of the tokens under forced decoding; how the confidence of whole outputs ranks
them; and how many of them have the flag low_confidence: of outputs for the sources of FILE that are right,
and of outputs for what the model cannot know: random characters, another script, lines of another language
and words in another order. The area under the curve says how often a source of FILE is given more
confidence than one of those. With --calibrate the calibration is fitted anew, in memory.
"""

from __future__ import annotations

import argparse
import random
import string
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import corpora
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_lines, open_pairs
from dragoman.inference.find_model import find_model
from dragoman.inference.quality.confidence import calibrate, mean_log_p, references
from dragoman.inference.result import Result
from dragoman.inference.runtimes.reproducibility import request_reproducible_mkl
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.metrics.calibration import BINS, calibration_error, monotone
from dragoman.metrics.report import values
from dragoman.metrics.sentence_distance import chrf_distance
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.calibration import Calibration
from dragoman.search.forced import top1_confidence

FOREIGN = corpora.DATA / "multi30k" / "test2016.cs"
GEORGIAN = "".join(map(chr, range(0x10D0, 0x10F1)))
FLAG = "low_confidence"
Numbers = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--calibrate", nargs="+")
    parser.add_argument("--foreign", type=Path, default=FOREIGN)
    parser.add_argument("--pairs", type=int, default=500)
    args = parser.parse_args()
    request_reproducible_mkl()
    bundle = load_bundle(find_model(args.model))
    if args.calibrate:
        learned = calibrate(TorchRuntime(bundle), list(open_pairs(args.calibrate)))
        bundle = Bundle(bundle.config, bundle.text, bundle.model, learned)
    if bundle.calibration is None:
        parser.error("the model has no calibration: --calibrate FILE [FILE]")
    print(f"fitted on {bundle.calibration.sentences:,} pairs: {bundle.calibration.warning or 'good'}")
    translator = TorchRuntime(bundle)
    test = list(islice(open_pairs(args.files), args.pairs))
    tokens(translator, test, bundle.calibration)
    results = translator([pair.src for pair in test])
    right = outputs(results, test, lowercase=translator.text.lowercase)
    unknown(translator, test, results, right, list(islice(open_lines(args.foreign), args.pairs)))


def tokens(translator: TorchRuntime, test: list[Pair], learned: Calibration) -> None:
    p, right = top1_confidence(translator.model, references(translator, test))
    sure = monotone(p, learned.tokens)
    print(f"\ntokens under forced decoding: calibration error, {len(p):,} tokens")
    for name, confidence in (("before", p), ("after", sure)):
        print(f"  {name:<7} {calibration_error(confidence, right):.4f}")
    print("  confidence  accuracy  tokens   (after)")
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    for k in range(BINS):
        inside = place == k
        if inside.any():
            print(f"  {sure[inside].mean():>10.3f}{right[inside].mean():>10.3f}{inside.sum():>8,}")


def outputs(results: Sequence[Result], test: list[Pair], *, lowercase: bool) -> list[bool]:
    """Print how confidence ranks outputs. Returns which are right: the reference, or nearly."""
    wanted = [pair.tgt.lower() if lowercase else pair.tgt for pair in test]
    distance = chrf_distance()
    chrf = np.array([1 - distance(r.text, y) for r, y in zip(results, wanted, strict=True)])
    confidence = np.array([r.confidence for r in results], dtype=np.float64)
    print(f"\noutputs: Spearman's ρ of confidence and chrF {spearman(confidence, chrf):.3f}")
    print(f"  mean confidence {confidence.mean():.3f}, mean chrF {chrf.mean():.3f}")
    order = np.argsort(-confidence, kind="stable")
    for name, part in (("most confident half", order[: len(order) // 2]), ("rest", order[len(order) // 2 :])):
        scores = values([results[i].text for i in part], [wanted[i] for i in part])
        print(f"  {name:<20} BLEU {scores['bleu']:.2f}   chrF {scores['chrf']:.2f}")
    return [result.text == reference for result, reference in zip(results, wanted, strict=True)]


def unknown(
    translator: TorchRuntime,
    test: list[Pair],
    results: Sequence[Result],
    right: list[bool],
    foreign: list[str],
) -> None:
    """Print how many outputs are flagged, and the area under the curve against the test's own sources."""
    draw = random.Random(1)
    kinds = {
        "random characters": [scrawl(draw, string.ascii_letters + string.digits) for _ in test],
        "another script": [scrawl(draw, GEORGIAN) for _ in test],
        "another language": foreign,
        "shuffled words": [" ".join(shuffled(draw, pair.src.split())) for pair in test],
    }
    flagged = [FLAG in result.flags for result in results]
    among = [flag for flag, is_right in zip(flagged, right, strict=True) if is_right]
    print(f"\n{FLAG}                area under the curve")
    print(f"  {'all sources':<20}{share(flagged)}")
    print(f"  {'outputs that are right':<20}{share(among)}")
    known = np.array([mean_log_p(result) for result in results])
    for name, sources in kinds.items():
        answers = translator(sources)
        area = area_under_curve(known, np.array([mean_log_p(answer) for answer in answers]))
        print(f"  {name:<20}{share([FLAG in answer.flags for answer in answers])}{area:>12.3f}")


def share(flagged: Sequence[bool]) -> str:
    return f"{sum(flagged):>5} of {len(flagged):<5}{100 * sum(flagged) / max(len(flagged), 1):>6.1f} %"


def scrawl(draw: random.Random, alphabet: str) -> str:
    return " ".join("".join(draw.choices(alphabet, k=draw.randint(2, 10))) for _ in range(draw.randint(2, 8)))


def shuffled(draw: random.Random, words: list[str]) -> list[str]:
    return draw.sample(words, len(words))


def area_under_curve(higher: Numbers, lower: Numbers) -> float:
    """Return how often a number of `higher` is above one of `lower`; equal ones count half."""
    rank = ranks(np.concatenate([higher, lower]))[: len(higher)]
    return float((rank.sum() - len(higher) * (len(higher) + 1) / 2) / (len(higher) * len(lower)))


def spearman(x: Numbers, y: Numbers) -> float:
    """ρ: the correlation of ranks."""
    if min(np.ptp(x), np.ptp(y)) == 0:
        return float("nan")
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def ranks(x: Numbers) -> Numbers:
    """From 1; equal values share theirs."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    mean: Numbers = counts.cumsum() - (counts - 1) / 2.0
    return mean[inverse]


if __name__ == "__main__":
    main()
