"""Speed of CTranslate2 through `dragoman` over bare CTranslate2, text in and text out; a line of JSON.

    python -m benchmarks.speed.runtime_speed MODEL test.src [--lines N] [--rounds N] [--threads N]

`model(texts)` cuts texts into pieces, searches, guards against runaways, writes texts and raises flags. Bare
is what a script of ten lines does: encode, `ctranslate2.Translator.translate_batch` with the same options,
decode. Both get the same lists, of 1 or of 64 sentences, by turns, so that both meet the same noise; the
ratio is the median of those of the rounds, with its interval. The outputs must be the same, but for runaways.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.ratios import median_of
from benchmarks.results import add_record, record
from dragoman.config.search import SearchConfig
from dragoman.data.readers.open_pairs import open_lines
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.ct2 import CTranslate2Engine
from dragoman.inference.runtimes.exported import ExportRuntime
from dragoman.inference.runtimes.exports import open_export_runtime
from dragoman.text.tokenizer import unique_token_names

SAME = 0.99
SEARCHES = {"greedy": SearchConfig(kind="greedy"), "beam 5": SearchConfig(size=5)}
SIZES = (1, 64)  # sentences in a list


def main() -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("model", help="a model folder that holds ct2/")
    parser.add_argument("source", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    add_record(parser)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    light = open_export_runtime(find_model(args.model), "ct2")
    texts = [text for text in open_lines(args.source) if text.strip()][: args.lines]
    found = {
        f"{name}, lists of {size}": compared(light, texts, search, size, args.rounds)
        for name, search in SEARCHES.items()
        for size in SIZES
    }
    print(json.dumps({"sentences": len(texts), "threads": args.threads, "load": os.getloadavg()[0], **found}))
    for (name, size), one in zip(product(SEARCHES, SIZES), found.values(), strict=True):
        if args.record:
            key = f"{name.split()[0]}_{'alone' if size == 1 else 'list'}"
            ratio = one["ratio"]
            record(f"runtime_speed.{key}", ratio.median, "×", (ratio.low, ratio.high))
    return 0 if all(one["same"] >= SAME for one in found.values()) else 1


def compared(
    light: ExportRuntime, texts: Sequence[str], search: SearchConfig, size: int, rounds: int
) -> dict[str, Any]:
    """Sentences per second of both, in lists of `size`; the first round warms up."""
    read, written = unique_token_names(light.text.src), unique_token_names(light.text.tgt)
    ids = {name: id for id, name in enumerate(written)}

    def bare(some: Sequence[str]) -> list[str]:
        assert isinstance(light.engine, CTranslate2Engine)
        found = light.engine.translator.translate_batch(
            [[read[id] for id in row] for row in light.text.src.encode_batch(some)],
            beam_size=1 if search.kind == "greedy" else search.size,
            min_decoding_length=0,
            max_decoding_length=search.max_length,
            max_input_length=0,
            max_batch_size=search.batch_sentences,
            return_end_token=True,
            return_scores=True,
        )
        return [light.text.tgt.decode([ids[piece] for piece in one.hypotheses[0]]) for one in found]

    ours = [lambda some=some: [one.text for one in light(some, search)] for some in cut(texts, size)]
    theirs = [lambda some=some: bare(some) for some in cut(texts, size)]
    turns = [by_turns(ours, theirs) for _ in range(rounds + 1)][1:]
    spent = list(zip(*(seconds for seconds, _, _ in turns), strict=True))
    mine, others = ([line for part in found for line in part] for found in turns[-1][1:])
    middle = [statistics.median(seconds) for seconds in spent]
    return {
        "ours": round(len(texts) / middle[0], 1),
        "bare": round(len(texts) / middle[1], 1),
        "ratio": median_of([b / a for a, b in zip(*spent, strict=True)]),
        "same": sum(a == b for a, b in zip(mine, others, strict=True)) / len(texts),
    }


def by_turns(
    ours: Sequence[Callable[[], Any]], theirs: Sequence[Callable[[], Any]]
) -> tuple[list[float], list[Any], list[Any]]:
    """The seconds that each took in all, and what each gave; now the one goes first, now the other."""
    seconds = [0.0, 0.0]
    found: list[list[Any]] = [[], []]
    for number, pair in enumerate(zip(ours, theirs, strict=True)):
        for who in (0, 1) if number % 2 else (1, 0):
            start = time.perf_counter()
            found[who].append(pair[who]())
            seconds[who] += time.perf_counter() - start
    return seconds, found[0], found[1]


def cut(rows: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


if __name__ == "__main__":
    raise SystemExit(main())
