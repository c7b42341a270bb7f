"""[model]: which encoder, which decoder, how wide."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from dragoman.config.section import Section

Rate = Annotated[float, Field(ge=0.0, lt=1.0)]


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

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> TransformerPart:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} cannot be shared by {self.heads} heads; make it a multiple")
        return self


class RNNEncoderPart(Section):
    """A recurrent encoder, read from both sides by default."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["lstm", "gru"] = Field(default="lstm", description="The recurrent cell.")
    layers: int = Field(default=1, ge=1, le=32, description="How many layers.")
    width: int = Field(default=256, ge=1, description="Features of the state, per direction.")
    embedding: int = Field(default=256, ge=1, description="Features of each token's embedding.")
    bidirectional: bool = Field(default=True, description="Read from the right as well.")
    dropout: Rate = Field(default=0.2, description="Dropped share of embeddings and of each layer's output.")


class RNNDecoderPart(Section):
    """A recurrent decoder with attention (Bahdanau et al. 2015, Luong et al. 2015)."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["lstm", "gru"] = Field(default="lstm", description="The recurrent cell.")
    layers: int = Field(default=1, ge=1, le=32, description="How many layers.")
    width: int = Field(default=256, ge=1, description="Features of the state.")
    embedding: int = Field(default=256, ge=1, description="Features of each token's embedding.")
    attention: Literal["additive", "multiplicative"] = Field(
        default="multiplicative", description="The score of a source state: vᵀ tanh(W₁h + W₂s), or sᵀWh."
    )
    input_feeding: bool = Field(default=True, description="The attentional vector also enters the next step.")
    dropout: Rate = Field(default=0.2, description="Dropped share of embeddings, layer outputs and h̃.")


EncoderPart = Annotated[TransformerPart | RNNEncoderPart, Field(discriminator="kind")]
DecoderPart = Annotated[TransformerPart | RNNDecoderPart, Field(discriminator="kind")]


class ModelConfig(Section):
    preset: str = Field(default="transformer-small", description="A named size; any field below changes it.")
    encoder: EncoderPart = Field(default=TransformerPart(), description="What reads the source.")
    decoder: DecoderPart = Field(default=TransformerPart(), description="What writes the target.")
    tied: Literal["all", "target", "none"] = Field(
        default="all",
        description=(
            "Embeddings shared by source, target and output (joint vocabulary), by target and output, or not."
        ),
    )
