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
    kv_heads: int | None = Field(
        default=None,
        ge=1,
        examples=[2],
        description="Keys and values, shared by groups of heads; one a head if unset.",
    )
    window: int | None = Field(
        default=None,
        ge=1,
        examples=[64],
        description=(
            "How far self-attention sees: this many tokens back, and in an encoder as many ahead; "
            "all of them if unset."
        ),
    )
    norm: Literal["pre", "post"] = Field(
        default="pre", description="The norm before each sub-layer (trains easily) or after it (the paper)."
    )
    norm_kind: Literal["layer", "rms"] = Field(
        default="layer", description="LayerNorm, or RMSNorm, which subtracts no mean."
    )
    norm_eps: float = Field(
        default=1e-5, gt=0, lt=1, description="What a norm adds to the variance, so that none is 0."
    )
    activation: Literal["relu", "gelu", "swish", "swiglu"] = Field(
        default="relu", description="Inside the feed-forward layer; swiglu has a third matrix for its gate."
    )
    positions: Literal["sinusoidal", "learned", "rotary", "relative"] = Field(
        default="sinusoidal",
        description=(
            "How a token knows its place: a vector added to it, queries and keys turned by their place, "
            "or a learned number for each distance added to the scores."
        ),
    )
    max_positions: int = Field(
        default=1024,
        ge=2,
        description="Longest sequence that positions are made for, if not relative.",
    )
    reads_end: bool = Field(
        default=True,
        description="Of an encoder: whether the </s> behind the source is read. Models of OpenNMT do not.",
    )
    dropout: Rate = Field(
        default=0.1, description="Dropped share of what each sub-layer and the embedding give."
    )
    attention_dropout: Rate | None = Field(
        default=None, examples=[0.1], description="Dropped attention weights; `dropout` if unset."
    )
    ffn_dropout: Rate | None = Field(
        default=None, examples=[0.1], description="Dropped inner features; `dropout` if unset."
    )
    layer_drop: Rate = Field(
        default=0.0, description="How often an update leaves a layer out (Fan et al. 2020)."
    )
    stochastic_depth: Rate = Field(
        default=0.0,
        description=(
            "How often a sentence skips a sub-layer of the last layer, less often below (Huang et al. 2016)."
        ),
    )

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
        return None if self.positions == "relative" else self.max_positions

    @property
    def attends(self) -> bool:
        """Whether a decoder of this kind says where it looks."""
        return True

    @property
    def name(self) -> str:
        return "transformer"

    @property
    def shape(self) -> str:
        return f"width {self.width}, {self.heads} heads{f', window {self.window}' if self.window else ''}"

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> TransformerPart:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} cannot be shared by {self.heads} heads; make it a multiple")
        if self.kv_heads and self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads cannot share {self.kv_heads} keys and values; "
                "make kv_heads a divisor of heads"
            )
        return self

    @model_validator(mode="after")
    def _rotary_turns_pairs(self) -> TransformerPart:
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise ValueError(
                f"rotary positions turn pairs of features, and {self.width} / {self.heads} features a head "
                "are odd in number; make width a multiple of 2 × heads"
            )
        return self
