"""SentencePiece: the common base of BPE and unigram. It is reversible; text never encodes to a special id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor

from dragoman.cores import openmp_threads
from dragoman.errors import ModelError
from dragoman.hashing import U64
from dragoman.manifest import Read
from dragoman.text.specials import BOS, EOS, PAD, SPECIALS, UNK, check, textual
from dragoman.text.tokenizer import Ids, Row, utf8
from dragoman.text.tokenizers.sentencepiece_proto import with_pieces
from dragoman.text.tokenizers.words import Redrawn, Words

MARK = "▁"  # U+2581, how SentencePiece writes a space; a word begins with it
PRIVATE_USE = range(0xE000, 0xF900)  # three bytes each in UTF-8, as U+2581
ALL_THREADS = -1
MIN_BATCH_LINES = 8  # lines
FIRST_BYTE = len(SPECIALS)
FIRST_LEARNED = FIRST_BYTE + 256  # below: the specials, then the 256 bytes


class SentencePiece:
    kind: str

    def __init__(self, model: bytes, rate: float = 0.0) -> None:
        """`rate` is the strength of `resegment`, as defined by the kind."""
        self._model = model
        self._rate = rate
        self._processor = SentencePieceProcessor()
        self._processor.load_from_serialized_proto(model)
        self.size: int = self._processor.get_piece_size()
        self._pieces: list[str] = [self._processor.id_to_piece(id) for id in range(self.size)]

    @classmethod
    def load(cls, folder: Path, name: str, rate: float, read: Read) -> SentencePiece:
        file = folder / f"{name}.model"
        try:
            tokenizer = cls(read(file), rate)
        except (OSError, RuntimeError, ValueError):
            raise _damaged(file, "The SentencePiece model cannot be read.") from None
        if not tokenizer._is_ours():
            raise _damaged(file, "This SentencePiece model was not trained by Dragoman.")
        return tokenizer

    def _is_ours(self) -> bool:
        processor = self._processor
        specials = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if specials != (PAD, UNK, BOS, EOS) or self.size < FIRST_LEARNED:
            return False
        if not all(processor.is_byte(id) for id in range(FIRST_BYTE, FIRST_LEARNED)):
            return False
        learned = self._pieces[FIRST_LEARNED:]
        if not set("".join(learned)) <= set(learned):
            return False
        probe = " Two  spaces,\ta tab and a ﬁ. "
        return self.decode(self.encode(probe)) == probe == self.decode(_spell(utf8(probe)))

    def save(self, folder: Path, name: str) -> None:
        (folder / f"{name}.model").write_bytes(self._model)

    def encode(self, text: str) -> list[int]:
        line = utf8(text)
        if MARK in text:
            return self._encode_mark(text)
        ids: list[int] = self._processor.encode(line, out_type=int)
        return ids

    def _encode_mark(self, text: str) -> list[int]:
        """Return the ids of a line with U+2581, which is spelled as bytes: as a piece it would be a space.

        A character that is in neither the line nor the vocabulary is encoded in its place, as bytes, too.
        """
        taken = {*text, *"".join(self._pieces)}
        other = next(character for character in map(chr, PRIVATE_USE) if character not in taken)
        mark, found = _spell(utf8(MARK)), _spell(utf8(other))
        ids: list[int] = self._processor.encode(utf8(text.replace(MARK, other)), out_type=int)
        for at in range(len(ids) - len(found) + 1):
            if ids[at : at + len(found)] == found:
                ids[at : at + len(found)] = mark
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        if len(texts) <= MIN_BATCH_LINES:  # starting and joining threads would take as long
            return [np.array(self.encode(text), np.int32) for text in texts]
        lines = [utf8(text) for text in texts]
        threads = openmp_threads() or ALL_THREADS
        ids: list[Ids] = self._processor.encode(lines, return_type="numpy", num_threads=threads)
        for place, text in enumerate(texts):
            if MARK in text:
                ids[place] = np.array(self._encode_mark(text), np.int32)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._processor.decode(textual(ids, self.size))
        return text

    def piece(self, id: int) -> str:
        check(id, self.size)
        return self._pieces[id]

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        """Return another segmentation of each line, word by word.

        SentencePiece's own sampling draws from a generator shared by the whole process.
        """
        if self._rate == 0 or not any(len(row) for row in rows):
            return list(rows)
        words = Words.of(rows, keys, self._starts_word, self._ends_word)
        return words.replaced(self._redraw(words))

    @cached_property
    def _starts_word(self) -> NDArray[np.bool_]:
        """For each entry, whether a word starts with it. Bytes and specials are words of their own."""
        return np.array([id < FIRST_LEARNED or p.startswith(MARK) for id, p in enumerate(self._pieces)])

    @cached_property
    def _ends_word(self) -> NDArray[np.bool_]:
        return np.arange(self.size) < FIRST_LEARNED

    def _redraw(self, words: Words) -> Redrawn:
        """Draw new segmentations of some of the words."""
        raise NotImplementedError

    def trimmed(self, used: Iterable[int]) -> tuple[SentencePiece, list[int]]:
        """Return a tokenizer with only the entries that `used` needs, and their old ids in the new order.

        Bytes and single characters are kept, so that every text can still be encoded.
        """
        kept = {id for id, piece in enumerate(self._pieces) if id < FIRST_LEARNED or len(piece) == 1}
        for id in used:
            kept |= {id} | (self._parts(id) if id >= FIRST_LEARNED else set())
        ids = sorted(kept)
        return type(self)(with_pieces(self._model, ids), self._rate), ids

    def _parts(self, id: int) -> set[int]:
        """Return the entries without which the learned entry `id` cannot be produced."""
        return set()


def _spell(line: bytes) -> list[int]:
    return [FIRST_BYTE + byte for byte in line]


def _damaged(file: Path, what: str) -> ModelError:
    return ModelError(
        what,
        where=str(file),
        expected="the file that was written next to text.json",
        hint="Copy the complete model folder again.",
    )
