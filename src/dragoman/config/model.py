"""[model]: which encoder, which decoder, how wide."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.parts.convolution import ConvPart, KalchbrennerPart
from dragoman.config.parts.recurrent import RNNDecoderPart, RNNEncoderPart
from dragoman.config.parts.transformer import TransformerPart
from dragoman.config.section import Section

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
