"""Does a model run away, and is it said? 500 inputs that make models babble, and clean text that must not be
flagged.

    python -m benchmarks.robustness.runaway MODEL [--to en] [--every N] [search.size=1 …]

For each kind of input: how many outputs reached the length limit, how many of them without a flag (none may),
how many loops went on behind the turns that they may have (none may), and which flags were raised. Then the
flags on clean text: on references, where each is false, and on the model's own outputs for Multi30k val,
where one may be right, so those are shown. `--every 10` takes every tenth input only.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from itertools import islice
from pathlib import Path

from benchmarks import corpora
from dragoman.config.load import load as load_config
from dragoman.config.search import SearchConfig
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_lines, open_pairs
from dragoman.inference.find_model import find_model
from dragoman.inference.quality.confidence import calibrate, flags_of
from dragoman.inference.result import Result
from dragoman.inference.runtimes.reproducibility import request_reproducible_mkl
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.models.bundle import Bundle, load_bundle

DATA = corpora.DATA
RANDOM = random.Random(7)
SYLLABLES = ["ag", "ha", "la", "no", "ok", "the", "man", "xyz", "ß", "Woche", "two men", "a dog and"]
LETTERS = "abcdefghijklmnopqrstuvwxyzäöüßéñABCXYZ.,;:!?-_()[]{}<>|/\\\"'#*+=~^%$€@&°…–—"
EMOJI = "😀😂🥰😎🤖👍🏽👨‍👩‍👧‍👦🇩🇪🐶🍕⚽🚲🎉❤️🔥✨🌍☕📚🎸"


def stress(src: str) -> dict[str, list[str]]:
    """500 inputs in six kinds."""
    others = [line for language in ("fr", "cs") for line in lines(language, 50)]
    words = [word for line in lines(src, 300) for word in line.split()]
    return {
        "ag ag ag": [" ".join([RANDOM.choice(SYLLABLES)] * RANDOM.randint(4, 120)) for _ in range(90)],
        "one character": [RANDOM.choice(LETTERS) * RANDOM.choice((1, 1, 1, 5, 40)) for _ in range(80)],
        "digits": ["".join(RANDOM.choices("0123456789  .,-:", k=RANDOM.randint(1, 90))) for _ in range(80)],
        "emoji": ["".join(RANDOM.choices(EMOJI, k=RANDOM.randint(1, 30))) for _ in range(80)],
        "wrong language": others,
        "300 words": [" ".join(RANDOM.choices(words, k=300)) for _ in range(70)],
    }


def lines(language: str, count: int) -> list[str]:
    return list(islice(open_lines(DATA / "multi30k" / f"val.{language}"), count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("settings", nargs="*", metavar="search.…=…")
    parser.add_argument("--to", default="de", choices=("de", "en"))
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    request_reproducible_mkl()
    folder = find_model(args.model)
    bundle = load_bundle(folder)
    search = load_config(folder / "settings.toml", args.settings).search
    src = "en" if args.to == "de" else "de"
    dev = list(open_pairs([DATA / "multi30k" / f"val.{language}" for language in (src, args.to)]))
    learned = bundle.calibration or calibrate(TorchRuntime(bundle), dev[: 200 // args.every])
    translator = TorchRuntime(Bundle(bundle.config, bundle.text, bundle.model, learned))
    print(f"calibrated on {learned.sentences} pairs; muted: {', '.join(learned.muted) or 'none'}\n")
    for kind, inputs in stress(src).items():
        report(translator, kind, inputs[:: args.every], search)
    print("\nflags on references, all of them false")
    false_flags(translator, dev[:: args.every], "multi30k val")
    tatoeba = [
        DATA / "tatoeba-deu-eng" / f"dev.{part}"
        for part in (("eng", "deu") if src == "en" else ("deu", "eng"))
    ]
    false_flags(translator, list(open_pairs(tatoeba))[:: args.every], "tatoeba dev")
    print("\nflags on the model's own outputs for clean text")
    own(translator, dev[:: args.every], search)


def report(translator: TorchRuntime, kind: str, inputs: list[str], search: SearchConfig) -> None:
    start = time.perf_counter()
    results = translator(inputs, search)
    seconds = time.perf_counter() - start
    sources = [list(ids)[: translator.longest_source] for ids in translator.text.src.encode_batch(inputs)]
    limits = [translator.checker.bounded(search, len(ids)).max_length for ids in sources]
    reached = [r for r, limit in zip(results, limits, strict=True) if len(r.tokens) >= limit]
    loops = translator.checker.loops(search)
    cuts = [loops.cut_at(ids, r.tokens) for ids, r in zip(sources, results, strict=True)] if loops else []
    print(
        f"{kind:<15}{len(inputs):>4} inputs {seconds:6.1f} s   at the limit {len(reached):>3}, "
        f"unsaid {sum(not r.flags for r in reached)}   loops that go on {len(cuts) - cuts.count(None)}   "
        f"any flag {sum(bool(r.flags) for r in results):>3}   {counted(results)}"
    )


def counted(results: list[Result]) -> str:
    counts = Counter(flag for result in results for flag in result.flags)
    return ", ".join(f"{flag} {count}" for flag, count in counts.most_common())


def false_flags(translator: TorchRuntime, pairs: list[Pair], name: str) -> None:
    found = [flags_of(translator, pair, translator.checker.limits) for pair in pairs]
    counts = Counter(flag for flags in found for flag in flags)
    share = sum(map(bool, found)) / len(pairs)
    print(f"  {name:<15}{len(pairs):>6,} pairs   {share:.2%}   {dict(counts)}")


def own(translator: TorchRuntime, pairs: list[Pair], search: SearchConfig) -> None:
    results = translator([pair.src for pair in pairs], search)
    flagged = [(pair, result) for pair, result in zip(pairs, results, strict=True) if result.flags]
    print(f"  multi30k val   {len(pairs):>6,} inputs  {len(flagged) / len(pairs):.2%}   {counted(results)}")
    for pair, result in flagged:
        print(f"    {' '.join(result.flags)}\n      {pair.src}\n      {result.text}")


if __name__ == "__main__":
    main()
