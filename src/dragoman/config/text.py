"""The [text] section: how text is tokenized."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.section import Section

Kind = Literal["bpe", "unigram", "word", "char", "byte", "sentencepiece", "spelled", "label"]


class Units(Section):
    kind: Kind = Field(
        default="bpe",
        description=(
            "The tokenizer: bpe and unigram are trained with SentencePiece; word, char and byte are built "
            "in; sentencepiece uses an existing SentencePiece model, `file`. spelled words keep their "
            "characters, for sources of taggers and classifiers; a label is a whole line, for classifiers."
        ),
    )
    size: int = Field(
        default=8000,
        ge=8,
        le=1_000_000,
        description=(
            "Maximum vocabulary size; sub-words need at least 260 plus the alphabet. If unset, the number of "
            "sub-words is 35 · √pairs, between 500 and 8,000; with a short budget it is smaller."
        ),
    )
    file: str | None = Field(
        default=None,
        examples=["source.spm"],
        description='For kind "sentencepiece": the .model or .spm file, which sets the vocabulary size.',
    )

    @model_validator(mode="after")
    def _a_file_is_a_model(self) -> Units:
        if (self.kind == "sentencepiece") != (self.file is not None):
            raise ValueError(
                'kind = "sentencepiece" and file need each other; set both, or neither to train a vocabulary'
            )
        return self


class TextConfig(Units):
    joint: bool = Field(
        default=True, description="Use one vocabulary for both sides; false creates one per side."
    )
    src: Units | None = Field(
        default=None, description="Tokenizer of the source side; implies joint = false."
    )
    tgt: Units | None = Field(
        default=None, description="Tokenizer of the target side; implies joint = false."
    )
    lowercase: bool = Field(
        default=False, description="Lowercase both sides before tokenizing, except labels. Not reversible."
    )
    sampling: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description=(
            "Sub-word regularization during training: the BPE-dropout rate or, for unigram, the probability "
            "of sampling another segmentation of a word."
        ),
    )
    sample_lines: int = Field(
        default=1_000_000,
        ge=1,
        description="Maximum number of lines per side from which a vocabulary is trained.",
    )

    @property
    def is_joint(self) -> bool:
        return self.joint and self.src is None and self.tgt is None

    @property
    def src_units(self) -> Units:
        return self.src or Units(kind=self.kind, size=self.size, file=self.file)

    @property
    def tgt_units(self) -> Units:
        return self.tgt or Units(kind=self.kind, size=self.size, file=self.file)
