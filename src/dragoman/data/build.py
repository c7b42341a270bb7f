"""Build the training data from settings: vocabularies, token stores and validation pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypedDict

from dragoman.config.data import Corpus, DataConfig
from dragoman.config.text import TextConfig
from dragoman.data.clean.cleaner import clean
from dragoman.data.clean.sides import are_swapped, language_names
from dragoman.data.gc_pause import gc_paused
from dragoman.data.holdout import HeldOut, Overlaps, choose_held_out, read_held_out, write_held_out
from dragoman.data.identity import (
    Identity,
    Rows,
    SourceFile,
    hash_of,
    refuse_other_rows,
    refuse_other_sources,
    refuse_other_valid,
    refuse_other_vocabulary,
)
from dragoman.data.pair import Pair
from dragoman.data.prepare import PairFilter, prepare
from dragoman.data.readers.bad_line import OnBad, Skipped
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.data.sources import Sources, is_current
from dragoman.data.store.layout import contents, digest, fingerprint
from dragoman.data.store.reader import StoreReader, open_current
from dragoman.durable import new_folder, verify_folder
from dragoman.errors import DataError
from dragoman.manifest import MANIFEST
from dragoman.text.build import learn
from dragoman.text.build import load as load_text
from dragoman.text.build import save as save_text
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.train_sentencepiece import sample

MAX_VALIDATION_PAIRS = 10_000  # held in memory
ORIGIN = "origin"  # a file with the hash of the sources and settings that a folder was built from

OnCorpusProgress = Callable[[str, int, int], None]  # corpus, pairs and bytes of text processed so far


class DataFacts(TypedDict):
    """The statistics of the data, including what was left out and why."""

    pairs: int
    tgt_tokens: int
    vocabulary: list[int]  # the number of entries of source and target
    watched: int  # validation pairs
    leaked: int
    counts: dict[str, int]  # pairs by what became of them
    bad: int  # lines that were skipped
    first_bad: str
    passed: dict[str, int]  # lines that are not meant for training, by kind


@dataclass(frozen=True)
class TrainingData:
    text: TokenizerPair
    stores: list[StoreReader]
    weights: list[float]
    valid: list[Pair]
    skipped: Skipped
    identity: Identity
    leaked: int  # validation pairs found in the training data while its stores were built

    @property
    def pairs(self) -> int:
        return sum(len(store) for store in self.stores)

    @property
    def tgt_tokens(self) -> int:
        return sum(store.manifest.tgt_tokens + len(store) for store in self.stores)

    def facts(self) -> DataFacts:
        counts = Counter[str]()
        for store in self.stores:
            counts.update(store.manifest.counts)
        return {
            "pairs": self.pairs,
            "tgt_tokens": self.tgt_tokens,
            "vocabulary": [self.text.src.size, self.text.tgt.size],
            "watched": len(self.valid),
            "leaked": self.leaked,
            "counts": dict(counts),
            "bad": self.skipped.count,
            "first_bad": self.skipped.first,
            "passed": dict(self.skipped.passed),
        }


class LeakedPairs:
    """Counts validation pairs that occur verbatim in the training data.

    `check` also finds those that differ in case or punctuation, which is too slow for building the stores.
    """

    def __init__(self, valid: Iterable[Pair]) -> None:
        self._unseen = {(pair.src, pair.tgt) for pair in valid}
        self.count = 0

    def through(self, pairs: Callable[[], Iterator[Pair]]) -> Iterator[Pair]:
        for pair in pairs():  # opened lazily: a store that is up to date needs no pairs
            if (pair.src, pair.tgt) in self._unseen:
                self._unseen.remove((pair.src, pair.tgt))
                self.count += 1
            yield pair


@gc_paused()
def build_data(
    data: DataConfig,
    text: TextConfig,
    folder: Path,
    *,
    seed: int,
    progress: OnCorpusProgress | None = None,
    began: Identity | None = None,
) -> TrainingData:
    """Build the data in `folder`, or reuse it if content and settings are the same. `began` identifies the
    data of an unfinished run in `folder`; any other data raises an error before it is used."""
    on_bad = skipped = Skipped(is_strict=not data.skip_bad)
    sources = Sources(folder / "sources.json")
    given = source_files(data, sources)
    held_out, sampled = build_held_out(data, given, folder, seed, on_bad, text.sample_lines)
    valid = validation_pairs(data, held_out, on_bad)
    if began:
        refuse_other_valid(began, valid, data.valid.files if data.valid else ())
    held_by = held_out and (data.hold_out, seed)
    origin = digest([digests(given), *settings_of(text, sources), held_by])
    trained_on = sampled or training_pairs(data, held_out, on_bad)
    texts = build_text(data, text, folder / "text", origin, trained_on, began)
    vocabulary = vocabulary_of(folder / "text")
    if began:
        refuse_other_vocabulary(began, vocabulary, str(folder / "text"))
    stores, leaked = [], LeakedPairs(valid if data.valid else ())
    for number, corpus in enumerate(data.train):
        how = [data.max_length, data.shard_pairs, data.clean, data.skip_bad, held_by]
        made_from = fingerprint(given[number].content, vocabulary, how)
        home, skip = folder / f"corpus-{number}", held_out.skips if held_out else None
        pairs = leaked.through(partial(cleaned, data, corpus, on_bad))
        made = partial(build_store, data, corpus, pairs, texts, home, made_from, skip, progress)
        stores.append(open_current(home, made_from) or made())
    sources.refuse_changed()
    identity = Identity(given, [rows_of(store) for store in stores], len(valid), hash_of(valid), vocabulary)
    if began:
        refuse_other_rows(began, identity)
    weights = [corpus.weight * len(store) for corpus, store in zip(data.train, stores, strict=True)]
    return TrainingData(texts, stores, weights, valid, skipped, identity, leaked.count)


def refuse_swapped(data: DataConfig) -> None:
    """Raise if the file names show that validation or test files have source and target swapped."""
    for held in (data.valid, data.test):
        if held and are_swapped(held.files, data.train[0].files):
            shown, theirs = (" → ".join(language_names(files)) for files in (held.files, data.train[0].files))
            raise DataError(
                f"By their names, these files are {shown}, but the training files are {theirs}.",
                where=" ".join(held.files),
                expected="the same direction as the training files",
                hint=f"Swap them: {' '.join(reversed(held.files))}",
            )


def refuse_other_data(data: DataConfig, folder: Path, began: Identity) -> None:
    """Raise if the training files differ from those of the unfinished run, before `folder` is changed."""

    def count(number: int) -> int | None:
        try:
            return sum(1 for _ in cleaned(data, data.train[number], Skipped()))
        except DataError:  # two files of different lengths
            return None

    refuse_other_sources(began, source_files(data, Sources(folder / "sources.json")), count)


def source_files(data: DataConfig, sources: Sources) -> list[SourceFile]:
    refuse_swapped(data)
    return [
        SourceFile(
            list(corpus.files),
            sources.all_of(corpus.files),
            corpus.weight,
            list(corpus.languages) if corpus.languages else None,
        )
        for corpus in data.train
    ]


def digests(given: Sequence[SourceFile]) -> list[list[str]]:
    return [corpus.content for corpus in given]


def settings_of(text: TextConfig, sources: Sources) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of the vocabulary, with the SHA-256 of external SentencePiece models for paths."""
    units = text.model_dump(mode="json", exclude={"file": True, "src": {"file"}, "tgt": {"file"}})
    return units, [sources.sha256(units.file) for units in (text.src_units, text.tgt_units) if units.file]


