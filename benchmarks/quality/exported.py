"""Exports beside their models: the same outputs and scores on a test set, the cost of int8; a line of JSON.

    python -m benchmarks.quality.exported MODEL test.src test.tgt [--lines N] [--lowercase]

The model is exported to CTranslate2 as float32 and as int8. Torch, by `dragoman.load`, and CTranslate2
translate the test set, greedily and with a beam of 5, to 100 tokens at most and without the runaway guard.
Outputs that differ are listed with both scores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dragoman.config.search import SearchConfig
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.export.ct2 import export_ct2
from dragoman.inference.model import Model, load
from dragoman.inference.runtimes.ct2 import CTranslate2Engine
from dragoman.metrics.report import values
from dragoman.search.hypothesis import Hypothesis

# The guard is not the export's: each runtime has it around its engine.
PLAIN: dict[str, Any] = {"guard": False, "max_length": 100}
SEARCHES = {"greedy": SearchConfig(kind="greedy", **PLAIN), "beam 5": SearchConfig(size=5, **PLAIN)}
LEAST = {"greedy": 1.0, "beam 5": 0.995}
SCORE, BLEU = 1e-4, 0.3


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("test", nargs="+", help="two aligned files, or one .tsv or .jsonl")
    parser.add_argument("--lines", type=int, help="only so many (default: all)")
    parser.add_argument("--lowercase", action="store_true", help="capitals do not count")
    args = parser.parse_args()
    pairs = list(open_pairs(args.test))[: args.lines]
    model = load(args.model, runtime="torch")
    with tempfile.TemporaryDirectory() as home:
        folders = {kind: Path(home) / kind for kind in ("float32", "int8")}
        export_ct2(args.model, folders["float32"], "float32")
        export_ct2(args.model, folders["int8"], "int8")
        decoders = {
            kind: CTranslate2Engine(folder, model.translator.text) for kind, folder in folders.items()
        }
        found = {
            name: compared(model, decoders, pairs, search, args.lowercase)
            for name, search in SEARCHES.items()
        }
    print(json.dumps({"benchmark": "exported", "model": args.model, "sentences": len(pairs), **found}))
    good = all(
        result["same"] >= LEAST[name] * len(pairs)
        and result["worst_score"] <= SCORE
        and result["bleu"]["torch"] - result["bleu"]["int8"] <= BLEU
        for name, result in found.items()
    )
    return int(not good)


def compared(
    model: Model,
    decoders: dict[str, CTranslate2Engine],
    pairs: list[Pair],
    search: SearchConfig,
    lowercase: bool,
) -> dict[str, Any]:
    sources, references = [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    text = model.translator.text
    seconds, start = {}, time.perf_counter()
    ours = model(sources, search)
    seconds["torch"] = time.perf_counter() - start
    ids = [list(row) for row in text.src.encode_batch(sources)]
    outputs, theirs = {"torch": [result.text for result in ours]}, list[Hypothesis]()
    for kind, decoder in decoders.items():
        start = time.perf_counter()
        found = [best[0] for best in decoder.search(ids, search)]
        seconds[kind] = time.perf_counter() - start
        outputs[kind] = [text.tgt.decode(hypothesis.tokens) for hypothesis in found]
        theirs = found if kind == "float32" else theirs
    both = list(zip(sources, ours, theirs, strict=True))
    same = [abs(mine.score - his.score) for _, mine, his in both if mine.tokens == his.tokens]
    differences = [
        {"source": source, "torch": [mine.text, mine.score], "ct2": [text.tgt.decode(his.tokens), his.score]}
        for source, mine, his in both
        if mine.tokens != his.tokens
    ]
    bleu = {kind: values(texts, references, lowercase=lowercase)["bleu"] for kind, texts in outputs.items()}
    return {
        "same": len(same),
        "worst_score": max(same, default=0.0),
        "bleu": bleu,
        "seconds": {kind: round(value, 1) for kind, value in seconds.items()},
        "differences": differences,
    }


if __name__ == "__main__":
    sys.exit(main())
