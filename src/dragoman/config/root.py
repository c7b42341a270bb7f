"""Config, the settings of a run: the single source for TOML, overrides, Python and the docs page."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.data import DataConfig
from dragoman.config.model import ModelConfig
from dragoman.config.objective import AttentionTerms
from dragoman.config.parts.convolution import ConvPart
from dragoman.config.parts.embedding import FRAME_DEFAULTS, FramePart
from dragoman.config.parts.head import AdaptiveHeadPart, FrameHeadPart, StateHeadPart, WordHeadPart
from dragoman.config.parts.source import TextSource
from dragoman.config.search import SearchConfig
from dragoman.config.section import Section
from dragoman.config.text import TextConfig
from dragoman.config.training import TrainingConfig

TaskName = Literal["translate", "transcribe", "tag", "classify", "lm"]

# Heads that belong to one task, which needs one of them.
TASK_HEADS: dict[TaskName, tuple[str, ...]] = {
    "transcribe": ("ctc", "ctc-attention"),
    "tag": ("tags", "crf"),
    "classify": ("label",),
}

# Objectives that a task can be trained with: the others sample from a decoder, or compare its outputs.
TASK_OBJECTIVES: dict[TaskName, tuple[str, ...]] = {
    "translate": ("teacher_forcing", "scheduled_sampling", "two_pass_sampling", "minimum_risk"),
    "transcribe": ("teacher_forcing",),
    "tag": ("teacher_forcing",),
    "classify": ("teacher_forcing",),
    "lm": ("teacher_forcing", "scheduled_sampling"),
}


class Config(Section):
    task: TaskName = Field(
        default="translate",
        description=(
            "What is learned: translate (a sequence from another), transcribe (text from a picture or a "
            "sound), tag (a label per word), classify (a label per text) or lm (the text itself)."
        ),
    )
    data: DataConfig = Field(description="The corpora.")
    text: TextConfig = Field(default=TextConfig(), description="Tokenization and vocabularies.")
    model: ModelConfig = Field(default=ModelConfig(), description="The network.")
    training: TrainingConfig = Field(default=TrainingConfig(), description="How the model is trained.")
    search: SearchConfig = Field(default=SearchConfig(), description="How outputs are decoded.")

    @model_validator(mode="after")
    def _heads_belong_to_tasks(self) -> Config:
        heads, kind = TASK_HEADS.get(self.task), self.model.head.kind
        others = [task for task, kinds in TASK_HEADS.items() if kind in kinds and task != self.task]
        if others or (heads and kind not in heads):
            expected = " or ".join(heads or ("another kind",))
            raise ValueError(
                f'model.head.kind = "{kind}" does not fit task = "{self.task}"; set it to {expected}'
                + (f', or set task = "{others[0]}"' if others else "")
            )
        if isinstance(self.model.head, StateHeadPart) and not isinstance(self.data.source, TextSource):
            raise ValueError(f'task = "{self.task}" reads text, but data.source is another; remove it')
        return self

    @model_validator(mode="after")
    def _objectives_belong_to_tasks(self) -> Config:
        objective, fitting = self.training.objective, TASK_OBJECTIVES[self.task]
        if objective.kind not in fitting:
            raise ValueError(
                f'training.objective.kind = "{objective.kind}" does not fit task = "{self.task}"; '
                f"set it to {' or '.join(fitting)}"
            )
        has_terms = isinstance(objective, AttentionTerms) and objective.is_active
        if has_terms and self.task != "translate":
            raise ValueError(
                f'coverage and alignment of training.objective do not fit task = "{self.task}"; set both to 0'
            )
        return self

    @model_validator(mode="after")
    def _tags_are_those_of_words(self) -> Config:
        if not isinstance(self.model.head, WordHeadPart):
            return self
        if self.text.src_units.kind not in ("word", "spelled") or self.text.tgt_units.kind != "word":
            raise ValueError(
                "a tag belongs to a word, so the units must be words; "
                'set text.src.kind = "spelled" or "word", and text.tgt.kind = "word"'
            )
        if not self.model.head.label and any(len(corpus.files) == 3 for corpus in self.data.train):
            raise ValueError("a third file has a label for each line; set model.head.label = true")
        if self.text.lowercase:
            raise ValueError("text.lowercase would change the tags too; lowercase the words in their file")
        return self

    @model_validator(mode="after")
    def _spelled_words_are_embedded_by_their_spelling(self) -> Config:
        spelled = self.text.src_units.kind == "spelled", self.model.src_embedding.kind == "spelled"
        if any(spelled) and not (all(spelled) and isinstance(self.model.head, StateHeadPart)):
            raise ValueError(
                'text.src.kind = "spelled" and model.src_embedding.kind = "spelled" need each other, and '
                'task = "tag" or "classify"; set both, or neither'
            )
        if self.text.tgt_units.kind == "spelled":
            raise ValueError('only sources can be spelled; set text.tgt.kind = "word" or "label"')
        return self

    @property
    def longest_side(self) -> int:
        """The maximum tokens per side in training, limited by the positions of the model, with </s>.

        Frames have a limit of their own, `data.source.max_frames`.
        """
        decoders = [self.model.decoder] if self.model.head.reads_decoder else []
        encoders = [self.model.encoder] if isinstance(self.data.source, TextSource) else []
        limits = [part.longest for part in (*encoders, *decoders)]
        return min([self.data.max_length, *(limit - 1 for limit in limits if limit is not None)])

    @property
    def longest_row(self) -> int:
        """The maximum tokens per side of a row of the store."""
        return min(self.data.block_size, self.longest_side) if self.data.block_size else self.longest_side

    @property
    def longest_source(self) -> int:
        """The maximum length of a source of the model: tokens, excluding </s>, or frames."""
        source = self.data_of_run.source
        # Frames have no </s>, but a batch of them is padded as if they had.
        return self.model.longest_source if isinstance(source, TextSource) else source.max_frames - 1

    @property
    def is_text_to_text(self) -> bool:
        """Whether a text becomes another one, token by token, by an encoder and a decoder."""
        is_decoded = len(self.model.parts) == 2 and not isinstance(self.model.head, FrameHeadPart)
        return is_decoded and isinstance(self.data.source, TextSource)

    @property
    def data_of_run(self) -> DataConfig:
        """The data settings with these limits, from which the token store is built."""
        source, part, positions = self.data.source, self.model.src_embedding, self.model.encoder.longest
        if isinstance(part, FramePart) and not isinstance(source, TextSource) and positions:
            most = min(source.max_frames, positions * part.shortening)
            source = source.model_copy(update={"max_frames": most})
        return self.data.model_copy(update={"max_length": self.longest_side, "source": source})

    @model_validator(mode="after")
    def _frames_become_vectors(self) -> Config:
        source, part = self.data.source, self.model.src_embedding
        if isinstance(part, FramePart) == isinstance(source, TextSource):
            fitting = FRAME_DEFAULTS.get(source.kind, "table")
            raise ValueError(
                f'data.source.kind = "{source.kind}" does not fit model.src_embedding.kind = "{part.kind}"; '
                f'set model.src_embedding.kind = "{fitting}"'
            )
        return self

    @model_validator(mode="after")
    def _blocks_have_positions(self) -> Config:
        longest, size = self.model.decoder.longest, self.data.block_size
        if size and longest and size > longest:
            raise ValueError(
                f"data.block_size = {size} is more than the {longest} positions of the decoder; "
                f"set model.decoder.max_positions = {size}"
            )
        return self

    @model_validator(mode="after")
    def _a_language_model_has_no_source(self) -> Config:
        has_source = self.model.encoder.reads_source
        if self.task == "lm" and (has_source or self.model.tied == "all"):
            raise ValueError(
                'a language model reads no source; set model.encoder.kind = "none" and model.tied = "target"'
            )
        if self.task == "lm" and isinstance(self.model.decoder, ConvPart):
            raise ValueError(
                "a language model cannot have a convolutional decoder, whose blocks attend to a source; set "
                'model.decoder.kind = "transformer" or "rnn"'
            )
        if self.task == "translate" and not has_source:
            raise ValueError('model.encoder.kind = "none" is for task = "lm"')
        return self

    @model_validator(mode="after")
    def _tying_needs_one_vocabulary(self) -> Config:
        if self.model.tied == "all" and self.model.head.reads_decoder and not self.text.is_joint:
            raise ValueError(
                'model.tied = "all" needs one vocabulary for both sides; set model.tied = "target"'
            )
        return self

    @model_validator(mode="after")
    def _character_embeddings_need_words(self) -> Config:
        sides = {
            "src": (self.model.src_embedding, self.text.src_units),
            "tgt": (self.model.tgt_embedding, self.text.tgt_units),
        }
        for side, (embedding, units) in sides.items():
            if embedding.kind == "characters" and units.kind != "word":
                raise ValueError(
                    f'model.{side}_embedding.kind = "characters" needs word units, but the units are '
                    f'"{units.kind}"; set text.{side}.kind = "word"'
                )
        return self

    @model_validator(mode="after")
    def _clusters_lie_in_the_vocabulary(self) -> Config:
        head, units = self.model.head, self.text.tgt_units
        if isinstance(head, AdaptiveHeadPart) and units.kind != "byte" and head.cutoffs[-1] >= units.size:
            raise ValueError(
                f"model.head.cutoffs reaches {head.cutoffs[-1]}, but the target vocabulary has at most "
                f"{units.size} entries; use smaller cutoffs or a larger text.size"
            )
        return self

    @model_validator(mode="after")
    def _attention_terms_need_attention(self) -> Config:
        objective, decoder = self.training.objective, self.model.decoder
        if isinstance(objective, AttentionTerms) and objective.is_active and not decoder.attends:
            raise ValueError(
                f"training.objective uses attention weights, but the {decoder.name} decoder has none; "
                "choose a decoder with attention or set coverage and alignment of training.objective to 0"
            )
        return self

    @model_validator(mode="after")
    def _coverage_needs_attention_to_each_token(self) -> Config:
        decoder, encoder = self.model.decoder, self.model.encoder
        attends_to_tokens = decoder.attends and not encoder.is_summary
        if self.search.coverage_penalty and not attends_to_tokens:
            raise ValueError(
                f"search.coverage_penalty needs attention to each source token, which the {encoder.name} "
                f"encoder and the {decoder.name} decoder do not have; set it to 0"
            )
        return self

    @model_validator(mode="after")
    def _alignment_needs_a_state_per_token(self) -> Config:
        objective, encoder = self.training.objective, self.model.encoder
        if isinstance(objective, AttentionTerms) and objective.alignment and encoder.is_summary:
            raise ValueError(
                f"training.objective.alignment needs a state for each source token, but the {encoder.name} "
                "encoder has one for the whole source; choose another encoder or set it to 0"
            )
        return self
