"""Settings of source and target embeddings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.section import Section

Width = Annotated[int, Field(ge=1, le=32)]


class TableEmbeddingPart(Section):
    """An embedding table with one vector per vocabulary entry."""

    kind: Literal["table"] = "table"


class CharacterEmbeddingPart(Section):
    """Word embeddings computed from characters by convolutions (Kim et al. 2016).

    Similar spellings have similar vectors. The defaults are those of the paper's small model. The side needs
    units of kind "word"; the output layer remains a table.
    """

    kind: Literal["characters"] = "characters"
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


EmbeddingPart = Annotated[TableEmbeddingPart | CharacterEmbeddingPart, Field(discriminator="kind")]
