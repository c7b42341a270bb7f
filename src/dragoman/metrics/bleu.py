"""BLEU (Papineni et al. 2002), by sacreBLEU, over tokens that suit the script of the references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice

from sacrebleu.metrics.bleu import BLEU

from dragoman.metrics.corpus_score import CorpusScore
from dragoman.metrics.sacrebleu_bootstrap import corpus_score
from dragoman.text.running_words import HAN, KANA, SOUTH_EAST_ASIAN, character_class

SCRIPTS = [re.compile(f"[{character_class(*script)}]") for script in (HAN, KANA, SOUTH_EAST_ASIAN)]
LETTER = re.compile(r"[^\W\d_]")
MOST_LINES = 200  # that are looked at


def metric(references: Sequence[str] = (), *, lowercase: bool = False) -> BLEU:
    # force: no warning on stderr about tokenised periods
    return BLEU(lowercase=lowercase, tokenize=tokenizer_of(references), force=True)


def tokenizer_of(references: Sequence[str]) -> str:
    """Return sacreBLEU's tokenizer of a script that has no spaces; "13a" for the others.

    Without MeCab, which sacreBLEU uses for Japanese, characters are the tokens, as for Thai.
    """
    text = "".join(islice(references, MOST_LINES))
    letters, han, kana, others = (len(found.findall(text)) for found in (LETTER, *SCRIPTS))
    if 2 * (han + kana) > letters:
        if 20 * kana < han:
            return "zh"
        return "ja-mecab" if find_spec("MeCab") else "char"
    return "char" if 2 * others > letters else "13a"


def bleu(hypotheses: Sequence[str], *references: Sequence[str], lowercase: bool = False) -> CorpusScore:
    """Return BLEU, from 0 to 100, with sacreBLEU's signature."""
    return corpus_score(metric(references[0], lowercase=lowercase), hypotheses, *references)
