"""Examples of CTC, whose targets must fit into the frames of their sources. One that does not is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.data.examples import Examples, TokenIds
from dragoman.data.pair import Pair
from dragoman.data.prepare import Encode, Encoded, Skip
from dragoman.losses.ctc_frames import FrameCount, frames_needed, refuse_impossible
from dragoman.text.tokenizer_pair import TokenizerPair

HINT = "Make more frames (model.head.split, or fewer model.src_embedding.halvings), or remove the line."


class Fitting(NamedTuple):
    """Rows of examples, once all of them fit."""

    encode: Encode
    frames: FrameCount

    @property
    def max_length(self) -> int:
        return self.encode.max_length

    def __call__(self, block: Sequence[Pair], text: TokenizerPair) -> Encoded:
        found = self.encode(block, text)
        for src, tgt in found.ids:
            if frames_needed(tgt.tolist()) > self.frames(len(src)):
                lines = [pair.line for pair in block if text.tgt.encode(pair.tgt) == tgt.tolist()]
                where = f"line {lines[0]:,}: {text.tgt.decode(tgt.tolist())[:60]}"
                refuse_impossible(tgt.tolist(), self.frames(len(src)), where=where, hint=HINT)
        return found


@dataclass(frozen=True)
class FittingExamples(Examples):
    """The examples of `of`, which become rows in the same way."""

    of: Examples = field(default_factory=Examples)
    frames: FrameCount = field(default_factory=FrameCount)

    def encode(self, longest: int, skip: Skip | None) -> Encode:
        return Fitting(self.of.encode(longest, skip), self.frames)

    def validation_rows(
        self, pairs: Sequence[Pair], text: TokenizerPair, longest: int
    ) -> list[tuple[Pair, TokenIds]]:
        """Return the usable examples; one that does not fit has no finite loss."""
        rows = self.of.validation_rows(pairs, text, longest)
        return [(p, (src, tgt)) for p, (src, tgt) in rows if frames_needed(tgt) <= self.frames(len(src))]
