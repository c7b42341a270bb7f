"""[model.encoder] and [model.decoder] of kind "transformer"."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.section import Rate, Section


class TransformerPart(Section):
    """One side of a Transformer (Vaswani et al. 2017)."""

    kind: Literal["transformer"] = "transformer"
    layers: int = Field(default=3, ge=1, le=96, description="How many layers.")
    width: int = Field(default=256, ge=2, description="Features of each token: d_model.")
    heads: int = Field(default=4, ge=1, description="Attention heads; they share the width.")
    ffn: int = Field(default=1024, ge=1, description="Inner features of the feed-forward layer.")
    norm: Literal["pre", "post"] = Field(
        default="pre", description="Layer norm before each sub-layer (trains easily) or after it (the paper)."
    )
    activation: Literal["relu", "gelu"] = Field(default="relu", description="Inside the feed-forward layer.")
    positions: Literal["sinusoidal", "learned"] = Field(
        default="sinusoidal", description="How a token knows its place."
    )
    max_positions: int = Field(
        default=1024, ge=2, description="Longest sequence that positions are made for."
    )
    dropout: Rate = Field(
        default=0.1, description="Dropped share of what each sub-layer and the embedding give."
    )
    attention_dropout: Rate | None = Field(
        default=None, description="Dropped attention weights; `dropout` if unset."
    )
    ffn_dropout: Rate | None = Field(default=None, description="Dropped inner features; `dropout` if unset.")

    @property
    def token_features(self) -> int:
        return self.width

    @property
    def memory_features(self) -> int:
        return self.width

    @property
    def features(self) -> int:
        """What the output layer reads, of a decoder."""
        return self.width

    @property
    def longest(self) -> int | None:
        """How many tokens fit in, where there is a limit."""
        return self.max_positions

    @property
    def name(self) -> str:
        return "transformer"

    @property
    def shape(self) -> str:
        return f"width {self.width}, {self.heads} heads"

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> TransformerPart:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} cannot be shared by {self.heads} heads; make it a multiple")
        return self
