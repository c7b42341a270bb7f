"""An external SentencePiece model, with the vocabulary of the network it was trained for.

Its segmentation and normalisation are its own, so it may not be reversible. Pieces that are not in the
vocabulary become <unk>. A leading label such as >>deu<<, which selects the target language of a multilingual
model, is one token if it is in the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor

from dragoman.errors import ModelError
from dragoman.hashing import U64
from dragoman.manifest import Read
from dragoman.text.specials import SPECIALS, UNK, UNKNOWN, check, textual
from dragoman.text.tokenizer import Ids, Row, utf8
from dragoman.text.vocabulary import Vocabulary

MARK = "▁"  # U+2581, how SentencePiece writes a space
ALL_THREADS = -1
LABEL = re.compile(r">>[^\s<>]+<<")
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class ExternalSentencePiece:
    kind = "sentencepiece"

    def __init__(self, model: bytes, entries: Iterable[str] | None = None) -> None:
        """Add `entries` after the specials; by default all pieces of the model."""
        self._model = model
        self._processor = SentencePieceProcessor()
        self._processor.load_from_serialized_proto(model)
        count = self._processor.get_piece_size()
        self.every_piece: list[str] = [self._processor.id_to_piece(id) for id in range(count)]
        plain = [piece for id, piece in enumerate(self.every_piece) if self._is_text(id)]
        self.vocabulary = Vocabulary(plain if entries is None else entries)
        self.size = len(self.vocabulary)
        ids = (self.vocabulary.id(p) if self._is_text(id) else UNK for id, p in enumerate(self.every_piece))
        self._ids = np.fromiter(ids, np.int32)

    def _is_text(self, id: int) -> bool:
        return not (self._processor.is_control(id) or self._processor.is_unknown(id))

    @classmethod
    def read(
        cls, file: Path, entries: Iterable[str] | None = None, read: Read = Path.read_bytes
    ) -> ExternalSentencePiece:
        try:
            return cls(read(file), entries)
        except (OSError, RuntimeError, ValueError):
            raise ModelError(
                "The SentencePiece model cannot be read.",
                where=str(file),
                expected="a .spm or .model file of SentencePiece",
                hint="Check that the file is complete; spm_encode should be able to read it.",
            ) from None

    @classmethod
    def load(cls, folder: Path, name: str, read: Read) -> ExternalSentencePiece:
        entries = Vocabulary.load(folder / f"{name}.json", read).entries[len(SPECIALS) :]
        return cls.read(folder / f"{name}.model", entries, read)

    def save(self, folder: Path, name: str) -> None:
        (folder / f"{name}.model").write_bytes(self._model)
        self.vocabulary.save(folder / f"{name}.json")

    def encode(self, text: str) -> list[int]:
        label, text = self._label(text)
        return [*label, *self._ids[self._processor.encode(utf8(text), out_type=int)].tolist()]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        cut = [self._label(text) for text in texts]
        lines = [utf8(text) for _, text in cut]
        found: list[Ids] = self._processor.encode(lines, return_type="numpy", num_threads=ALL_THREADS)
        return [
            np.concatenate([np.array(label, np.int32), self._ids[ids]])
            for (label, _), ids in zip(cut, found, strict=True)
        ]

    def _label(self, text: str) -> tuple[list[int], str]:
        """Return the id of a leading label, if any, and the rest of the text."""
        found = LABEL.match(text)
        id = self.vocabulary.id(found[0]) if found else UNK
        return ([id], text[found.end() :].lstrip(" ")) if found and id != UNK else ([], text)

    def decode(self, ids: Sequence[int]) -> str:
        line = b"".join(self._written(id) for id in textual(ids, self.size))
        return line.decode(errors="replace").removeprefix(" ")

    def _written(self, id: int) -> bytes:
        """Return the bytes of an entry. SentencePiece cannot decode entries that are not its own pieces."""
        if id in self.byte_of:
            return bytes([self.byte_of[id]])
        return (UNKNOWN if id == UNK else self.piece(id).replace(MARK, " ")).encode()

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        return list(rows)

    def piece(self, id: int) -> str:
        check(id, self.size)
        return self.vocabulary.piece(id)

    @cached_property
    def byte_of(self) -> dict[int, int]:
        """Mapping from the ids of byte entries to their bytes."""
        found = {id: BYTE.fullmatch(piece) for id, piece in enumerate(self.vocabulary.entries)}
        return {id: int(m[1], 16) for id, m in found.items() if m and self._is_byte(m[0])}

    def _is_byte(self, piece: str) -> bool:
        return bool(self._processor.is_byte(self._processor.piece_to_id(piece)))
