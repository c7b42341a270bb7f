"""Settings of sentence encoders without recurrence, for classification: kinds "dense" and "multi-kernel"."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from dragoman.config.parts.part import EncoderPart
from dragoman.config.section import Rate, Size

if TYPE_CHECKING:
    from dragoman.nn.embedding import Matrix
    from dragoman.protocols import Encoder


class SentencePart(EncoderPart):
    """Settings common to both."""

    reads_end: ClassVar[bool] = True
    per_token: ClassVar[bool] = False
    only_for_labels: ClassVar[bool] = True
    has_last_state: ClassVar[bool] = True

    embedding: int = Field(default=128, ge=1, description="Embedding size.")
    dropout: Rate = Field(default=0.5, description="Dropout rate of embeddings and of the sentence vector.")

    @property
    def token_features(self) -> int:
        return self.embedding

    @property
    def memory_features(self) -> int:
        return self.embedding

    @property
    def longest(self) -> int | None:
        return None


class DensePart(SentencePart):
    """The mean of the embeddings and dense layers: a deep averaging network (Iyyer et al. 2015)."""

    kind: Literal["dense"] = "dense"
    layers: int = Field(default=2, ge=1, le=32, description="Number of dense layers after the mean.")
    width: int = Field(default=256, ge=1, description="Features of each layer.")
    word_dropout: Rate = Field(
        default=0.3, description="Rate of tokens that are left out of the mean in training."
    )

    @property
    def summary_features(self) -> int:
        return self.width

    @property
    def name(self) -> str:
        return "dense"

    @property
    def shape(self) -> str:
        return f"width {self.width}"

    def build_encoder(self, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
        from dragoman.models.builders import sentence

        return sentence.build_dense(self, matrix)


class MultiKernelPart(SentencePart):
    """Convolutions of several kernel widths, each reduced to its maximum over the line (Kim 2014)."""

    kind: Literal["multi-kernel"] = "multi-kernel"
    kernels: tuple[Size, ...] = Field(default=(3, 4, 5), min_length=1, description="Kernel widths in tokens.")
    filters: int = Field(default=100, ge=1, description="Filters of each kernel width.")

    @property
    def layers(self) -> int:
        return 1

    @property
    def width(self) -> int:
        return self.summary_features

    @property
    def summary_features(self) -> int:
        return len(self.kernels) * self.filters

    @property
    def name(self) -> str:
        return "multi-kernel"

    @property
    def shape(self) -> str:
        return f"{self.filters} filters each of kernel {', '.join(map(str, self.kernels))}"

    def build_encoder(self, matrix: Matrix, *, returns_final_states: bool) -> Encoder:
        from dragoman.models.builders import sentence

        return sentence.build_multi_kernel(self, matrix)
