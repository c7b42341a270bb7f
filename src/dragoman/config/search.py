"""[search]: how the output is chosen."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.section import Section


class SearchConfig(Section):
    kind: Literal["greedy", "beam", "sample", "mbr"] = Field(
        default="beam",
        description=(
            "Best token each time; the best of a beam; tokens by chance; or of several samples the one that "
            "is most like the others (minimum Bayes risk)."
        ),
    )
    size: int = Field(default=5, ge=1, le=1024, description="Hypotheses in the beam.")
    n_best: int = Field(default=1, ge=1, le=1024, description="Outputs given for each input, best first.")
    length_penalty: float = Field(
        default=1.0, ge=0, description="Scores are Σ log p / tᵅ with this α; 1 is the mean, 0 the plain sum."
    )
    length_norm: Literal["power", "gnmt"] = Field(
        default="power", description='What the sum is divided by: "power" is tᵅ, "gnmt" is ((5 + t) / 6)ᵅ.'
    )
    coverage_penalty: float = Field(
        default=0.0,
        ge=0,
        description="β of β Σ log min(Σ α, 1): what a beam takes off for source tokens not looked at.",
    )
    max_length: int = Field(default=256, ge=1, description="Longest output in tokens.")
    stop: Literal["length", "n_best", "heuristic", "all"] = Field(
        default="heuristic",
        description=(
            'When a beam stops. "n_best": when `size` hypotheses have ended; "heuristic": when, besides, no '
            'open one would be among them if it ended now; "all": when none can; "length": at `max_length`.'
        ),
    )
    groups: int = Field(default=1, ge=1, description="Groups of the beam that are kept different.")
    diversity: float = Field(
        default=0.5, ge=0, description="What a group pays for a token that another chose at the same step."
    )
    temperature: float = Field(
        default=1.0, gt=0, description="Samples are drawn from p to the power of 1 over this."
    )
    top_k: int | None = Field(
        default=None,
        ge=1,
        examples=[10],
        description="Samples are drawn from this many most probable tokens.",
    )
    top_p: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Samples are drawn from the likeliest tokens that have this mass.",
    )
    seed: int = Field(default=1, ge=0, description="Of samples: with the text it decides what is drawn.")
    samples: int = Field(
        default=32, ge=2, le=1024, description="Samples that mbr draws, and compares with the first 64."
    )
    utility: Literal["chrf", "bleu"] = Field(default="chrf", description="What mbr compares them by.")
    ensemble: Literal["probability", "log"] = Field(
        default="probability", description="What several models average: p, or log p."
    )
    reverse_weight: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Where a reverse model re-ranks: its share of the score, log p(x given y) per token.",
    )
    min_length: int = Field(default=0, ge=0, description="Shortest output in tokens.")
    no_repeat_ngram: int = Field(
        default=0, ge=0, description="No run of this many tokens twice in an output; 0 allows all."
    )
    guard: bool = Field(
        default=True,
        description=(
            "Cut loops, and outputs that are far longer than their source: by bounds that were learned from "
            "the references in calibration. A model without a calibration is not guarded."
        ),
    )
    batch_sentences: int = Field(default=64, ge=1, description="Sentences decoded together.")

    @model_validator(mode="after")
    def _lengths_agree(self) -> SearchConfig:
        if self.min_length >= self.max_length:
            raise ValueError(
                f"min_length ({self.min_length}) leaves no room below max_length ({self.max_length}), "
                "which counts </s> too; lower the one or raise the other"
            )
        return self

    @model_validator(mode="after")
    def _groups_are_equal(self) -> SearchConfig:
        if self.size % self.groups:
            raise ValueError(
                f"groups = {self.groups} cannot share a beam of {self.size}; "
                f"set search.size = {-(-self.size // self.groups) * self.groups}"
            )
        return self

    @model_validator(mode="after")
    def _as_many_as_are_searched(self) -> SearchConfig:
        most = {"greedy": 1, "beam": self.size, "sample": 1024, "mbr": self.samples}[self.kind]
        if self.n_best > most:
            change = {"beam": f"search.size = {self.n_best}", "mbr": f"search.samples = {self.n_best}"}
            raise ValueError(
                f'n_best = {self.n_best} is more than kind = "{self.kind}" finds, which is {most}; '
                f"set {change.get(self.kind, 'search.kind = beam')}"
            )
        return self
