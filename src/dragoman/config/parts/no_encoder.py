"""Settings of a network without a source: encoder of kind "none"."""

from __future__ import annotations

from typing import Literal

from dragoman.config.section import Section


class NoEncoderPart(Section):
    """No encoder: the decoder of a language model reads nothing but its own text."""

    kind: Literal["none"] = "none"

    @property
    def layers(self) -> int:
        return 0

    @property
    def token_features(self) -> int:
        return 0

    @property
    def memory_features(self) -> int:
        return 0

    @property
    def longest(self) -> int | None:
        return None

    @property
    def name(self) -> str:
        return "no"

    @property
    def shape(self) -> str:
        return "no source"
