"""Settings of sentence encoders without recurrence, for classification: kinds "dense" and "multi-kernel"."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.config.section import Rate, Section, Size


class SentencePart(Section):
    """Settings common to both."""

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
