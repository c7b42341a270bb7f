"""Training of SentencePiece models, and the sample of lines they are trained on: the same bytes anywhere."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TypeVar

from sentencepiece import SentencePieceTrainer

from dragoman.text.specials import BOS, EOS, PAD, UNK, UNKNOWN
from dragoman.text.tokenizers.sentencepiece import FIRST_LEARNED, MARK

T = TypeVar("T")

# The order of summation in the trainer depends on the number of threads, so the number is fixed.
THREADS = 4
# The trainer aborts on a word of 65,536 characters and is very slow on long repetitive ones.
MAX_LINE_CHARACTERS = 1000
SMALL_ALPHABET = 256
# The trainer uses NUL and U+2585 internally and would skip the line.
RESERVED = str.maketrans({"\0": " ", "\u2585": " "})


def train_sentencepiece(lines: Sequence[str], kind: str, size: int) -> bytes:
    """Train a model of at most `size` entries, or as many as specials, bytes and the alphabet need."""
    characters = Counter[str]()
    for part in _parts(lines):
        characters.update(part)
    coverage = 1.0 if len(characters) <= SMALL_ALPHABET else 0.9995
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=_parts(lines),
        model_writer=model,
        model_type=kind,
        vocab_size=max(size, FIRST_LEARNED + _alphabet(characters, coverage)),
        hard_vocab_limit=False,
        character_coverage=coverage,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=True,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        unk_surface=UNKNOWN,
        max_sentence_length=8 * MAX_LINE_CHARACTERS,
        num_threads=THREADS,
        minloglevel=2,
    )
    return model.getvalue()


def _parts(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        for start in range(0, len(line), MAX_LINE_CHARACTERS):
            yield line[start : start + MAX_LINE_CHARACTERS].translate(RESERVED)


def _alphabet(characters: Counter[str], coverage: float) -> int:
    """Return an upper bound on the characters the trainer keeps, since it counts in 32-bit floats."""
    total = characters.total()
    covered = kept = 0
    for _, count in characters.most_common():
        if covered >= coverage * total:
            break
        covered += count
        kept += 1
    return kept + len(MARK) + 8 * (coverage < 1)


def sample(items: Iterable[T], most: int) -> list[T]:
    """Return a uniform sample of at most `most` items (Vitter 1985, algorithm R), in their original order."""
    rng = random.Random(0)
    kept: list[tuple[int, T]] = []
    for number, item in enumerate(items):
        if number < most:
            kept.append((number, item))
        elif (place := rng.randrange(number + 1)) < most:
            kept[place] = (number, item)
    return [item for _, item in sorted(kept, key=itemgetter(0))]
