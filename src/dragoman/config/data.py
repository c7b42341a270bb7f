"""[data]: which files, in which mixture."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator, model_validator

from dragoman.config.section import Section


class Corpus(Section):
    """One corpus: two aligned files, or one file with both sides."""

    files: tuple[str, ...] = Field(
        min_length=1,
        max_length=2,
        examples=[["train.en", "train.de"]],
        description=(
            "Two aligned text files (source, target), or one .tsv, .csv, .jsonl, .tmx, .xliff or .po file; "
            "each may be .gz."
        ),
    )
    languages: tuple[str, str] | None = Field(
        default=None,
        examples=[["en", "de"]],
        description='Source and target in a file that has several languages or columns: ["en", "de"].',
    )
    weight: float = Field(
        default=1.0,
        gt=0,
        le=1_000_000,
        description="How often its pairs are seen, relative to other corpora: 3 is three times as often.",
    )

    licence: str | None = Field(
        default=None,
        examples=["CC BY 2.0 FR"],
        description='Under which licence it may be used, for card.md: "CC BY 2.0 FR".',
    )

    @model_validator(mode="before")
    @classmethod
    def _from_files(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"files": [value]}
        if isinstance(value, list | tuple):
            return {"files": value}
        return value


class DataConfig(Section):
    train: tuple[Corpus, ...] = Field(
        min_length=1,
        examples=[["train.en", "train.de"]],
        description=(
            'What to learn from: ["a.en", "a.de"], "pairs.tsv", or a mixture '
            '[{ files = ["a.en", "a.de"], weight = 2 }, { files = ["b.tsv"] }].'
        ),
    )
    valid: Corpus | None = Field(
        default=None,
        examples=[["val.en", "val.de"]],
        description="Pairs to watch while training; held out of `train` where none is given.",
    )
    test: Corpus | None = Field(
        default=None, examples=[["test.en", "test.de"]], description="Pairs to score at the end."
    )
    hold_out: int = Field(
        default=1000, ge=1, description="Pairs held out of `train` when `valid` is not given (5 % at most)."
    )
    max_length: int = Field(
        default=256,
        ge=2,
        le=65535,
        description="Pairs with more tokens than this on a side are not trained on.",
    )
    clean: bool = Field(
        default=False,
        description="Leave out what `dragoman check` would: duplicates, odd lengths (8 bytes a pair).",
    )
    skip_bad: bool = Field(
        default=False,
        description="Leave out lines that cannot be read (not UTF-8, no two columns) instead of stopping.",
    )
    shard_pairs: int = Field(default=500_000, ge=1, description="Pairs in one shard of the token store.")

    @field_validator("train", mode="before")
    @classmethod
    def _one_corpus_or_several(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [value]
        if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(v, str) for v in value):
            return [value]
        if isinstance(value, dict):
            return [value]
        return value
