"""Config: what a run is. The one source of truth for TOML, overrides, Python and the docs page."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.data import DataConfig
from dragoman.config.model import ModelConfig
from dragoman.config.objective import AttentionTerms
from dragoman.config.parts.convolution import KalchbrennerPart
from dragoman.config.parts.head import AdaptiveHeadPart
from dragoman.config.search import SearchConfig
from dragoman.config.section import Section
from dragoman.config.text import TextConfig
from dragoman.config.training import TrainingConfig


class Config(Section):
    task: Literal["translate"] = Field(default="translate", description="Sequence to sequence.")
    data: DataConfig = Field(description="Which files.")
    text: TextConfig = Field(default=TextConfig(), description="Strings to ids.")
    model: ModelConfig = Field(default=ModelConfig(), description="The network.")
    training: TrainingConfig = Field(default=TrainingConfig(), description="The engine.")
    search: SearchConfig = Field(default=SearchConfig(), description="Choosing the output.")

    @property
    def longest_side(self) -> int:
        """Tokens of a side that are trained on: no more than the model has places for, with </s>."""
        places = [self.model.encoder.longest, self.model.decoder.longest]
        return min([self.data.max_length, *(place - 1 for place in places if place is not None)])

    @model_validator(mode="after")
    def _tying_needs_one_vocabulary(self) -> Config:
        if self.model.tied == "all" and not self.text.is_joint:
            raise ValueError(
                'model.tied = "all" needs one vocabulary for both sides; set model.tied = "target"'
            )
        return self

    @model_validator(mode="after")
    def _only_words_are_spelt(self) -> Config:
        sides = {
            "src": (self.model.src_embedding, self.text.src_units),
            "tgt": (self.model.tgt_embedding, self.text.tgt_units),
        }
        for side, (embedding, units) in sides.items():
            if embedding.kind == "characters" and units.kind != "word":
                raise ValueError(
                    f'model.{side}_embedding.kind = "characters" spells words, and the units are '
                    f'"{units.kind}"; set text.{side}.kind = "word"'
                )
        return self

    @model_validator(mode="after")
    def _clusters_lie_in_the_vocabulary(self) -> Config:
        head, units = self.model.head, self.text.tgt_units
        if isinstance(head, AdaptiveHeadPart) and units.kind != "byte" and head.cutoffs[-1] >= units.size:
            raise ValueError(
                f"model.head.cutoffs reaches {head.cutoffs[-1]}, and the target side has at most "
                f"{units.size} entries; give smaller cutoffs, or a larger text.size"
            )
        return self

    @model_validator(mode="after")
    def _looking_needs_attention(self) -> Config:
        objective, decoder = self.training.objective, self.model.decoder
        if isinstance(objective, AttentionTerms) and objective.looks and not decoder.attends:
            raise ValueError(
                f"training.objective looks at the attention, which the {decoder.name} decoder does not have; "
                "choose a decoder with attention, or set the weights of training.objective to 0"
            )
        return self

    @model_validator(mode="after")
    def _coverage_needs_a_look_at_each_token(self) -> Config:
        decoder, encoder = self.model.decoder, self.model.encoder
        looks = decoder.attends and not isinstance(encoder, KalchbrennerPart)
        if self.search.coverage_penalty and not looks:
            raise ValueError(
                f"search.coverage_penalty needs attention to each source token, which the {encoder.name} "
                f"encoder and the {decoder.name} decoder do not have; set it to 0"
            )
        return self

    @model_validator(mode="after")
    def _alignment_needs_a_state_a_token(self) -> Config:
        objective, encoder = self.training.objective, self.model.encoder
        if (
            isinstance(objective, AttentionTerms)
            and objective.alignment
            and isinstance(encoder, KalchbrennerPart)
        ):
            raise ValueError(
                f"training.objective.alignment needs a state for each source token, and the {encoder.name} "
                "encoder leaves one for all; choose another encoder, or set it to 0"
            )
        return self
