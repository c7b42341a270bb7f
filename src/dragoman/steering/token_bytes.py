"""The bytes that each entry of a vocabulary writes, on which the constraints on outputs operate."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from dragoman.text.specials import EOS, UNK, UNKNOWN
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.tokenizers.byte import OFFSET
from dragoman.text.tokenizers.external_sentencepiece import ExternalSentencePiece
from dragoman.text.tokenizers.lowercase import Lowercase
from dragoman.text.tokenizers.sentencepiece import FIRST_BYTE, FIRST_LEARNED, MARK

SPACE = b" "


class TokenBytes:
    """The bytes of each entry of a vocabulary.

    `opens`: entries include the space before them, and the first one of a line drops it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.opens = tokenizer.kind not in ("char", "byte")
        self.pieces = tuple(token_bytes(tokenizer, id) for id in range(tokenizer.size))

    def spell(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of `Tokenizer.decode`, before invalid UTF-8 is replaced."""
        line = [id for id in ids if self.pieces[id]]
        first = self.pieces[line[0]] if line else b""
        if self.opens and line and line[0] not in self.raw:
            first = first.removeprefix(SPACE)
        return first + b"".join(self.pieces[id] for id in line[1:])

    def read(self, line: bytes) -> str:
        """Return the text of a line; invalid UTF-8 becomes U+FFFD, one per byte with SentencePiece."""
        if self.tokenizer.kind not in ("bpe", "unigram", "sentencepiece"):
            return line.decode(errors="replace")
        text = ""
        while line:
            try:
                return text + line.decode()
            except UnicodeDecodeError as error:
                text += line[: error.start].decode() + "\ufffd" * (error.end - error.start)
                line = line[error.end :]
        return text

    @cached_property
    def raw(self) -> frozenset[int]:
        """Entries of a single byte; at the start of a line they keep a space."""
        match self.tokenizer.kind:
            case "bpe" | "unigram":
                return frozenset(range(FIRST_BYTE, FIRST_LEARNED))
            case "byte":
                return frozenset(range(OFFSET, OFFSET + 256))
            case "sentencepiece":
                return frozenset(external(self.tokenizer).byte_of)
        return frozenset()

    @cached_property
    def _sorted(self) -> list[tuple[bytes, int]]:
        """Sorted entries, without <unk>, and without the raw space if entries include their space."""
        left_out = {UNK} | {id for id in self.raw if self.opens and self.pieces[id] == SPACE}
        return sorted((piece, id) for id, piece in enumerate(self.pieces) if piece and id not in left_out)

    @cached_property
    def ids(self) -> dict[bytes, list[int]]:
        """The entries that write exactly these bytes."""
        found: dict[bytes, list[int]] = defaultdict(list)
        for piece, id in self._sorted:
            found[piece].append(id)
        return dict(found)

    def beginning_with(self, start: bytes) -> list[int]:
        """Return the entries that write `start` and possibly more."""
        found = []
        for piece, id in self._sorted[bisect_left(self._sorted, (start, -1)) :]:
            if not piece.startswith(start):
                break
            found.append(id)
        return found

    def longest_pieces(self, text: bytes) -> list[int]:
        """Split `text` from left to right into the longest entries; <unk> where there is none."""
        ids: list[int] = []
        while text:
            cut = next((n for n in range(len(text), 0, -1) if text[:n] in self.ids), 0)
            ids.append(self.ids[text[:cut]][-1] if cut else UNK)
            text = text[cut:] if cut else text.decode(errors="replace")[1:].encode()
        return ids


def token_bytes(tokenizer: Tokenizer, id: int) -> bytes:
    """Return what entry `id` writes in the middle of a line; nothing for <pad>, <s> and </s>."""
    space = SPACE if tokenizer.kind == "word" else b""
    if id == UNK:
        return space + UNKNOWN.encode()
    if id <= EOS:
        return b""
    match tokenizer.kind:
        case "byte":
            return bytes([id - OFFSET])
        case "bpe" | "unigram" if id < FIRST_LEARNED:
            return bytes([id - FIRST_BYTE])
        case "sentencepiece" if id in external(tokenizer).byte_of:
            return bytes([external(tokenizer).byte_of[id]])
        case "bpe" | "unigram" | "sentencepiece":
            return tokenizer.piece(id).replace(MARK, " ").encode()
    return space + tokenizer.piece(id).encode()


def external(tokenizer: Tokenizer) -> ExternalSentencePiece:
    inner = tokenizer.inner if isinstance(tokenizer, Lowercase) else tokenizer
    assert isinstance(inner, ExternalSentencePiece)
    return inner
