"""TextConfig → TokenizerPair, and saving and loading a TokenizerPair. Only this module knows every kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from pydantic import Field, ValidationError

from dragoman.config.section import Section
from dragoman.config.text import Kind, TextConfig, Units
from dragoman.errors import DataError, ModelError
from dragoman.manifest import Read
from dragoman.text.tokenizer import Tokenizer, utf8
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.bpe import Bpe
from dragoman.text.tokenizers.byte import Byte
from dragoman.text.tokenizers.char import Char
from dragoman.text.tokenizers.external_sentencepiece import ExternalSentencePiece
from dragoman.text.tokenizers.label import Label
from dragoman.text.tokenizers.lowercase import Lowercase
from dragoman.text.tokenizers.spelled import Spelled
from dragoman.text.tokenizers.train_sentencepiece import sample, train_sentencepiece
from dragoman.text.tokenizers.unigram import Unigram
from dragoman.text.tokenizers.word import Word

VERSION = 1


class TextFile(Section):
    """The contents of text.json."""

    version: int = Field(ge=1)
    joint: bool
    lowercase: bool
    sampling: float = Field(ge=0, le=1)
    src: Kind
    tgt: Kind


def learn(config: TextConfig, pairs: Iterable[tuple[str, str]]) -> TokenizerPair:
    """Learn the tokenizers of both sides from at most `sample_lines` pairs, which are read once."""
    sampled = [_as_read(pair, config) for pair in sample(pairs, config.sample_lines)]
    if config.is_joint:
        src = tgt = _learn(list(chain.from_iterable(sampled)), config.src_units, config)
    else:
        src = _learn([src for src, _ in sampled], config.src_units, config)
        tgt = _learn([tgt for _, tgt in sampled], config.tgt_units, config)
    return TokenizerPair(src, tgt, config.is_joint, config.lowercase, config.sampling)


def _as_read(pair: tuple[str, str], config: TextConfig) -> tuple[str, str]:
    src, tgt = pair
    for line in pair:
        utf8(line)
    sides = ((src, config.src_units), (tgt, config.tgt_units))
    src, tgt = (line.lower() if config.lowercase and units.kind != "label" else line for line, units in sides)
    return src, tgt


def _learn(lines: Sequence[str], units: Units, config: TextConfig) -> Tokenizer:
    if not any(lines):
        raise DataError(
            "There is no text to learn a vocabulary from.",
            expected="at least one line with a character",
            hint="Check the files in data.train: they have no lines, or only empty ones.",
        )
    tokenizer: Tokenizer
    match units.kind:
        case "bpe":
            tokenizer = Bpe(train_sentencepiece(lines, "bpe", units.size), config.sampling)
        case "unigram":
            tokenizer = Unigram(train_sentencepiece(lines, "unigram", units.size), config.sampling)
        case "word":
            tokenizer = Word.learn(lines, units.size)
        case "char":
            tokenizer = Char.learn(lines, units.size)
        case "byte":
            tokenizer = Byte()
        case "sentencepiece":
            assert units.file is not None
            tokenizer = ExternalSentencePiece.read(Path(units.file))
        case "spelled":
            tokenizer = Spelled.learn(lines, units.size)
        case "label":
            tokenizer = Label.learn(lines, units.size)
    return Lowercase(tokenizer) if config.lowercase and units.kind != "label" else tokenizer


def save(pair: TokenizerPair, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "version": VERSION,
        "joint": pair.joint,
        "lowercase": pair.lowercase,
        "sampling": pair.sampling,
        "src": pair.src.kind,
        "tgt": pair.tgt.kind,
    }
    (folder / "text.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    if pair.joint:
        pair.src.save(folder, "joint")
    else:
        pair.src.save(folder, "src")
        pair.tgt.save(folder, "tgt")


def load(folder: Path, read: Read = Path.read_bytes) -> TokenizerPair:
    facts = _read(folder / "text.json", read)
    if facts.joint:
        src = tgt = _load(folder, "joint", facts.src, facts, read)
    else:
        src = _load(folder, "src", facts.src, facts, read)
        tgt = _load(folder, "tgt", facts.tgt, facts, read)
    return TokenizerPair(src, tgt, facts.joint, facts.lowercase, facts.sampling)


def _load(folder: Path, name: str, kind: Kind, facts: TextFile, read: Read) -> Tokenizer:
    tokenizer: Tokenizer
    match kind:
        case "bpe":
            tokenizer = Bpe.load(folder, name, facts.sampling, read)
        case "unigram":
            tokenizer = Unigram.load(folder, name, facts.sampling, read)
        case "word":
            tokenizer = Word.load(folder, name, read)
        case "char":
            tokenizer = Char.load(folder, name, read)
        case "byte":
            tokenizer = Byte()
        case "sentencepiece":
            tokenizer = ExternalSentencePiece.load(folder, name, read)
        case "spelled":
            tokenizer = Spelled.load(folder, name, read)
        case "label":
            tokenizer = Label.load(folder, name, read)
    return Lowercase(tokenizer) if facts.lowercase and kind != "label" else tokenizer


def _read(file: Path, read: Read) -> TextFile:
    try:
        facts = json.loads(read(file).decode("utf-8"))
    except FileNotFoundError:
        raise _not_ours(file, "The model folder has no text.json.") from None
    except (OSError, ValueError, RecursionError):
        raise _not_ours(file, "text.json cannot be read.") from None
    version = facts.get("version") if isinstance(facts, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise ModelError(
            f"text.json has version {version}, which is newer than this version of Dragoman supports.",
            where=str(file),
            expected=f"version {VERSION}",
            hint="pip install --upgrade dragoman",
        )
    try:
        return TextFile.model_validate(facts, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "text.json"
        raise _not_ours(file, f"{field} is invalid: {first['msg']}.") from None


def _not_ours(file: Path, what: str) -> ModelError:
    return ModelError(
        what,
        where=str(file),
        expected="a text/ folder written by training",
        hint="Copy the complete model folder again.",
    )
