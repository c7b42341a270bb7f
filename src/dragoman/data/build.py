"""Build the training data from settings: vocabularies, token stores and validation pairs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypedDict

from dragoman.config.data import Corpus, DataConfig
from dragoman.config.text import TextConfig
from dragoman.data.clean.cleaner import clean
from dragoman.data.clean.length_ratio import LengthRatio
from dragoman.data.examples import PAIRS, Examples, Files, read_pairs
from dragoman.data.executors import Executor, in_process
from dragoman.data.gc_pause import gc_paused
from dragoman.data.holdout import SEED, HeldOut, Overlaps, choose_held_out, read_held_out, write_held_out
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
from dragoman.data.pieces import cut, must_be_copied
from dragoman.data.prepare import Encode, FileFilter, PairFilter, StoreJob
from dragoman.data.readers.bad_line import OnBad, Skipped
from dragoman.data.readers.file_languages import are_swapped, language_names
from dragoman.data.signals.corpus import joined, relative_to, stamps
from dragoman.data.sources import Sources, is_current
from dragoman.data.store.layout import contents, digest, fingerprint
from dragoman.data.store.reader import StoreReader, open_current
from dragoman.data.store.writer import disown
from dragoman.data.stores import OnProgress, StorePlan, prepare_stores
from dragoman.durable import new_folder, sweep, verify_folder
from dragoman.errors import DataError
from dragoman.manifest import MANIFEST
from dragoman.text.build import learn
from dragoman.text.build import load as load_text
from dragoman.text.build import save as save_text
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.train_sentencepiece import sample

MAX_VALIDATION_PAIRS = 10_000  # held in memory
ORIGIN = "origin"  # a file with the hash of the sources and settings that a folder was built from


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
    leaked: int  # validation pairs found in the training data when its stores were built

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


@dataclass(frozen=True)
class CorpusReader:
    """The examples of the corpora of a run, as its task reads them."""

    data: DataConfig
    examples: Examples
    on_bad: OnBad

    def __call__(self, corpus: Corpus) -> Iterator[Pair]:
        pairs = self.examples.read(corpus.files, self.on_bad, corpus.languages)
        return relative_to(root_of(self.data), pairs) if isinstance(self.examples, Files) else pairs

    def cleaned(self, corpus: Corpus) -> Iterator[Pair]:
        if not self.data.clean:
            return self(corpus)
        return clean(partial(self, corpus), LengthRatio() if self.examples.sides == "translations" else None)

    def all(self) -> Iterator[Pair]:
        return chain.from_iterable(map(self, self.data.train))

    def training(self, held_out: HeldOut | None) -> Iterator[Pair]:
        return (pair for pair in self.all() if not (held_out and held_out.skips(pair)))

    def texts(self, pairs: Iterable[Pair]) -> Iterable[Pair]:
        """Return what the vocabulary is learned from: only targets, if the sources are not text."""
        is_text = not isinstance(self.examples, Files)
        return pairs if is_text else (pair._replace(src=pair.tgt) for pair in pairs)

    def validation(self, held_out: HeldOut | None) -> list[Pair]:
        pairs = self(self.data.valid) if self.data.valid else iter(held_out.valid if held_out else ())
        return list(islice(pairs, MAX_VALIDATION_PAIRS))

    @property
    def must_copy(self) -> bool:
        """Whether the lines of its files are not its examples."""
        return self.data.clean or self.examples.read is not read_pairs


@dataclass(frozen=True)
class DataPlan:
    """What is known before the token stores are prepared."""

    data: DataConfig
    sources: Sources
    given: list[SourceFile]
    valid: list[Pair]
    text: TokenizerPair
    vocabulary: dict[str, str]  # the SHA-256 of each of its files
    skipped: Skipped
    stores: list[StorePlan]


@gc_paused()
def build_data(
    data: DataConfig,
    text: TextConfig,
    folder: Path,
    *,
    examples: Examples = PAIRS,
    progress: OnProgress | None = None,
    began: Identity | None = None,
    vocabulary: Path | None = None,
) -> TrainingData:
    """Build the data in `folder`, or reuse it if content and settings are the same. `began` identifies the
    data of an unfinished run in `folder`; any other data raises an error before it is used. `vocabulary` is
    the folder of a vocabulary to use instead of a new one."""
    plan = plan_data(data, text, folder, examples=examples, began=began, vocabulary=vocabulary)
    return carry_out(plan, in_process, progress, began)


@gc_paused()
def plan_data(
    data: DataConfig,
    text: TextConfig,
    folder: Path,
    *,
    examples: Examples = PAIRS,
    began: Identity | None = None,
    vocabulary: Path | None = None,
) -> DataPlan:
    """Choose validation pairs, learn the vocabulary, unless it is given, and cut the corpora into shards."""
    on_bad = Skipped(is_strict=not data.skip_bad)
    reader = CorpusReader(data, examples, on_bad)
    sources = Sources(folder / "sources.json")
    given = source_files(data, sources)
    held_out, sampled = build_held_out(reader, given, folder, text)
    valid = reader.validation(held_out)
    if began:
        refuse_other_valid(began, valid, data.valid.files if data.valid else ())
    held_by = held_out and (data.hold_out, SEED)
    if vocabulary:
        origin, make_text = digest(["given", vocabulary_of(vocabulary)]), partial(load_text, vocabulary)
    else:
        newline = ["newline"] if data.block_size else []
        origin = digest([digests(given), *settings_of(text, sources), held_by, *newline])
        make_text = partial(learn_text, data, text, reader.texts(sampled or reader.training(held_out)))
    texts = build_text(folder / "text", origin, make_text, began)
    hashes = vocabulary_of(folder / "text")
    if began:
        refuse_other_vocabulary(began, hashes, str(folder / "text"))
    encode = examples.encode(data.max_length, held_out.skips if held_out else None)
    how = [data.max_length, data.shard_pairs, data.clean, data.skip_bad, held_by, *encoding(examples, encode)]
    known = (valid, hash_of(valid)) if data.valid and not data.block_size else ((), "")
    stores = []
    for number, corpus in enumerate(data.train):
        home, made_of = folder / f"corpus-{number}", fingerprint(given[number].content, hashes, how)
        job = StoreJob(home, folder / "text", made_of, data.shard_pairs, encode, on_bad.is_strict, *known)
        stores.append(plan_store(reader, corpus, of_files(reader, corpus, job)))
    return DataPlan(data, sources, given, valid, texts, hashes, on_bad, stores)


def encoding(examples: Examples, encode: Encode) -> list[object]:
    """Return what distinguishes the examples of a task, in a store, from pairs of texts."""
    how = [] if isinstance(encode, PairFilter) else [type(encode).__name__, encode.max_length]
    return [*how, examples.frames] if examples.frames else how


def of_files(reader: CorpusReader, corpus: Corpus, job: StoreJob) -> StoreJob:
    """Return the job of a store that knows where its sources are, if they are files, or its targets."""
    encode, root = job.encode, root_of(reader.data)
    if isinstance(encode, PairFilter):
        return replace(job, encode=encode._replace(listed_in=corpus.files[:2][-1]))
    if not isinstance(encode, FileFilter):
        return job
    signals = encode.signals._replace(root=root, listed_in=corpus.files[0])
    made_of = digest([job.fingerprint, signals.settings, stamps(reader(corpus), root)])
    return replace(job, fingerprint=made_of, encode=encode._replace(signals=signals))


def plan_store(reader: CorpusReader, corpus: Corpus, job: StoreJob) -> StorePlan:
    name = " ".join(corpus.files)
    sweep(job.home)
    if open_current(job.home, job.fingerprint):
        return StorePlan(name, job, ())
    disown(job.home)
    is_copied = reader.must_copy or must_be_copied(corpus.files)
    copied = partial(reader.cleaned, corpus) if is_copied else None
    return StorePlan(name, job, cut(corpus.files, job.shard_pairs, job.home, job.fingerprint, copied))


def carry_out(
    plan: DataPlan,
    execute: Executor,
    progress: OnProgress | None = None,
    began: Identity | None = None,
) -> TrainingData:
    """Prepare the token stores. Raise Unfinished if `execute` did only a part of it."""
    prepare_stores(plan.stores, execute, progress)
    stores = [store.joined(plan.text, plan.skipped) for store in plan.stores]
    plan.sources.refuse_changed()
    rows, looked_for = [rows_of(store) for store in stores], hash_of(plan.valid)
    identity = Identity(plan.given, rows, len(plan.valid), looked_for, plan.vocabulary)
    if began:
        refuse_other_rows(began, identity)
    weights = [corpus.weight * len(store) for corpus, store in zip(plan.data.train, stores, strict=True)]
    leaked = {n for s in stores if s.manifest.valid == looked_for for n in s.manifest.leaked}
    valid = plan.valid
    if plan.stores[0].job.frames:
        valid = [pair._replace(src=joined(root_of(plan.data), pair.src)) for pair in valid]
    return TrainingData(plan.text, stores, weights, valid, plan.skipped, identity, len(leaked))


def root_of(data: DataConfig) -> str:
    """Return the folder that the paths of sources that are files are relative to."""
    return os.path.dirname(data.train[0].files[0]) or "."


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


def refuse_other_data(data: DataConfig, folder: Path, began: Identity, examples: Examples = PAIRS) -> None:
    """Raise if the training files differ from those of the unfinished run, before `folder` is changed."""

    def count(number: int) -> int | None:
        try:
            return sum(1 for _ in CorpusReader(data, examples, Skipped()).cleaned(data.train[number]))
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
    frames = digest([shard.data.sha256 for shard in manifest.shards]) if manifest.frames else ""
    return Rows(manifest.counts["read"], len(store), manifest.src_tokens, manifest.tgt_tokens, frames)


def vocabulary_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of the vocabulary."""
    return {name: digest for name, digest in contents(folder) if name not in (ORIGIN, MANIFEST)}


