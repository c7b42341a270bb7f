"""The [training.objective] section: teacher forcing, sampling and minimum risk training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.section import Section


class AttentionTerms(Section):
    """Attention losses. If one is used, the decoder is unrolled one step at a time."""

    coverage: float = Field(
        default=0.0,
        ge=0,
        description="Weight of the coverage loss, which penalizes attending to a source token repeatedly.",
    )
    alignment: float = Field(
        default=0.0, ge=0, description="Weight of the loss that guides attention towards word alignments."
    )

    @property
    def is_active(self) -> bool:
        return self.coverage > 0 or self.alignment > 0


class SamplingOptions(Section):
    """How often a step reads the model's own output instead of the reference."""

    decay: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = Field(
        default="inverse_sigmoid", description="How the probability p of reading the reference decays from 1."
    )
    half_at: int = Field(default=2000, ge=1, description="The update at which p has fallen to one half.")
    reference_floor: float = Field(
        default=0.25, ge=0, le=1, description="The minimum of p; with constant decay, p itself."
    )
    own_token: Literal["sample", "argmax"] = Field(
        default="sample",
        description="The model's own token: sampled from its distribution, or the most probable one.",
    )


class TeacherForcingPart(AttentionTerms):
    """Teacher forcing: every step reads the reference."""

    kind: Literal["teacher_forcing"] = "teacher_forcing"


class ScheduledSamplingPart(AttentionTerms, SamplingOptions):
    """Scheduled sampling: each step reads the reference or the model's own output (Bengio et al. 2015)."""

    kind: Literal["scheduled_sampling"] = "scheduled_sampling"


class TwoPassSamplingPart(SamplingOptions):
    """Scheduled sampling in two parallel passes, fast for Transformers (Mihaylova & Martins 2019)."""

    kind: Literal["two_pass_sampling"] = "two_pass_sampling"


class MinimumRiskPart(Section):
    """Minimum risk training: the expected distance of sampled outputs to the reference (Shen et al. 2016)."""

    kind: Literal["minimum_risk"] = "minimum_risk"
    metric: Literal["bleu", "chrf", "wer", "cer"] = Field(
        default="bleu",
        description="The distance: 1 − sentence BLEU, 1 − sentence chrF, word or character error rate.",
    )
    samples: int = Field(default=8, ge=1, description="Outputs sampled for each source.")
    alpha: float = Field(
        default=0.005,
        gt=0,
        description="Samples are weighted by p to this power; if it is not small, the reference dominates.",
    )
    after: int = Field(default=0, ge=0, description="Updates of teacher forcing before it starts.")


ObjectivePart = Annotated[
    TeacherForcingPart | ScheduledSamplingPart | TwoPassSamplingPart | MinimumRiskPart,
    Field(discriminator="kind"),
]
