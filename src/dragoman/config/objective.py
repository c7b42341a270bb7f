"""[training.objective]: what the model learns from, beside or instead of the reference."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.section import Section


class AttentionTerms(Section):
    """What may be asked of the attention; the target is then walked one step at a time."""

    coverage: float = Field(
        default=0.0, ge=0, description="Weight of the penalty for looking at a source token twice."
    )
    alignment: float = Field(
        default=0.0, ge=0, description="Weight of the pull of the attention towards word alignments."
    )

    @property
    def looks(self) -> bool:
        return self.coverage > 0 or self.alignment > 0


class SamplingOptions(Section):
    """How often a step reads the model's own output instead of the reference."""

    decay: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = Field(
        default="inverse_sigmoid", description="How the probability p of reading the reference falls from 1."
    )
    half: int = Field(default=2000, ge=1, description="The update at which p has fallen to one half.")
    truth: float = Field(
        default=0.25, ge=0, le=1, description="The p it never falls below; where decay is constant, p itself."
    )
    own: Literal["sample", "argmax"] = Field(
        default="sample", description="A draw from the model's distribution, or its most probable token."
    )


class TeacherForcingPart(AttentionTerms):
    """Every step reads the reference."""

    kind: Literal["teacher_forcing"] = "teacher_forcing"


class ScheduledSamplingPart(AttentionTerms, SamplingOptions):
    """A step reads the reference or the model's own output, one step at a time (Bengio et al. 2015)."""

    kind: Literal["scheduled_sampling"] = "scheduled_sampling"


class TwoPassSamplingPart(SamplingOptions):
    """The same in two passes over the whole target (Mihaylova & Martins 2019): fast for Transformers."""

    kind: Literal["two_pass_sampling"] = "two_pass_sampling"


class MinimumRiskPart(Section):
    """The expected distance of sampled outputs to the reference is minimised (Shen et al. 2016)."""

    kind: Literal["minimum_risk"] = "minimum_risk"
    metric: Literal["bleu", "chrf", "wer", "cer"] = Field(
        default="bleu",
        description="The distance: 1 − BLEU or 1 − chrF of a sentence, or the edits per word or character.",
    )
    samples: int = Field(default=8, ge=1, description="Outputs sampled for each source.")
    alpha: float = Field(
        default=0.005,
        gt=0,
        description="An output counts by its probability to this power; small, else the reference rules.",
    )
    after: int = Field(default=0, ge=0, description="Updates of teacher forcing that come first.")


ObjectivePart = Annotated[
    TeacherForcingPart | ScheduledSamplingPart | TwoPassSamplingPart | MinimumRiskPart,
    Field(discriminator="kind"),
]