def build_held_out(
    reader: CorpusReader, given: Sequence[SourceFile], home: Path, text: TextConfig
) -> tuple[HeldOut | None, list[Pair] | None]:
    """Hold out pairs if no validation files are given. They are saved: choosing them takes two passes.

    The second pass also draws the sample of training pairs that the vocabulary is learned from. It is None
    if there was no such pass, or if a side contains labels: then more pairs are trained on than it saw.
    """
    data = reader.data
    if data.valid:
        return None, None
    folder = home / "held-out"
    targets = reader.examples.targets
    kind = [] if targets == "texts" else [targets]
    origin = digest([digests(given), data.hold_out, SEED, data.skip_bad, *kind])
    if is_current(folder, origin):
        return read_held_out(folder), None
    with naming_files(data):
        chosen = choose_held_out(reader.all(), data.hold_out)
        overlaps = Overlaps(chosen, targets)
        sampled = sample(overlaps.excluded_from(reader.all()), text.sample_lines)
        held_out = overlaps.held_out()
    with new_folder(folder) as new:
        write_held_out(held_out, new)
        (new / ORIGIN).write_text(origin, encoding="utf-8")
    saw_all = not overlaps.sources_are_labels and (targets == "tags" or not overlaps.targets_are_labels)
    return held_out, sampled if saw_all else None


