"""[model]: which encoder, which decoder, how wide."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from dragoman.config.parts.convolution import ConvPart, KalchbrennerPart
from dragoman.config.parts.recurrent import RNNDecoderPart, RNNEncoderPart
from dragoman.config.parts.transformer import TransformerPart
from dragoman.config.section import Section

# Scores without a matrix between query and memory.
EQUALLY_WIDE = ("dot", "scaled-dot", "cosine")

EncoderPart = Annotated[
    TransformerPart | RNNEncoderPart | ConvPart | KalchbrennerPart, Field(discriminator="kind")
]
DecoderPart = Annotated[TransformerPart | RNNDecoderPart | ConvPart, Field(discriminator="kind")]


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

    @model_validator(mode="after")
    def _products_need_equal_widths(self) -> ModelConfig:
        decoder = self.decoder
        if not isinstance(decoder, RNNDecoderPart) or not decoder.attends:
            return self
        memory = self.encoder.memory_features
        if decoder.attention in EQUALLY_WIDE and decoder.query_features != memory:
            raise ValueError(
                f"{decoder.attention} attention multiplies a decoder state of {decoder.query_features} "
                f"features with encoder states of {memory}; set decoder.width = {memory}, "
                'or decoder.attention = "multiplicative", which has a matrix between them'
            )
        return self

    @model_validator(mode="after")
    def _decoder_takes_the_encoder(self) -> ModelConfig:
        if isinstance(self.decoder, RNNDecoderPart):
            self.decoder.refuse(self.encoder)
        return self
