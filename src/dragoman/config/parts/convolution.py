"""Settings of convolutional encoders and decoders: kinds "conv" and "kalchbrenner"."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from dragoman.config.parts.part import DecoderPart, EncoderPart
from dragoman.config.section import Rate, Size
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.nn.embedding import Matrix
    from dragoman.protocols import Decoder, Encoder


class ConvPart(EncoderPart, DecoderPart):
    """A ConvS2S encoder or decoder (Gehring et al. 2017)."""

    reads_end: ClassVar[bool] = True
    share_cells: ClassVar[bool] = False

    kind: Literal["conv"] = "conv"
    layers: int = Field(default=3, ge=1, le=96, description="Number of blocks.")
    width: tuple[Size, ...] = Field(
        default=(256,), description="Features of a block: one number for all blocks, or one per block."
    )
    kernel: tuple[Size, ...] = Field(
        default=(3,), description="Kernel width in tokens: one number for all blocks, or one per block."
    )
    embedding: int = Field(default=256, ge=1, description="Embedding size.")
    dropout: Rate = Field(
        default=0.2, description="Dropout rate of embeddings, of each block's input and of the output."
    )
    max_positions: int = Field(
        default=1024, ge=2, description="Maximum sequence length, the number of position embeddings."
    )

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each block."""
        return self.width * self.layers if len(self.width) == 1 else self.width

    @property
    def kernels(self) -> tuple[int, ...]:
        return self.kernel * self.layers if len(self.kernel) == 1 else self.kernel

    @property
    def token_features(self) -> int:
        return self.embedding

    @property
    def features(self) -> int:
        """The input size of the output layer."""
        return self.embedding

    @property
    def memory_features(self) -> int:
        return self.embedding

    @property
    def longest(self) -> int | None:
        return self.max_positions

    @property
    def attends(self) -> bool:
        """Whether a decoder of this kind has attention."""
        return True

    @property
    def name(self) -> str:
        return "conv"

    @property
    def shape(self) -> str:
        return f"width {span(self.width)}, kernel {span(self.kernel)}"

    def build_encoder(self, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
        from dragoman.models.builders import convolution

        return convolution.build_encoder(self, matrix)

    def build_decoder(self, matrix: Matrix, memory: int) -> Decoder:
        from dragoman.models.builders import convolution

        return convolution.build_decoder(self, matrix, memory)

    def build_causal(self, matrix: Matrix) -> Decoder:
        raise ConfigError(
            "A language model cannot have a convolutional decoder: its blocks attend to a source.",
            where="model.decoder.kind",
            expected="transformer or rnn",
            hint="model.decoder.kind=transformer",
        )

    @field_validator("width", "kernel", mode="before")
    @classmethod
    def _one_number_or_several(cls, value: Any) -> Any:
        return value if isinstance(value, list | tuple) else (value,)

    @model_validator(mode="after")
    def _one_number_per_block(self) -> ConvPart:
        for name, numbers in (("width", self.width), ("kernel", self.kernel)):
            if len(numbers) not in (1, self.layers):
                raise ValueError(
                    f"{name} has {len(numbers)} numbers for {self.layers} layers; list one, or one per layer"
                )
        return self


class KalchbrennerPart(EncoderPart):
    """A convolutional encoder that reduces a sentence to one vector (Kalchbrenner & Blunsom 2013)."""

    reads_end: ClassVar[bool] = True
    per_token: ClassVar[bool] = False
    has_last_state: ClassVar[bool] = True

    kind: Literal["kalchbrenner"] = "kalchbrenner"
    embedding: int = Field(default=256, ge=1, description="Embedding size, also that of the sentence vector.")
    dropout: Rate = Field(default=0.2, description="Dropout rate of embeddings.")
    max_positions: int = Field(
        default=1024, ge=2, description="Maximum sequence length N, which needs √(2N) kernels."
    )

    @property
    def layers(self) -> int:
        """The number of kernels: 2 … ⌈√(2N)⌉ columns, of which a short sentence uses the first few."""
        return ceil(sqrt(2 * self.max_positions)) - 1

    @property
    def width(self) -> int:
        return self.embedding

    @property
    def token_features(self) -> int:
        return self.embedding

    @property
    def memory_features(self) -> int:
        return self.embedding

    @property
    def longest(self) -> int | None:
        return self.max_positions

    @property
    def name(self) -> str:
        return "kalchbrenner"

    @property
    def shape(self) -> str:
        return f"width {self.embedding}"

    def build_encoder(self, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
        from dragoman.models.builders import convolution

        return convolution.build_sentence_encoder(self, matrix)


def span(numbers: tuple[int, ...]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"
