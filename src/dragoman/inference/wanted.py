"""What every runtime can be asked of the outputs: a prefix, and things to keep."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inference.asked import Asked, each, kinds
from dragoman.inference.keeping import Surfaces
from dragoman.inference.outcome import Wishes, segments
from dragoman.text.kept import find_kept
from dragoman.text.lowercase import Lowercase
from dragoman.text.prefix import Prefix


class Wanted:
    """The wishes for a list of texts."""

    def __init__(self, texts: Sequence[str], surfaces: Surfaces, asked: Asked) -> None:
        self.texts = texts
        self.surfaces = surfaces
        self.prefixes = each(asked.get("prefix"), texts)
        self.forbidden: list[str] = []
        self.prefix = Prefix(self.prefixes, surfaces.tgt) if any(self.prefixes) else None
        keep = kinds(asked.get("keep"))
        self.wishes = [Wishes(kept=find_kept(text, keep) if text.strip() else ()) for text in texts]

    def opening(self, place: int) -> int:
        """How many bytes the prefix takes of an output."""
        return self.prefix.openings[place].size(self.surfaces.tgt) if self.prefix else 0

    def may_end(self, tokens: Sequence[int]) -> int:
        """How many tokens of an output that was cut can stand alone."""
        return len(tokens)

    def written(self, place: int, tokens: Sequence[int]) -> list[bytes]:
        """What each token of an output writes."""
        return segments(self.surfaces.tgt, tokens, [], self.opening(place))

    @property
    def is_lower(self) -> bool:
        return isinstance(self.surfaces.tgt.tokenizer, Lowercase)