def rows_of(store: StoreReader) -> Rows:
    manifest = store.manifest
    return Rows(manifest.counts["read"], len(store), manifest.src_tokens, manifest.tgt_tokens)


def vocabulary_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of the vocabulary."""
    return {name: digest for name, digest in contents(folder) if name not in (ORIGIN, MANIFEST)}


def build_held_out(
    data: DataConfig, given: Sequence[SourceFile], home: Path, seed: int, on_bad: OnBad, sample_lines: int
) -> tuple[HeldOut | None, list[Pair] | None]:
    """Hold out pairs if no validation files are given. They are saved: choosing them takes two passes.

    The second pass also draws the sample of training pairs that the vocabulary is learned from. It is None
    if there was no such pass, or if a side contains labels: then more pairs are trained on than it saw.
    """
    if data.valid:
        return None, None
    folder = home / "held-out"
    origin = digest([digests(given), data.hold_out, seed, data.skip_bad])
    if is_current(folder, origin):
        return read_held_out(folder), None
    with naming_files(data):
        overlaps = Overlaps(choose_held_out(all_pairs(data, on_bad), data.hold_out, seed))
        sampled = sample(overlaps.excluded_from(all_pairs(data, on_bad)), sample_lines)
        held_out = overlaps.held_out()
    with new_folder(folder) as new:
        write_held_out(held_out, new)
        (new / ORIGIN).write_text(origin, encoding="utf-8")
    return held_out, None if overlaps.sources_are_labels or overlaps.targets_are_labels else sampled


def build_text(
    data: DataConfig,
    text: TextConfig,
    folder: Path,
    origin: str,
    trained_on: Iterable[Pair],
    began: Identity | None,
) -> TokenizerPair:
    is_ready = is_current(folder, origin)
    if began:  # an unfinished run keeps its vocabulary
        is_ready = verify_folder(folder) is None and vocabulary_of(folder) == began.vocabulary
    if is_ready:
        return load_text(folder)
    with naming_files(data):
        learned = learn(text, ((pair.src, pair.tgt) for pair in trained_on))
    with new_folder(folder) as new:
        save_text(learned, new)
        (new / ORIGIN).write_text(origin, encoding="utf-8")
    return learned


def build_store(
    data: DataConfig,
    corpus: Corpus,
    pairs: Iterator[Pair],
    text: TokenizerPair,
    folder: Path,
    made_from: str,
    skip: Callable[[Pair], bool] | None,
    progress: OnCorpusProgress | None,
) -> StoreReader:
    name = " ".join(corpus.files)
    return prepare(
        pairs,
        text,
        folder,
        wanted=PairFilter(data.max_length, skip),
        origin=name,
        shard_pairs=data.shard_pairs,
        fingerprint=made_from,
        progress=partial(progress, name) if progress else None,
    )


@contextmanager
def naming_files(data: DataConfig) -> Iterator[None]:
    """Add the file names to errors about all pairs, which are raised where the files are not known."""
    try:
        yield
    except DataError as error:
        error.where = error.where or " ".join(file for corpus in data.train for file in corpus.files)
        raise


def cleaned(data: DataConfig, corpus: Corpus, on_bad: OnBad) -> Iterator[Pair]:
    pairs = partial(pairs_of, corpus, on_bad)
    return clean(pairs) if data.clean else pairs()


def pairs_of(corpus: Corpus, on_bad: OnBad) -> Iterator[Pair]:
    return open_pairs(corpus.files, on_bad=on_bad, languages=corpus.languages)


def validation_pairs(data: DataConfig, held_out: HeldOut | None, on_bad: OnBad) -> list[Pair]:
    pairs = pairs_of(data.valid, on_bad) if data.valid else iter(held_out.valid if held_out else ())
    return list(islice(pairs, MAX_VALIDATION_PAIRS))


def training_pairs(data: DataConfig, held_out: HeldOut | None, on_bad: OnBad) -> Iterator[Pair]:
    return (pair for pair in all_pairs(data, on_bad) if not (held_out and held_out.skips(pair)))


def all_pairs(data: DataConfig, on_bad: OnBad) -> Iterator[Pair]:
    return chain.from_iterable(pairs_of(corpus, on_bad) for corpus in data.train)
