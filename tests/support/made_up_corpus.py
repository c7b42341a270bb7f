"""Two made-up languages, and tokenizers learned from them."""

from __future__ import annotations

import random

from dragoman.config.text import TextConfig
from dragoman.text import build
from dragoman.text.tokenizer import Tokenizer

KINDS = ("bpe", "unigram", "word", "char", "byte")
REVERSIBLE = ("bpe", "unigram", "byte")


def corpus(side: str, lines: int = 400) -> list[str]:
    rng = random.Random(side)
    syllables = {"src": ["mi", "sta", "lo", "ren", "qui"], "tgt": ["über", "schö", "ne", "geh", "ß"]}[side]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(120)]
    return [" ".join(rng.choices(words, k=rng.randint(1, 9))) + rng.choice(".?!") for _ in range(lines)]


def learn(kind: str, size: int = 1200, **settings: object) -> Tokenizer:
    config = TextConfig.model_validate({"kind": kind, "size": size, **settings})
    return build.learn(config, zip(corpus("src"), corpus("tgt"), strict=True)).src
