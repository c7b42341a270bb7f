"""[model.src_embedding] and [model.tgt_embedding]: how a token becomes a vector."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.section import Section

Width = Annotated[int, Field(ge=1, le=32)]


class TableEmbeddingPart(Section):
    """A vector for each entry of the vocabulary."""

    kind: Literal["table"] = "table"


class CharacterEmbeddingPart(Section):
    """Words made of their characters by convolutions (Kim et al. 2016), so that like spellings are alike.

    The defaults are the paper's small model. Its side needs units of kind "word"; the output stays a table.
    """

    kind: Literal["characters"] = "characters"
    features: int = Field(default=15, ge=1, description="Features of each character.")
    widths: tuple[Width, ...] = Field(
        default=(1, 2, 3, 4, 5, 6), min_length=1, description="Characters that a filter sees at once."
    )
    filters: int = Field(
        default=25,
        ge=1,
        description="Filters for each character of their width: width 3 has 3 times as many.",
    )
    highways: int = Field(default=1, ge=0, le=16, description="Highway layers above the filters.")


EmbeddingPart = Annotated[TableEmbeddingPart | CharacterEmbeddingPart, Field(discriminator="kind")]
