"""Settings → everything that training reads: vocabularies, token stores, and the pairs to watch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dragoman.config.data import Corpus, DataConfig
from dragoman.config.text import TextConfig
from dragoman.data.clean.clean import clean
from dragoman.data.garbage import uncollected
from dragoman.data.holdout import HeldOut, hold_out
from dragoman.data.pair import Pair
from dragoman.data.prepare import Wanted, prepare
from dragoman.data.readers.bad import OnBad, Skipped, refuse
from dragoman.data.readers.build import open_pairs
from dragoman.data.store.layout import digest, fingerprint, stamp
from dragoman.data.store.reader import Reader, open_current
from dragoman.durable import verify_folder, write_folder
from dragoman.errors import DataError
from dragoman.text.build import learn
from dragoman.text.build import load as load_text
from dragoman.text.build import save as save_text
from dragoman.text.pair import TextPair

WATCHED = 10_000  # validation pairs held in memory at most

Progress = Callable[[str, int, int], None]  # corpus, pairs and bytes of text done so far


@dataclass(frozen=True)
class TrainingData:
    text: TextPair
    stores: list[Reader]
    weights: list[float]
    valid: list[Pair]
    skipped: Skipped

    @property
    def pairs(self) -> int:
        return sum(len(store) for store in self.stores)

    @property
    def tgt_tokens(self) -> int:
        return sum(store.manifest.tgt_tokens + len(store) for store in self.stores)

    def facts(self) -> dict[str, Any]:
        """What there is, and what was left out and why."""
        counts = Counter[str]()
        for store in self.stores:
            counts.update(store.manifest.counts)
        return {
            "pairs": self.pairs,
            "tgt_tokens": self.tgt_tokens,
            "vocabulary": [self.text.src.size, self.text.tgt.size],
            "watched": len(self.valid),
            "counts": dict(counts),
            "bad": self.skipped.count,
            "first_bad": self.skipped.first,
        }


@uncollected()
def build_data(
    data: DataConfig, text: TextConfig, folder: Path, *, seed: int, progress: Progress | None = None
) -> TrainingData:
    """Made once in `folder`; used again as long as files and settings are the same."""
    skipped = Skipped()
    on_bad: OnBad = skipped if data.skip_bad else refuse
    with naming_files(data):
        held_out = None if data.valid else hold_out(partial(all_pairs, data, on_bad), data.hold_out, seed)
    watched = pairs_of(data.valid, on_bad) if data.valid else iter(held_out.valid if held_out else ())
    valid = list(islice(watched, WATCHED))
    settings = [
        data.max_length,
        data.shard_pairs,
        data.clean,
        data.skip_bad,
        held_out and (data.hold_out, seed),
    ]
    texts = build_text(data, text, folder / "text", held_out, seed, on_bad)
    skip = held_out.skips if held_out else None
    stores = []
    for number, corpus in enumerate(data.train):
        home = folder / f"corpus-{number}"
        made_from = fingerprint(list(map(Path, corpus.files)), folder / "text", {"settings": settings})
        ready = open_current(home, made_from)
        stores.append(ready or build_store(data, corpus, texts, home, made_from, skip, on_bad, progress))
    weights = [corpus.weight * len(store) for corpus, store in zip(data.train, stores, strict=True)]
    return TrainingData(texts, stores, weights, valid, skipped)


def build_text(
    data: DataConfig, text: TextConfig, folder: Path, held_out: HeldOut | None, seed: int, on_bad: OnBad
) -> TextPair:
    sources = [stamp(Path(file)) for corpus in data.train for file in corpus.files]
    origin = digest([sources, text.model_dump(mode="json"), held_out and (data.hold_out, seed)])
    note = folder / "origin"
    if verify_folder(folder) is None and note.read_text(encoding="utf-8") == origin:
        return load_text(folder)

    def trained_on() -> Iterator[Pair]:
        return (pair for pair in all_pairs(data, on_bad) if not (held_out and held_out.skips(pair)))

    with naming_files(data):
        learned = learn(
            text, lambda: (pair.src for pair in trained_on()), lambda: (pair.tgt for pair in trained_on())
        )

    def fill(new: Path) -> None:
        save_text(learned, new)
        (new / "origin").write_text(origin, encoding="utf-8")

    write_folder(folder, fill)
    return learned


def build_store(
    data: DataConfig,
    corpus: Corpus,
    text: TextPair,
    folder: Path,
    made_from: str,
    skip: Callable[[Pair], bool] | None,
    on_bad: OnBad,
    progress: Progress | None,
) -> Reader:
    name = " ".join(corpus.files)
    pairs = partial(pairs_of, corpus, on_bad)
    return prepare(
        clean(pairs) if data.clean else pairs(),
        text,
        folder,
        wanted=Wanted(data.max_length, skip),
        origin=name,
        shard_pairs=data.shard_pairs,
        fingerprint=made_from,
        progress=partial(progress, name) if progress else None,
    )


@contextmanager
def naming_files(data: DataConfig) -> Iterator[None]:
    """What is wrong with all pairs together is found where their files are not known."""
    try:
        yield
    except DataError as error:
        error.where = error.where or " ".join(file for corpus in data.train for file in corpus.files)
        raise


def pairs_of(corpus: Corpus, on_bad: OnBad) -> Iterator[Pair]:
    return open_pairs(corpus.files, on_bad=on_bad)


def all_pairs(data: DataConfig, on_bad: OnBad) -> Iterator[Pair]:
    return chain.from_iterable(pairs_of(corpus, on_bad) for corpus in data.train)
