"""Settings of the output head: how decoder outputs become token probabilities."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from dragoman.config.section import Section

Cutoff = Annotated[int, Field(ge=1)]


class SoftmaxHeadPart(Section):
    """One softmax over the whole vocabulary."""

    kind: Literal["softmax"] = "softmax"


class SampledHeadPart(Section):
    """A softmax that is trained on a small sampled vocabulary per batch (Jean et al. 2015).

    The sampled vocabulary contains the target tokens of the batch and randomly drawn negatives. The training
    loss and its label smoothing use only these; validation and search use the whole vocabulary.
    """

    kind: Literal["sampled"] = "sampled"
    size: int = Field(default=4000, ge=1, description="Size of the vocabulary of each batch.")


class AdaptiveHeadPart(Section):
    """A softmax over frequent tokens, and smaller ones over clusters of rare tokens (Grave et al. 2017).

    Vocabularies are sorted by frequency, so a cluster is a range of ids. Label smoothing applies within each
    softmax. The output layer cannot share its matrix with embeddings: it needs model.tied = "none".
    """

    kind: Literal["adaptive"] = "adaptive"
    cutoffs: tuple[Cutoff, ...] = Field(
        default=(1000, 4000),
        min_length=1,
        description="Ids at which a new cluster begins; the first is the number of frequent tokens.",
    )
    shrink: int = Field(
        default=4, ge=1, description="Factor by which the feature size shrinks from each cluster to the next."
    )

    @field_validator("cutoffs")
    @classmethod
    def _cutoffs_rise(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if list(cutoffs) != sorted(set(cutoffs)):
            raise ValueError("each cutoff must be larger than the one before")
        return cutoffs


HeadPart = Annotated[SoftmaxHeadPart | SampledHeadPart | AdaptiveHeadPart, Field(discriminator="kind")]
