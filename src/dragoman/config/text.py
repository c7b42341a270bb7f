"""[text]: into which units a string is cut."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dragoman.config.section import Section

Kind = Literal["bpe", "unigram", "word", "char", "byte", "sentencepiece"]


class Units(Section):
    kind: Kind = Field(
        default="bpe",
        description=(
            "bpe and unigram are learned by SentencePiece; word, char and byte are ours; sentencepiece is a "
            "model that you have already, in `file`."
        ),
    )
    size: int = Field(
        default=8000,
        ge=8,
        le=1_000_000,
        description=(
            "Entries of the vocabulary at most; sub-words need 260 and the alphabet. Unset, fewer pairs have "
            "fewer sub-words: 35 · √pairs, from 500 to 8,000."
        ),
    )
    file: str | None = Field(
        default=None,
        examples=["source.spm"],
        description='Of kind "sentencepiece": the .model or .spm file; it says its size.',
    )

    @model_validator(mode="after")
    def _a_file_is_a_model(self) -> Units:
        if (self.kind == "sentencepiece") != (self.file is not None):
            raise ValueError(
                'kind = "sentencepiece" and file go together; set both, or neither to learn a vocabulary'
            )
        return self


class TextConfig(Units):
    joint: bool = Field(default=True, description="One vocabulary for both sides; false makes one per side.")
    src: Units | None = Field(
        default=None, description="Units of the source side alone; implies joint = false."
    )
    tgt: Units | None = Field(
        default=None, description="Units of the target side alone; implies joint = false."
    )
    lowercase: bool = Field(
        default=False, description="Lower-case both sides before cutting. Not reversible."
    )
    sampling: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description=(
            "Sub-word regularisation while training: BPE-dropout with this rate, or for unigram the chance "
            "that a word is cut another way."
        ),
    )
    sample_lines: int = Field(
        default=1_000_000, ge=1, description="Lines per side from which a vocabulary is learned, at most."
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
