"""[search]: how the output is chosen."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.section import Section


class SearchConfig(Section):
    kind: Literal["greedy", "beam"] = Field(
        default="beam", description="Best token each time, or the best of a beam."
    )
    size: int = Field(default=5, ge=1, le=1024, description="Hypotheses in the beam.")
    length_penalty: float = Field(
        default=1.0, ge=0, description="Scores are Σ log p / tᵅ with this α; 1 is the mean, 0 the plain sum."
    )
    max_length: int = Field(default=256, ge=1, description="Longest output in tokens.")
    stop: Literal["all", "n_best"] = Field(
        default="n_best",
        description='"n_best": when `size` hypotheses are finished; "all": when no open one can win.',
    )
    min_length: int = Field(default=0, ge=0, description="Shortest output in tokens.")
    no_repeat_ngram: int = Field(
        default=0, ge=0, description="No run of this many tokens twice in an output; 0 allows all."
    )
    guard: bool = Field(
        default=True,
        description="Cut loops after their third turn, and outputs after 3 × source + 20 tokens.",
    )
    batch_sentences: int = Field(default=64, ge=1, description="Sentences decoded together.")

    @model_validator(mode="after")
    def _lengths_agree(self) -> SearchConfig:
        if self.min_length >= self.max_length:
            raise ValueError(
                f"min_length ({self.min_length}) leaves no room below max_length ({self.max_length}), "
                "which counts </s> too: lower the one or raise the other"
            )
        return self