def build_text(
    folder: Path, origin: str, make: Callable[[], TokenizerPair], began: Identity | None
) -> TokenizerPair:
    """Return the vocabulary in `folder`, which is made first if it is not that of `origin`."""
    is_ready = is_current(folder, origin)
    if began:  # an unfinished run keeps its vocabulary
        is_ready = verify_folder(folder) is None and vocabulary_of(folder) == began.vocabulary
    if is_ready:
        return load_text(folder)
    made = make()
    with new_folder(folder) as new:
        save_text(made, new)
        (new / ORIGIN).write_text(origin, encoding="utf-8")
    return made


def learn_text(data: DataConfig, text: TextConfig, trained_on: Iterable[Pair]) -> TokenizerPair:
    if data.block_size and text.tgt_units.kind in ("char", "word"):  # sub-words spell a newline as a byte
        trained_on = (one for pair in trained_on for one in (pair, Pair("\n", "\n", pair.line)))
    with naming_files(data):
        return learn(text, ((pair.src, pair.tgt) for pair in trained_on))


@contextmanager
def naming_files(data: DataConfig) -> Iterator[None]:
    """Add the file names to errors about all pairs, which are raised where the files are not known."""
    try:
        yield
    except DataError as error:
        error.where = error.where or " ".join(file for corpus in data.train for file in corpus.files)
        raise
