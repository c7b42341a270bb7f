"""TER against sacreBLEU's: sentences with another number of edits, and seconds for a thousand sentences.

    python benchmarks/ter_speed.py [--sentences 500]

References are German: Multi30k test2016 and newstest2019, the latter also without its short sentences. The
outputs are made from them: words replaced at random, lost and moved; loops of four words, as an undertrained
model writes; other sentences; and words in a random order, of which sacreBLEU gets a tenth.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence

from sacrebleu.metrics.lib_ter import translation_edit_rate

from dragoman.metrics.ter import sentence_edits
from multi30k import DATA

CORPORA = {"multi30k": ("multi30k/test2016.de", 0), "news": ("newstest/newstest2019.deu", 0)}
CORPORA["long news"] = ("newstest/newstest2019.deu", 25)

Words = list[str]
Edits = Callable[[Words, Words], int]


def noisy(line: Words, share: float, vocabulary: Sequence[str], rng: random.Random) -> Words:
    words = [rng.choice(vocabulary) if rng.random() < share else word for word in line]
    words = [word for word in words if rng.random() > share / 4]
    start = rng.randrange(len(words) + 1)
    phrase = words[start : start + 3]
    del words[start : start + 3]
    place = rng.randrange(len(words) + 1)
    return words[:place] + phrase + words[place:]


def kinds(lines: list[Words]) -> Iterator[tuple[str, list[Words]]]:
    rng = random.Random(1)
    vocabulary = [word for line in lines for word in line]
    yield "3 of 10 words wrong", [noisy(line, 0.3, vocabulary, rng) for line in lines]
    yield "8 of 10 words wrong", [noisy(line, 0.8, vocabulary, rng) for line in lines]
    yield "loops", [(line[:4] * len(line))[: rng.randrange(1, 3 * len(line))] for line in lines]
    yield "other sentences", lines[1:] + lines[:1]
    yield "random order", [rng.sample(line, len(line)) for line in lines]


def timed(edits: Edits, outputs: list[Words], references: list[Words]) -> tuple[list[int], float]:
    start = time.process_time()
    found = [edits(*pair) for pair in zip(outputs, references, strict=False)]
    return found, (time.process_time() - start) * 1000 / len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--sentences", type=int, default=500)
    sentences = parser.parse_args().sentences
    print(f"{'corpus':<10} {'outputs':<20} {'sentences':>9} {'differ':>7} {'s/1000':>7} {'sacreBLEU':>10}")
    for name, (file, least) in CORPORA.items():
        text = (DATA.parent / file).read_text(encoding="utf-8")
        lines = [words for line in text.split("\n") if len(words := line.split()) > least][:sentences]
        for kind, outputs in kinds(lines):
            ours, seconds = timed(sentence_edits, outputs, lines)
            some = outputs[: sentences // 10] if kind == "random order" else outputs
            theirs, slow = timed(lambda a, b: translation_edit_rate(a, b)[0], some, lines)
            differ = sum(a != b for a, b in zip(ours, theirs, strict=False))
            print(
                f"{name:<10} {kind:<20} {len(theirs):>9} {differ:>7} {seconds:>7.2f} {slow:>10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
