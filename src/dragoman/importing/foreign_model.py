"""The result of an importer, and the conversion of foreign weights and vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.importing.files import read_pieces, refusal
from dragoman.text.specials import EOS, SPECIALS, UNK
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.external_sentencepiece import ExternalSentencePiece

NEVER = -1e4  # the logit of an entry that the foreign model does not have, with probability 0
LONGEST = 4096  # number of positions to write
UNKNOWN_DATA = "not-known.tsv"  # placeholder for the unknown training data


class ForeignModel(NamedTuple):
    maker: str  # "Marian"
    settings: dict[str, Any]  # as in a settings file
    text: TokenizerPair
    weights: dict[str, Tensor]
    notes: tuple[str, ...] = ()  # what is not as in the foreign model


class Weights:
    """Foreign arrays by name. Arrays that are never taken have no counterpart in our model."""

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]], file: str) -> None:
        self._left = dict(arrays)
        self._file = file

    def has(self, name: str) -> bool:
        return name in self._left

    def take(self, name: str, axes: int | None = None) -> Tensor:
        """Remove and return an array, optionally checking its number of axes."""
        if name not in self._left:
            raise refusal([f"no weights named {name}"], self._file)
        found = self._left.pop(name)
        if axes is not None and found.ndim != axes:
            raise refusal([f"{name} has {found.ndim} axes instead of {axes}"], self._file)
        return torch.from_numpy(np.array(found, dtype=np.float32))

    def stacked(self, parts: Sequence[Tensor], name: str) -> Tensor:
        """Concatenate matrices or biases along the first axis."""
        if len({part.shape[1:] for part in parts}) > 1:
            raise refusal([f"matrices of different widths in {name}"], self._file)
        return torch.cat([*parts])

    def refuse_rest(self) -> None:
        if self._left:
            names = sorted(self._left)
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            raise refusal([f"weights without a counterpart in our Transformer: {shown}"], self._file)


class Entries:
    """The mapping of a foreign vocabulary to our order: special tokens, then all others."""

    def __init__(self, names: Sequence[str], specials: Mapping[int, str], file: str) -> None:
        """`specials` maps our PAD, UNK, BOS and EOS to foreign entries; those not named have no row."""
        places = {name: place for place, name in enumerate(names)}
        missing = [specials[id] for id in (UNK, EOS) if specials[id] not in places]
        if missing:
            raise refusal([f"no {missing[0]} in the vocabulary"], file)
        if len(places) < len(names):
            raise refusal(["a duplicate entry in the vocabulary"], file)
        if any("\ud800" <= character <= "\udfff" for character in "".join(names)):
            raise refusal(["a lone surrogate in the vocabulary"], file)
        head = [places.get(specials.get(id, "")) for id in range(len(SPECIALS))]
        rest = [place for place in range(len(names)) if place not in head]
        self.order: list[int | None] = [*head, *rest]
        self.others = [names[place] for place in rest]
        self.count = len(names)

    def rows(self, matrix: Tensor, fill: float = 0.0) -> Tensor:
        """Reorder the rows of a matrix or the elements of a bias; entries without a row are set to `fill`."""
        if len(matrix) != self.count:
            what = f"{len(matrix):,} rows of weights for {self.count:,} entries of the vocabulary"
            raise refusal([what], "the vocabulary")
        out = torch.full((len(self.order), *matrix.shape[1:]), fill)
        there = torch.tensor([place is not None for place in self.order])
        out[there] = matrix[torch.tensor([place for place in self.order if place is not None])]
        return out


def text_of(pieces: tuple[Path, Path], src: Entries, tgt: Entries) -> TokenizerPair:
    """Return two tokenizers, even for a joint vocabulary, since each side has its own segmentation."""
    source, target = pieces
    cut_source, cut_target = (
        ExternalSentencePiece.read(file, names.others, read_pieces)
        for file, names in ((source, src), (target, tgt))
    )
    return TokenizerPair(cut_source, cut_target, joint=False)


def units(pieces: tuple[Path, Path]) -> dict[str, Any]:
    """Return the [text] settings of both sides."""
    sides = zip(("src", "tgt"), pieces, strict=True)
    return {side: {"kind": "sentencepiece", "file": str(file)} for side, file in sides}


def is_size(value: object) -> bool:
    """Return whether the value is an integer of at least 1; True is not."""
    return type(value) is int and value > 0
