"""[model.encoder] and [model.decoder] of kind "rnn"."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.config.section import Rate, Section


class RNNEncoderPart(Section):
    """A recurrent encoder, read from both sides by default."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["lstm", "gru"] = Field(default="lstm", description="The recurrent cell.")
    layers: int = Field(default=1, ge=1, le=32, description="How many layers.")
    width: int = Field(default=256, ge=1, description="Features of the state, per direction.")
    embedding: int = Field(default=256, ge=1, description="Features of each token's embedding.")
    bidirectional: bool = Field(default=True, description="Read from the right as well.")
    dropout: Rate = Field(default=0.2, description="Dropped share of embeddings and of each layer's output.")

    @property
    def token_features(self) -> int:
        return self.embedding

    @property
    def memory_features(self) -> int:
        return self.width * 2 if self.bidirectional else self.width

    @property
    def longest(self) -> int | None:
        return None

    @property
    def name(self) -> str:
        return self.cell

    @property
    def shape(self) -> str:
        return f"width {self.width}{', two-way' if self.bidirectional else ''}"


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

    @property
    def token_features(self) -> int:
        return self.embedding

    @property
    def features(self) -> int:
        """What the output layer reads: h̃."""
        return self.embedding

    @property
    def longest(self) -> int | None:
        return None

    @property
    def name(self) -> str:
        return self.cell

    @property
    def shape(self) -> str:
        return f"width {self.width}, {self.attention} attention"
