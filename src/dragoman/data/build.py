"""Settings → everything that training reads: vocabularies, token stores, and the pairs to watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from dragoman.config.data import Corpus, DataConfig
from dragoman.config.text import TextConfig
from dragoman.data.clean.clean import clean
from dragoman.data.holdout import HeldOut, hold_out
from dragoman.data.pair import Pair
from dragoman.data.prepare import prepare
from dragoman.data.readers.build import open_pairs
from dragoman.data.store.layout import digest, fingerprint, stamp
from dragoman.data.store.reader import Reader, open_current
from dragoman.durable import verify_folder, write_folder
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

    @property
    def pairs(self) -> int:
        return sum(len(store) for store in self.stores)

    @property
    def tgt_tokens(self) -> int:
        return sum(store.manifest.tgt_tokens + len(store) for store in self.stores)


def build_data(
    data: DataConfig, text: TextConfig, folder: Path, *, seed: int, progress: Progress | None = None
) -> TrainingData:
    """Made once in `folder`; used again as long as files and settings are the same."""
    held_out = None if data.valid else hold_out(partial(all_pairs, data), data.hold_out, seed)
    valid = list(islice(pairs_of(data.valid), WATCHED)) if data.valid else held_out.valid if held_out else []
    texts = build_text(data, text, folder / "text", held_out, seed)
    stores = []
    for number, corpus in enumerate(data.train):
        settings = [data.max_length, data.shard_pairs, data.clean, held_out and (data.hold_out, seed)]
        made_from = fingerprint([Path(file) for file in corpus.files], folder / "text", {"settings": settings})
        home = folder / f"corpus-{number}"
        skip = held_out.skips if held_out else None
        stores.append(open_current(home, made_from) or build_store(data, corpus, texts, home, made_from, skip, progress))
    weights = [corpus.weight * len(store) for corpus, store in zip(data.train, stores, strict=True)]
    return TrainingData(texts, stores, weights, valid)


def build_text(
    data: DataConfig, text: TextConfig, folder: Path, held_out: HeldOut | None, seed: int
) -> TextPair:
    sources = [stamp(Path(file)) for corpus in data.train for file in corpus.files]
    origin = digest([sources, text.model_dump(mode="json"), held_out and (data.hold_out, seed)])
    note = folder / "origin"
    if verify_folder(folder) is None and note.read_text(encoding="utf-8") == origin:
        return load_text(folder)

    def trained_on() -> Iterator[Pair]:
        return (pair for pair in all_pairs(data) if not (held_out and held_out.skips(pair)))

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
    progress: Progress | None,
) -> Reader:
    name = " ".join(corpus.files)
    pairs = partial(pairs_of, corpus)
    return prepare(
        clean(pairs) if data.clean else pairs(),
        text,
        folder,
        origin=name,
        max_length=data.max_length,
        shard_pairs=data.shard_pairs,
        fingerprint=made_from,
        skip=skip,
        progress=partial(progress, name) if progress else None,
    )


def pairs_of(corpus: Corpus) -> Iterator[Pair]:
    return open_pairs(corpus.files)


def all_pairs(data: DataConfig) -> Iterator[Pair]:
    return chain.from_iterable(pairs_of(corpus) for corpus in data.train)
