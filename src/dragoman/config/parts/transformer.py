"""Settings of Transformer encoders and decoders: kind "transformer"."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from dragoman.config.parts.part import DecoderPart, EncoderPart
from dragoman.config.section import Rate

if TYPE_CHECKING:
    from dragoman.nn.embedding import Matrix
    from dragoman.protocols import Decoder, Encoder


class TransformerPart(EncoderPart, DecoderPart):
    """A Transformer encoder or decoder (Vaswani et al. 2017)."""

    share_cells: ClassVar[bool] = False

    kind: Literal["transformer"] = "transformer"
    layers: int = Field(default=3, ge=1, le=96, description="Number of layers.")
    width: int = Field(default=256, ge=2, description="Model dimension, d_model.")
    heads: int = Field(default=4, ge=1, description="Attention heads; must divide the width.")
    ffn: int = Field(default=1024, ge=1, description="Inner size of the feed-forward layer.")
    kv_heads: int | None = Field(
        default=None,
        ge=1,
        examples=[2],
        description="Key and value heads (grouped-query attention); as many as `heads` if unset.",
    )
    window: int | None = Field(
        default=None,
        ge=1,
        examples=[64],
        description=(
            "Sliding window of self-attention: this many tokens back and, in an encoder, as many ahead; "
            "unlimited if unset."
        ),
    )
    norm: Literal["pre", "post"] = Field(
        default="pre",
        description="Normalize before each sub-layer (easier to train) or after it (the paper).",
    )
    norm_kind: Literal["layer", "rms"] = Field(
        default="layer", description="LayerNorm, or RMSNorm, which does not subtract the mean."
    )
    norm_eps: float = Field(
        default=1e-5, gt=0, lt=1, description="The ε that normalization adds to the variance."
    )
    activation: Literal["relu", "gelu", "swish", "swiglu"] = Field(
        default="relu",
        description="Activation of the feed-forward layer; swiglu adds a third matrix for its gate.",
    )
    positions: Literal["sinusoidal", "learned", "rotary", "relative"] = Field(
        default="sinusoidal",
        description=(
            "Position encoding: a vector added to the embedding (sinusoidal, learned), rotated queries and "
            "keys (rotary), or a learned bias per distance added to the attention scores (relative)."
        ),
    )
    max_positions: int = Field(
        default=1024,
        ge=2,
        description="Maximum sequence length, unless positions are relative.",
    )
    reads_end: bool = Field(
        default=True,
        description="Whether an encoder reads the </s> after the source; OpenNMT models do not.",
    )
    dropout: Rate = Field(
        default=0.1, description="Dropout rate of the embeddings and of each sub-layer's output."
    )
    attention_dropout: Rate | None = Field(
        default=None, examples=[0.1], description="Dropout rate of attention weights; `dropout` if unset."
    )
    ffn_dropout: Rate | None = Field(
        default=None,
        examples=[0.1],
        description="Dropout rate inside the feed-forward layer; `dropout` if unset.",
    )
    layer_drop: Rate = Field(
        default=0.0, description="Probability that an update skips a layer: LayerDrop (Fan et al. 2020)."
    )
    stochastic_depth: Rate = Field(
        default=0.0,
        description=(
            "Probability that a sentence skips a sub-layer of the last layer; it decreases linearly towards "
            "the first (Huang et al. 2016)."
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
        """The input size of the output layer, for a decoder."""
        return self.width

    @property
    def longest(self) -> int | None:
        """The maximum number of tokens, or None if unlimited."""
        return None if self.positions == "relative" else self.max_positions

    @property
    def attends(self) -> bool:
        """Whether a decoder of this kind has attention."""
        return True

    @property
    def name(self) -> str:
        return "transformer"

    @property
    def shape(self) -> str:
        return f"width {self.width}, {self.heads} heads{f', window {self.window}' if self.window else ''}"

    def build_encoder(self, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
        from dragoman.models.builders import transformer

        return transformer.build_encoder(self, matrix)

    def build_decoder(self, matrix: Matrix, memory: int) -> Decoder:
        from dragoman.models.builders import transformer

        return transformer.build_decoder(self, matrix, memory)

    def build_causal(self, matrix: Matrix) -> Decoder:
        from dragoman.models.builders import transformer

        return transformer.build_causal(self, matrix)

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> TransformerPart:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; make it a multiple")
        if self.kv_heads and self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads cannot share {self.kv_heads} key and value heads; "
                "make kv_heads a divisor of heads"
            )
        return self

    @model_validator(mode="after")
    def _rotary_rotates_pairs(self) -> TransformerPart:
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise ValueError(
                f"rotary positions rotate pairs of features, but {self.width} / {self.heads} features per "
                "head is an odd number; make width a multiple of 2 × heads"
            )
        return self
