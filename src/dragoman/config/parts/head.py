"""[model.head]: how the output's features become a probability for each word."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from dragoman.config.section import Section

Cutoff = Annotated[int, Field(ge=1)]


class SoftmaxHeadPart(Section):
    """One softmax over the whole vocabulary."""

    kind: Literal["softmax"] = "softmax"


class SampledHeadPart(Section):
    """A softmax that learns from a small vocabulary for each batch (Jean et al. 2015).

    The batch's own target words are in it, and others drawn at random. Training's loss, and its label
    smoothing, are over these words only; validation and search take the whole vocabulary.
    """

    kind: Literal["sampled"] = "sampled"
    size: int = Field(default=4000, ge=1, description="Words of each batch's vocabulary.")


class AdaptiveHeadPart(Section):
    """A softmax over frequent words, and smaller ones over clusters of rare words (Grave et al. 2017).

    Vocabularies stand in the order of frequency, so a cluster is a range of ids. Label smoothing spreads
    within each softmax. The output shares no matrix, so it needs model.tied = "none".
    """

    kind: Literal["adaptive"] = "adaptive"
    cutoffs: tuple[Cutoff, ...] = Field(
        default=(1000, 4000),
        min_length=1,
        description="Ids at which a new cluster begins; the first is how many words count as frequent.",
    )
    shrink: int = Field(
        default=4, ge=1, description="Each cluster has this many times fewer features than the one before."
    )

    @field_validator("cutoffs")
    @classmethod
    def _cutoffs_rise(cls, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
        if list(cutoffs) != sorted(set(cutoffs)):
            raise ValueError("each cutoff must be larger than the one before")
        return cutoffs


HeadPart = Annotated[SoftmaxHeadPart | SampledHeadPart | AdaptiveHeadPart, Field(discriminator="kind")]
