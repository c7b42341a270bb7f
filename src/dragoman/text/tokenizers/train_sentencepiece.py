"""Learning a SentencePiece model: the same lines give the same bytes, on any machine."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sentencepiece import SentencePieceTrainer

from dragoman.text.specials import BOS, EOS, PAD, UNK, UNKNOWN
from dragoman.text.tokenizers.sentencepiece import FIRST_LEARNED, MARK

# The trainer's threads sum in an order that depends on their number, so the number is fixed.
THREADS = 4
# The trainer aborts on a word of 65,536 characters and crawls on long repetitive ones.
MAX_LINE_CHARACTERS = 1000
SMALL_ALPHABET = 256
# NUL and U+2585 are the trainer's own marks: it would skip the line.
RESERVED = str.maketrans({"\0": " ", "\u2585": " "})


def train_sentencepiece(lines: Sequence[str], kind: str, size: int) -> bytes:
    """At most `size` entries, but never too few for the specials, the bytes and the alphabet."""
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
    """How many characters the trainer will keep, or a few more: it counts in 32-bit floats."""
    total = characters.total()
    covered = kept = 0
    for _, count in characters.most_common():
        if covered >= coverage * total:
            break
        covered += count
        kept += 1
    return kept + len(MARK) + 8 * (coverage < 1)


def sample(lines: Iterable[str], most: int) -> list[str]:
    """At most `most` lines, each as likely as any other (Vitter 1985, algorithm R), in their order."""
    rng = random.Random(0)
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if number < most:
            kept.append((number, line))
        elif (place := rng.randrange(number + 1)) < most:
            kept[place] = (number, line)
    return [line for _, line in sorted(kept)]
