"""Settings of source and target embeddings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from dragoman.config.section import Rate, Section, Size

Width = Annotated[int, Field(ge=1, le=32)]


class TableEmbeddingPart(Section):
    """An embedding table with one vector per vocabulary entry."""

    kind: Literal["table"] = "table"


class SpellingPart(Section):
    """Settings of convolutions over the characters of words."""

    kind: str
    features: int = Field(default=15, ge=1, description="Character embedding size.")
    widths: tuple[Width, ...] = Field(
        default=(1, 2, 3, 4, 5, 6), min_length=1, description="Filter widths in characters."
    )
    filters: int = Field(
        default=25,
        ge=1,
        description="Filters per character of width: filters of width 3 are 3 times as many.",
    )
    highways: int = Field(default=1, ge=0, le=16, description="Highway layers after the filters.")


class CharacterEmbeddingPart(SpellingPart):
    """Word embeddings computed from characters by convolutions (Kim et al. 2016).

    Similar spellings have similar vectors. The defaults are those of the paper's small model. The side needs
    units of kind "word"; the output layer remains a table.
    """

    kind: Literal["characters"] = "characters"


class SpelledEmbeddingPart(SpellingPart):
    """A row of a table for each word, plus a vector of its characters, for unknown words too.

    For taggers and classifiers; the source needs units of kind "spelled".
    """

    kind: Literal["spelled"] = "spelled"
    word_dropout: Rate = Field(
        default=0.15, description="Rate of words whose row is that of <unk> in training."
    )


class FrameConvolutionsPart(Section):
    """Convolutions over frames of pictures or sounds, which shorten time."""

    channels: tuple[Size, ...] = Field(
        default=(32, 64),
        min_length=1,
        max_length=8,
        description="Channels of each convolution of 3 × 3, which halves the numbers of a frame.",
    )
    halvings: int = Field(
        default=2, ge=0, description="How many of the convolutions, the first ones, also halve the time."
    )

    @property
    def shortening(self) -> int:
        """How many frames become one vector."""
        return int(2**self.halvings)

    @model_validator(mode="after")
    def _layers_halve(self) -> FrameConvolutionsPart:
        if self.halvings > len(self.channels):
            raise ValueError(
                f"halvings is {self.halvings}, but there are {len(self.channels)} convolutions; "
                "list more channels"
            )
        return self


class PooledConvolutionsPart(FrameConvolutionsPart):
    """Convolutions and max-pooling over the columns of a picture, as in CRNN (Shi et al. 2017)."""

    kind: Literal["conv-pool"] = "conv-pool"


class StridedConvolutionsPart(FrameConvolutionsPart):
    """Convolutions of stride 2 over the frames of a sound, as in Speech-Transformer (Dong et al. 2018)."""

    kind: Literal["conv-stride"] = "conv-stride"


class ProjectionPart(Section):
    """A matrix that makes one vector of each frame, for series of numbers."""

    kind: Literal["projection"] = "projection"

    @property
    def shortening(self) -> int:
        return 1


FRAME_DEFAULTS = {"picture": "conv-pool", "sound": "conv-stride", "numbers": "projection"}  # by source
FramePart = PooledConvolutionsPart | StridedConvolutionsPart | ProjectionPart
SourceEmbeddingPart = Annotated[
    TableEmbeddingPart
    | CharacterEmbeddingPart
    | SpelledEmbeddingPart
    | PooledConvolutionsPart
    | StridedConvolutionsPart
    | ProjectionPart,
    Field(discriminator="kind"),
]
EmbeddingPart = Annotated[TableEmbeddingPart | CharacterEmbeddingPart, Field(discriminator="kind")]
