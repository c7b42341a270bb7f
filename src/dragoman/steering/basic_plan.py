"""Constraints on outputs that every runtime supports: prefixes and placeholders."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.steering.forced_prefix import ForcedPrefix
from dragoman.steering.options import SteeringOptions, one_per_text, placeholder_kinds
from dragoman.steering.placeholders import find_placeholders
from dragoman.steering.reinsertion import TokenBytesPair, Wanted
from dragoman.steering.report import SteeringRequest, token_texts
from dragoman.text.tokenizers.lowercase import Lowercase


class BasicPlan:
    """The constraints on the outputs of a list of texts."""

    def __init__(self, texts: Sequence[str], surfaces: TokenBytesPair, options: SteeringOptions) -> None:
        self.texts = texts
        self.surfaces = surfaces
        self.prefixes = one_per_text(options.get("prefix"), texts)
        self.forbidden: list[str] = []
        self.prefix = ForcedPrefix(self.prefixes, surfaces.tgt) if any(self.prefixes) else None
        self.keep = keep = placeholder_kinds(options.get("keep"))
        self.requests = [
            SteeringRequest(kept=find_placeholders(text, keep) if text.strip() else ()) for text in texts
        ]

    def opening(self, index: int) -> int:
        """Return how many bytes of an output the prefix takes."""
        return self.prefix.openings[index].size(self.surfaces.tgt) if self.prefix else 0

    def wanted(self, index: int) -> Wanted:
        """Return which placeholders an output must have."""
        request = self.requests[index]
        forms = [form.text for constraint in request.constraints for form in constraint.forms]
        terms = {one.literal for form in forms for one in find_placeholders(form, self.keep)}
        return Wanted(self.texts[index], request.kept, self.keep, terms, self.prefixes[index])

    def may_end(self, tokens: Sequence[int]) -> int:
        """Return how many tokens of a cut output remain."""
        return len(tokens)

    def written(self, index: int, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes that each token of an output writes."""
        return token_texts(self.surfaces.tgt, tokens, [], self.opening(index))

    @property
    def is_lower(self) -> bool:
        return isinstance(self.surfaces.tgt.tokenizer, Lowercase)
