"""The [search] section: how outputs are decoded."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.section import Section


class SearchConfig(Section):
    kind: Literal["greedy", "beam", "sample", "mbr"] = Field(
        default="beam",
        description=(
            "Greedy search, beam search, sampling, or minimum Bayes risk decoding, which returns the sample "
            "that is most similar to the others."
        ),
    )
    size: int = Field(default=5, ge=1, le=1024, description="Beam size.")
    n_best: int = Field(default=1, ge=1, le=1024, description="Outputs returned for each input, best first.")
    length_penalty: float = Field(
        default=1.0,
        ge=0,
        le=10,
        description="The α in the score Σ log p / tᵅ; 1 is the mean, 0 the plain sum.",
    )
    length_norm: Literal["power", "gnmt"] = Field(
        default="power", description='The divisor of the sum: "power" is tᵅ, "gnmt" is ((5 + t) / 6)ᵅ.'
    )
    coverage_penalty: float = Field(
        default=0.0,
        ge=0,
        description="The β in β Σ log min(Σ α, 1), the beam search penalty for unattended source tokens.",
    )
    max_length: int = Field(default=256, ge=1, description="Maximum output length in tokens.")
    stop: Literal["length", "n_best", "heuristic", "all"] = Field(
        default="n_best",
        description=(
            'When beam search stops. "n_best": when `size` hypotheses are finished, as in CTranslate2; '
            '"heuristic", the careful search: when, in addition, no unfinished one would rank in the top '
            "`size` if it ended now, and the greedy output is ranked with them (in CTranslate2: a patience "
            'of 2 and greedy search); "all": when no unfinished one ever can; "length": at `max_length`. '
            "Training chooses the careful search if the beam scores below greedy search on the validation "
            "pairs."
        ),
    )
    groups: int = Field(
        default=1, ge=1, description="Groups in diverse beam search; 1 is ordinary beam search."
    )
    diversity: float = Field(
        default=0.5, ge=0, description="Penalty on a token that an earlier group chose at the same step."
    )
    temperature: float = Field(
        default=1.0,
        gt=0,
        description="Sampling temperature: samples are drawn from p^(1/temperature), renormalized.",
    )
    top_k: int | None = Field(
        default=None,
        ge=1,
        examples=[10],
        description="Sample from this many most probable tokens only.",
    )
    top_p: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Nucleus sampling: sample from the most probable tokens with this total probability.",
    )
    seed: int = Field(
        default=1, ge=0, description="Sampling seed; together with the text it determines the samples."
    )
    samples: int = Field(
        default=32, ge=2, le=1024, description="Samples that mbr draws; each is compared with the first 64."
    )
    utility: Literal["chrf", "bleu"] = Field(
        default="chrf", description="The metric by which mbr compares samples."
    )
    ensemble: Literal["probability", "log"] = Field(
        default="probability", description="What an ensemble averages: p or log p."
    )
    reverse_weight: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Weight in the score of a reverse model used for reranking: log p(x | y) per token.",
    )
    lm_weight: float = Field(
        default=0.2,
        ge=0,
        description=(
            "The β of shallow fusion: a language model given with --lm adds β log p to the score of a token."
        ),
    )
    min_length: int = Field(default=0, ge=0, description="Minimum output length in tokens.")
    no_repeat_ngram: int = Field(
        default=0, ge=0, description="Forbid repeated n-grams of this many tokens in an output; 0 allows all."
    )
    allow_unk: bool = Field(
        default=True,
        description="Whether outputs may have <unk>; an imported model, like Marian, does not write it.",
    )
    guard: bool = Field(
        default=True,
        description=(
            "Cut repetitive outputs and outputs that are far longer than their source, by limits learned "
            "from the references during calibration. It has no effect on a model that is not calibrated."
        ),
    )
    batch_sentences: int = Field(default=64, ge=1, description="Sentences decoded together.")

    @model_validator(mode="after")
    def _lengths_agree(self) -> SearchConfig:
        if self.min_length >= self.max_length:
            raise ValueError(
                f"min_length ({self.min_length}) leaves no room below max_length ({self.max_length}), "
                "which includes </s>; lower min_length or raise max_length"
            )
        return self

    @model_validator(mode="after")
    def _groups_are_equal(self) -> SearchConfig:
        if self.size % self.groups:
            raise ValueError(
                f"groups = {self.groups} does not divide a beam of size {self.size}; "
                f"set search.size = {-(-self.size // self.groups) * self.groups}"
            )
        return self

    @model_validator(mode="after")
    def _as_many_as_are_searched(self) -> SearchConfig:
        most = {"greedy": 1, "beam": self.size, "sample": 1024, "mbr": self.samples}[self.kind]
        if self.n_best > most:
            change = {"beam": f"search.size = {self.n_best}", "mbr": f"search.samples = {self.n_best}"}
            raise ValueError(
                f'n_best = {self.n_best} is more than kind = "{self.kind}" returns, which is {most}; '
                f"set {change.get(self.kind, 'search.kind = beam')}"
            )
        return self
