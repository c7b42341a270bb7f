"""The [data] section: corpora and their mixture."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator, model_validator

from dragoman.config.parts.source import SourcePart, TextSource
from dragoman.config.section import Section


class Corpus(Section):
    """One corpus: two aligned files, or one file with both sides."""

    files: tuple[str, ...] = Field(
        min_length=1,
        max_length=3,
        examples=[["train.en", "train.de"]],
        description=(
            "Two aligned text files (source, target), or one .tsv, .csv, .jsonl, .tmx, .xliff or .po file; "
            "each may be .gz. For tagging, a third file may have a label for each line."
        ),
    )
    languages: tuple[str, str] | None = Field(
        default=None,
        examples=[["en", "de"]],
        description=(
            'Source and target language in a file with several languages or columns: ["en", "de"]. For '
            'tagging and classification, the numbers of the columns: ["2", "1"].'
        ),
    )
    weight: float = Field(
        default=1.0,
        gt=0,
        le=1_000_000,
        description="Sampling weight relative to other corpora: 3 samples its pairs three times as often.",
    )

    licence: str | None = Field(
        default=None,
        examples=["CC BY 2.0 FR"],
        description='The licence of the corpus, for card.md: "CC BY 2.0 FR".',
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
            'Training corpora: ["a.en", "a.de"], "pairs.tsv", or a mixture '
            '[{ files = ["a.en", "a.de"], weight = 2 }, { files = ["b.tsv"] }].'
        ),
    )
    valid: Corpus | None = Field(
        default=None,
        examples=[["val.en", "val.de"]],
        description="Validation pairs; held out of `train` if unset.",
    )
    test: Corpus | None = Field(
        default=None,
        examples=[["test.en", "test.de"]],
        description="Test pairs: those that `dragoman score MODEL` reads.",
    )
    source: SourcePart = Field(
        default=TextSource(),
        description=(
            "What the sources are: text, or files whose paths, relative to the corpus, take its place."
        ),
    )
    hold_out: int = Field(
        default=1000, ge=1, description="Pairs held out of `train` if `valid` is unset (at most 5 %)."
    )
    max_length: int = Field(
        default=256,
        ge=2,
        le=65535,
        description=(
            "Pairs with more tokens than this on either side are not used for training. A spelled word is "
            "one token."
        ),
    )
    block_size: int | None = Field(
        default=None,
        ge=2,
        le=65535,
        examples=[256],
        description=(
            "For language models of running text: the text is cut into blocks of this many tokens, without "
            "regard to lines, and a newline is a token. If unset, every line is an example of its own."
        ),
    )
    clean: bool = Field(
        default=False,
        description="Remove what `dragoman check` would: duplicates, unusual lengths (8 bytes per pair).",
    )
    skip_bad: bool = Field(
        default=False,
        description="Skip lines that cannot be read (not UTF-8, not two columns) instead of stopping.",
    )
    shard_pairs: int = Field(
        default=500_000, ge=1, description="Lines of a corpus per shard of the token store."
    )

    @model_validator(mode="after")
    def _only_text_is_cleaned(self) -> DataConfig:
        if self.clean and not isinstance(self.source, TextSource):
            raise ValueError(
                f'data.clean compares texts, but data.source.kind is "{self.source.kind}"; set it to false'
            )
        return self

    @field_validator("train", mode="before")
    @classmethod
    def _one_corpus_or_several(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [value]
        if (
            isinstance(value, list | tuple)
            and len(value) in (2, 3)
            and all(isinstance(v, str) for v in value)
        ):
            return [value]
        if isinstance(value, dict):
            return [value]
        return value

    @model_validator(mode="after")
    def _running_text_has_no_lines_to_hold_out(self) -> DataConfig:
        if self.block_size is not None and self.valid is None:
            raise ValueError(
                "block_size cuts running text, of which single lines cannot be held out; set data.valid, "
                "for example to a file with the last tenth of the text"
            )
        return self
