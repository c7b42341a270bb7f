"""How much a model's confidence is worth: Multi30k, calibrated on val, measured on test2016.

    python -m benchmarks.quality.confidence MODEL [--to en] [--pairs N]

Prints the expected calibration error of the tokens under forced decoding before and after, as a table of
confidence against accuracy; then how the confidence of whole outputs ranks them: Spearman's ρ with their
chrF, and BLEU of the most confident half against that of the rest. The model's folder is left as it is.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import corpora
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.inference.find_model import find_model
from dragoman.inference.quality.confidence import calibrate, references
from dragoman.inference.runtimes.reproducibility import request_reproducible_mkl
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.metrics.calibration import BINS, calibration_error, monotone
from dragoman.metrics.report import values
from dragoman.metrics.sentence_distance import chrf_distance
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.calibration import Calibration
from dragoman.search.forced import top1_confidence

DATA = corpora.DATA / "multi30k"
Numbers = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--to", default="de", choices=("de", "en"))
    parser.add_argument("--pairs", type=int, help="of each set, to try it out")
    args = parser.parse_args()
    request_reproducible_mkl()
    bundle = load_bundle(find_model(args.model))
    dev, test = (pairs_of(part, args.to, args.pairs) for part in ("val", "test2016"))
    learned = calibrate(TorchRuntime(bundle), dev)
    print(learned.model_dump_json(indent=1))
    translator = TorchRuntime(Bundle(bundle.config, bundle.text, bundle.model, learned))
    tokens(translator, test, learned)
    sentences(translator, test)


def pairs_of(part: str, to: str, count: int | None) -> list[Pair]:
    languages = ("en", "de") if to == "de" else ("de", "en")
    return list(islice(open_pairs([DATA / f"{part}.{language}" for language in languages]), count))


def tokens(translator: TorchRuntime, test: list[Pair], learned: Calibration) -> None:
    p, right = top1_confidence(translator.model, references(translator, test))
    sure = monotone(p, learned.tokens)
    print(f"\ntokens under forced decoding: ECE on test2016, {len(p):,} tokens")
    for name, confidence in (("before", p), ("after", sure)):
        print(f"  {name:<7} {calibration_error(confidence, right):.4f}")
    print("  confidence  accuracy  tokens   (after)")
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    for k in range(BINS):
        inside = place == k
        if inside.any():
            print(f"  {sure[inside].mean():>10.3f}{right[inside].mean():>10.3f}{inside.sum():>8,}")


def sentences(translator: TorchRuntime, test: list[Pair]) -> None:
    results = translator([pair.src for pair in test])
    lowercase = translator.text.lowercase
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
    low = sum("low_confidence" in r.flags for r in results)
    print(f"  flagged low_confidence: {low} of {len(results):,}")


def spearman(x: Numbers, y: Numbers) -> float:
    """ρ: the correlation of ranks; equal values share theirs."""
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def ranks(x: Numbers) -> Numbers:
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    mean: Numbers = counts.cumsum() - (counts - 1) / 2.0
    return mean[inverse]


if __name__ == "__main__":
    main()
