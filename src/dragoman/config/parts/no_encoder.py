"""Settings of a network without a source: encoder of kind "none"."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from dragoman.config.parts.part import EncoderPart
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.nn.embedding import Matrix
    from dragoman.protocols import Encoder


class NoEncoderPart(EncoderPart):
    """No encoder: the decoder of a language model reads nothing but its own text."""

    reads_end: ClassVar[bool] = True
    reads_source: ClassVar[bool] = False

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

    def build_encoder(self, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
        raise ConfigError(
            "A model that reads a source needs an encoder.",
            where="model.encoder.kind",
            expected="transformer, rnn, conv or kalchbrenner",
            hint="model.encoder.kind=transformer, or task=lm",
        )
